# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Kernels of pointwise operators: the eager path from a stack of arguments to machine code.

One kernel serves an operator in all its variants. It sorts the arguments into operands, scalars
and attributes, finds the common and the result type, lines the operands up, and calls the machine
code for just these element types and access patterns, which the backend compiles when first
needed. What it computes stands in the operator's Python function and nowhere here.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU, PRESERVE_FORMAT, device_from_codes, memory_format
from aten._core.base.dtypes cimport (BOOL, INT64, category_of, default_dtype_code, dtype,
                                     dtype_from_code, item_size)
from aten._core.base.dtypes import can_cast
from aten._core.base.keys cimport local_state
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.base.strides cimport is_dense
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.tensor.making cimport make_alias, make_contiguous, make_strided
from aten._core.tensor.memory cimport (Geometry, check_internal_overlap, check_unchanged,
                                       keep_geometry, may_overlap, prepare_out, restore_geometry,
                                       same_geometry)
from aten._core.tensor.promotion cimport (Promotion, begin_promotion, promote_number,
                                          promote_tensor, promoted)
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, count_write, data_pointer
from aten.backends.cpu.kernels.filling.factories cimport empty_as
from aten.backends.cpu.kernels.moving.iterator cimport (KernelFunction, Walk, add_input,
                                                        add_operand, add_scalar, begin_walk,
                                                        coalesce, lengthen_rows, reorder, run_walk)
from aten.backends.cpu.kernels.moving.tiles cimport Tiling, run_tiles, tile
from aten.backends.cpu.kernels.pointwise.families cimport MAXIMUM_ARGUMENTS, Family, remembered_at
from aten.backends.cpu.kernels.pointwise.operands cimport (MAXIMUM_INPUTS, UNIT, Operands,
                                                           broadcast_operands, check_device,
                                                           find_accesses, promotion_code,
                                                           read_number)
from aten.backends.cpu.kernels.pointwise.ordinary cimport (OrdinaryCall, Remembered, accept,
                                                           arrange, compute, forget, has_accepted)

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept

cdef enum:
    # From this many points on, other Python threads may run meanwhile.
    RELEASE_THRESHOLD = 32768
    # Points in one chunk of work for the threads.
    GRAIN = 16384
    # Families that are found without hashing.
    RECENT_FAMILIES = 4

cdef enum:
    # Result types, in the order of _PROMOTIONS.
    DEFAULT = 0
    FLOAT = 1
    LONG = 2
    BOOLEAN = 3
    REAL = 4
    SAME = 5
    NUMBER = 6

cdef enum:
    # Argument kinds, in the order of _KINDS.
    ATTRIBUTE = 0
    TENSOR_ARGUMENT = 1
    SCALAR_ARGUMENT = 2
    NUMBER_ARGUMENT = 3
    FORMAT_ARGUMENT = 4

cdef enum:
    # Categories.
    INTEGRAL = 1
    FLOATING = 2

_PROMOTIONS = ("default", "float", "long", "bool", "real", "same", "number")
_KINDS = ("attribute", "tensor", "scalar", "number", "memory_format")
_ACCESSES = ("unit", "zero", "any", "stream")



cdef class PointwiseKernel(Kernel):
    """Runs a pointwise operator in one variant.

    `parameters` has (name, kind, takes part in promotion, constants) for each schema argument; kind is
    "attribute" (part of the code), "tensor", "scalar" (part of the code while at its default),
    "number" (a scalar without default) or "memory_format" (of a fresh result). Numbers in
    `parameters[index][3]`, a frozenset or None, get a code of their own. `backend` offers
    `promotion(kernel, attributes)` → one of _PROMOTIONS,
    `checks(kernel, attributes)` → two functions of all arguments by name that raise for values
    they refuse, or None: one for every call, one for those that compute integers,
    `verify(kernel, attributes, operand dtypes, compute dtype, out dtype)`, which raises for types
    the operator refuses where no code is made,
    `result_type(kernel, attributes, operand dtypes)` → dtype, asked for promotion "same",
    `compile(kernel, attributes, operand dtypes, compute dtype, out dtype, accesses)` → (address,
    owner), and `clone(tensor)`. A backend whose `executes` is false gets metadata only. With
    `repeatable`, elements of the output may share memory: all are written alike.
    """

    cdef readonly OpOverload op
    cdef readonly object backend
    cdef readonly tuple parameters
    cdef readonly str label
    cdef bint repeatable                                # may write a place several times
    cdef tuple defaults
    cdef bint executes
    cdef int count
    cdef int kinds[MAXIMUM_ARGUMENTS]
    cdef PyObject* default_values[MAXIMUM_ARGUMENTS]    # borrowed from `defaults`
    cdef int out_position                               # -1: a fresh result
    cdef int format_position                            # -1: the result keeps the operands' order
    cdef bint inplace
    cdef tuple constants                                # per parameter, a frozenset or None
    cdef bint has_code_of_its_own[MAXIMUM_ARGUMENTS]    # some values of it: there are constants
    cdef dict families
    cdef PyObject* recent[RECENT_FAMILIES]              # borrowed from `families`

    def __init__(self, OpOverload op not None, backend, tuple parameters, tuple defaults,
                 int out_position, bint inplace, bint repeatable=False):
        cdef int index
        self.op = op
        self.backend = backend
        self.executes = backend.executes
        self.label = op.name
        self.repeatable = repeatable
        self.parameters = parameters
        self.defaults = defaults
        self.count = <int>len(parameters)
        if self.count > MAXIMUM_ARGUMENTS:
            raise ValueError(f"{op.name}: too many arguments for a pointwise operator")
        self.out_position = out_position
        self.inplace = inplace
        self.families = {}
        self.constants = tuple([parameter[3] for parameter in parameters])
        self.format_position = -1
        for index, (_, kind, _, constants) in enumerate(parameters):
            if kind == "memory_format":
                self.format_position = index
            self.kinds[index] = _KINDS.index(kind)
            self.has_code_of_its_own[index] = kind == "number" and constants is not None
            self.default_values[index] = <PyObject*>defaults[index]

    def describe(self):
        return f"pointwise loops of {self.label}"

    cdef inline Family family_of(self, PyObject** stack):
        """The family that the attributes in the stack choose."""
        cdef int place = 0
        while place < RECENT_FAMILIES and self.recent[place] != NULL:
            if self.chooses(stack, <Family>self.recent[place]):
                return <Family>self.recent[place]
            place += 1
        return self.find_family(stack)

    cdef inline bint chooses(self, PyObject** stack, Family family) noexcept:
        """Whether the very objects in the stack that choose a family last chose this one."""
        cdef int index
        for index in range(self.count):
            if self.chosen_by(stack, index) != family.choices[index]:
                return False
        return True

    cdef inline PyObject* chosen_by(self, PyObject** stack, int index) noexcept:
        """What an argument brings to the choice: itself, or whether it is there at all."""
        cdef int kind = self.kinds[index]
        if kind == TENSOR_ARGUMENT:
            return <PyObject*>None if stack[index] == <PyObject*>None else NULL
        if kind == SCALAR_ARGUMENT:
            return stack[index] if stack[index] == self.default_values[index] else NULL
        if kind == ATTRIBUTE or self.has_code_of_its_own[index]:
            return stack[index]
        return NULL

    cdef Family find_family(self, PyObject** stack):
        cdef int index
        cdef list chosen = []
        cdef Family family
        for index in range(self.count):
            value = <object>stack[index]
            if self.kinds[index] == ATTRIBUTE:
                chosen.append((type(value), value))
            elif self.kinds[index] == TENSOR_ARGUMENT:
                chosen.append(value is None)
            elif self.kinds[index] == SCALAR_ARGUMENT:
                chosen.append(stack[index] == self.default_values[index])
            elif self.has_code_of_its_own[index]:
                chosen.append(value if value in <frozenset>self.constants[index] else None)
        key = tuple(chosen)
        family = self.families.get(key)
        if family is None:
            family = self.make_family(stack)
            self.families[key] = family
        family.met = []
        for index in range(self.count):
            family.choices[index] = self.chosen_by(stack, index)
            if family.choices[index] != NULL:
                family.met.append(<object>family.choices[index])
        self.keep_recent(family)
        return family

    cdef void keep_recent(self, Family family) noexcept:
        """Put a family, which lives as long as the kernel, before the others."""
        cdef int place = 0
        while place < RECENT_FAMILIES - 1 and self.recent[place] != <PyObject*>family:
            place += 1
        while place > 0:
            self.recent[place] = self.recent[place - 1]
            place -= 1
        self.recent[0] = <PyObject*>family

    cdef Family make_family(self, PyObject** stack):
        cdef Family family = Family.__new__(Family)
        cdef int index
        cdef dict attributes = {}
        family.kept = []
        family.results = {}
        for index in range(self.count):
            if self.kinds[index] == FORMAT_ARGUMENT:
                continue
            if index == self.out_position and not self.inplace:
                continue
            name, _, takes_part, constants = self.parameters[index]
            value = <object>stack[index]
            if (self.kinds[index] == ATTRIBUTE or value is None
                    or (self.kinds[index] == SCALAR_ARGUMENT
                        and stack[index] == self.default_values[index])):
                attributes[name] = value
                continue
            if constants is not None and not isinstance(value, Tensor) and value in constants:
                attributes[name] = value
            if family.count == MAXIMUM_INPUTS:
                raise ValueError(f"{self.label}: more than {MAXIMUM_INPUTS} operands")
            family.position[family.count] = index
            family.takes_part[family.count] = takes_part
            family.count += 1
        family.attributes = attributes
        family.promotion = _PROMOTIONS.index(self.backend.promotion(self, attributes))
        family.check, family.integer_check = self.backend.checks(self, attributes)
        family.verified = set()
        return family

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        cdef Family family = self.family_of(stack)
        cdef OrdinaryCall ordinary
        cdef Remembered* known
        cdef PyObject* out = stack[self.out_position] if self.out_position >= 0 else NULL
        if (not self.executes or self.asks_for_format(stack)
                or not arrange(&ordinary, stack, family.position, family.count, out)):
            return self.call_general(family, stack)
        known = remembered_at(family, ordinary.signature)
        if (known.signature != ordinary.signature or known.function == NULL
                or known.checked
                and not has_accepted(known, &ordinary, stack, family.position)):
            return self.call_and_remember(family, &ordinary, known, stack)
        return compute(&ordinary, known)

    cdef inline bint asks_for_format(self, PyObject** stack) noexcept:
        return self.format_position >= 0 and stack[self.format_position] != <PyObject*>None

    cdef object call_and_remember(self, Family family, OrdinaryCall* ordinary, Remembered* known,
                                  PyObject** stack):
        """The general way, which raises what there is to raise; and what to do the next time."""
        result = self.call_general(family, stack)
        if known.signature != ordinary.signature:
            self.remember(family, ordinary, known, stack)
        if known.checked:
            accept(known, ordinary, stack, family.position)
        return result

    cdef int remember(self, Family family, OrdinaryCall* ordinary, Remembered* known,
                      PyObject** stack) except -1:
        cdef Operands operands
        cdef KernelFunction function = NULL
        cdef int accesses[MAXIMUM_INPUTS + 1]
        cdef int index, code
        cdef bint has_integers
        operands.rank = 0
        operands.device_type = -1
        _collect(self, family, stack, &operands)
        code = self.result_code(family, &operands)
        if ordinary.out != NULL:
            code = (<TensorImpl>ordinary.out).dtype_code
        has_integers = category_of(operands.compute_code) == INTEGRAL
        if not has_integers or not self.looks_at_elements(family, stack):
            for index in range(family.count):
                accesses[index] = ordinary.accesses[index]
            accesses[family.count] = UNIT
            function = self.function_for(family, &operands, code, accesses)
        forget(known)
        known.signature = ordinary.signature
        known.function = function
        known.out_code = code
        known.checked = (family.check is not None
                         or has_integers and family.integer_check is not None)
        return 0

    cdef bint looks_at_elements(self, Family family, PyObject** stack) except -1:
        """Whether the check of integers does, which then every call has to go through."""
        cdef int index
        if family.integer_check is None:
            return False
        for index in range(self.count):
            if (isinstance(<object>stack[index], Tensor)
                    and self.parameters[index][0] in family.integer_check.names):
                return True
        return False

    cdef object call_general(self, Family family, PyObject** stack):
        cdef Operands operands
        cdef Geometry kept
        cdef TensorImpl out = None
        cdef int code
        cdef list copies = None     # alive until the walk is over
        operands.rank = 0
        operands.device_type = -1
        _collect(self, family, stack, &operands)
        if self.out_position >= 0:
            if not isinstance(<object>stack[self.out_position], Tensor):
                raise TypeError(f"{self.label}(): the output must be a Tensor, not "
                                f"{type(<object>stack[self.out_position]).__name__}")
            out = <TensorImpl>stack[self.out_position]
        if (out is not None or family.promotion == SAME or family.check is not None
                or family.integer_check is not None):
            copies = []
            _freeze(&operands, family.count, copies)
        broadcast_operands(&operands, family.count)
        code = self.result_code(family, &operands)
        if family.check is not None:
            family.check(self.named_arguments(stack))
        if family.integer_check is not None and category_of(operands.compute_code) == INTEGRAL:
            family.integer_check(self.named_arguments(stack))
        if out is None:
            return self.walk(family, &operands, None, code, copies, stack)
        keep_geometry(out, &kept)
        try:
            self.check_out(out, code, &operands, family.count, copies)
            return self.walk(family, &operands, out, code, copies, stack)
        except BaseException:
            restore_geometry(out, &kept)
            raise

    cdef dict named_arguments(self, PyObject** stack):
        cdef int index
        return {self.parameters[index][0]: <object>stack[index] for index in range(self.count)}

    cdef int result_code(self, Family family, Operands* operands) except -1:
        """The element type of a fresh result."""
        cdef int common = operands.compute_code
        cdef int index
        if family.promotion == SAME:
            key = tuple([operands.codes[index] for index in range(family.count)])
            found = family.results.get(key)
            if found is None:
                types = tuple([dtype_from_code(code) for code in key])
                found = self.backend.result_type(self, family.attributes, types)
                family.results[key] = found
            operands.compute_code = (<dtype?>found).code
            return (<dtype>found).code
        if common < 0:
            raise RuntimeError(f"{self.label}: no operand decides the result type")
        if family.promotion == FLOAT and category_of(common) < FLOATING:
            operands.compute_code = default_dtype_code()
        elif family.promotion == LONG and category_of(common) < FLOATING:
            operands.compute_code = INT64
        elif family.promotion == NUMBER and common == BOOL:
            operands.compute_code = INT64
        if family.promotion == BOOLEAN:
            return BOOL
        if family.promotion == REAL:
            return (<dtype>dtype_from_code(common).to_real()).code
        return operands.compute_code

    cdef int check_out(self, TensorImpl out, int code, Operands* operands, int count,
                       list copies) except -1:
        """Raises RuntimeError unless the result may be written to `out`; resizes `out=` tensors.

        Operands that overlap `out` in a way too intricate to judge are read from a copy.
        """
        cdef int index
        cdef TensorImpl operand
        cdef bint same = out.rank == operands.rank
        result, desired = dtype_from_code(code), dtype_from_code(out.dtype_code)
        if not can_cast(result, desired):
            raise RuntimeError(f"result type {result.scalar_type_name} can't be cast to the "
                               f"desired output type {desired.scalar_type_name}")
        if operands.device_type >= 0 and out.device_type != operands.device_type:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, "
                f"{device_from_codes(operands.device_type, -1)} and {out.device}!")
        for index in range(operands.rank):
            same = same and out.sizes[index] == operands.sizes[index]
        if not same and self.inplace:
            raise _other_shape(out, operands)
        if not same:
            self.refuse_operand(out, operands, count)
            check_unchanged(self.label, operands.changes)
            prepare_out(self.label, out, operands.rank, operands.sizes)
            operands.changes = local_state().changes
        if not self.repeatable:
            check_internal_overlap(out)
        for index in range(count):
            if operands.tensors[index] == NULL:
                continue
            operand = <TensorImpl>operands.tensors[index]
            if same_geometry(out, operand) or not may_overlap(out, operand):
                continue
            if _is_dense(out) and _is_dense(operand):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to "
                    "tensor refer to a single memory location. Please clone() the tensor before "
                    "performing the operation.")
            copy = self.backend.clone(operand)
            copies.append(copy)
            operands.tensors[index] = <PyObject*>copy
        return 0

    cdef int refuse_operand(self, TensorImpl out, Operands* operands, int count) except -1:
        """Raises RuntimeError where `out`, which is to be resized, is also read."""
        cdef int index
        for index in range(count):
            if operands.tensors[index] != NULL and same_geometry(
                    out, <TensorImpl>operands.tensors[index]):
                raise _other_shape(out, operands)
        return 0

    cdef int require_shape(self, TensorImpl out, Operands* operands) except -1:
        """Raises RuntimeError where another thread has changed `out` since it was prepared."""
        cdef bint same = out.rank == operands.rank
        cdef int index
        for index in range(operands.rank if same else 0):
            same = same and out.sizes[index] == operands.sizes[index]
        if not same:
            raise _other_shape(out, operands)
        return 0

    cdef TensorImpl fresh_in_format(self, Operands* operands, int code, int device_type,
                                    PyObject** stack):
        """A result in the memory format of the call, of an operator that has one; else None."""
        cdef int format_code = PRESERVE_FORMAT
        if self.format_position < 0 or operands.tensors[0] == NULL:
            return None
        if self.asks_for_format(stack):
            format_code = (<memory_format?><object>stack[self.format_position]).code
        return empty_as(<TensorImpl>operands.tensors[0], code, device_type, -1, format_code)

    cdef object walk(self, Family family, Operands* operands, TensorImpl out, int code,
                     list copies, PyObject** stack):
        cdef Walk walk
        cdef int permutation[MAXIMUM_DIMS]
        cdef int64_t strides[MAXIMUM_DIMS]
        cdef int64_t stride = 1
        cdef int index, dim
        cdef int device_type = operands.device_type if operands.device_type >= 0 else CPU
        cdef bint fresh
        cdef bint written = out is not None
        if out is None:
            out = self.fresh_in_format(operands, code, device_type, stack)
        if out is None:
            out = _fresh_alike(family.count, operands, code, device_type)
        fresh = out is None
        if written and self.executes:
            # Before any address is taken: operands may be windows on the same memory.
            data_pointer(out)
        if written:
            self.require_shape(out, operands)
        begin_walk(&walk, operands.rank, operands.sizes)
        for index in range(family.count):
            if operands.tensors[index] != NULL:
                add_input(&walk, <TensorImpl>operands.tensors[index], operands.rank,
                          operands.sizes)
            else:
                add_scalar(&walk, &operands.scalars[index][0])
        if not fresh:
            add_operand(&walk, out, operands.rank, operands.sizes)
        reorder(&walk, permutation)
        if fresh:
            for index in range(operands.rank):
                dim = operands.rank - 1 - permutation[index]
                strides[dim] = stride
                stride *= max(operands.sizes[dim], 1)
            out = make_strided(code, operands.rank, operands.sizes, strides, device_type, -1)
            _add_fresh(&walk, out)
        if self.executes:
            coalesce(&walk)
            lengthen_rows(&walk)
            self.run(family, operands, out.dtype_code, &walk, not written)
        else:
            self.verify(family, operands, out.dtype_code)
        if written:
            count_write(out)
        return out

    cdef int verify(self, Family family, Operands* operands, int out_code) except -1:
        """Let the operator's function look at the element types, once for each of them."""
        key = tuple([operands.codes[i] for i in range(family.count)] + [operands.compute_code])
        if key in family.verified:
            return 0
        types = tuple([dtype_from_code(operands.codes[i]) for i in range(family.count)])
        self.backend.verify(self, family.attributes, types,
                            dtype_from_code(operands.compute_code), dtype_from_code(out_code))
        family.verified.add(key)
        return 0

    cdef int run(self, Family family, Operands* operands, int out_code, Walk* walk,
                 bint separate) except -1:
        cdef int accesses[MAXIMUM_INPUTS + 1]
        cdef int64_t widths[MAXIMUM_INPUTS]
        cdef Tiling tiling
        cdef bint tiled = False
        cdef int index
        if walk.rank > 1:
            for index in range(family.count):
                widths[index] = item_size(operands.codes[index])
            tiled = tile(walk, widths, &tiling)
        find_accesses(walk, operands, family.count, out_code, separate, accesses)
        walk.kernel = self.function_for(family, operands, out_code, accesses)
        # Checks and the making of code have run Python code since the operands were read.
        check_unchanged(self.label, operands.changes)
        if walk.total < RELEASE_THRESHOLD:
            _launch(walk, &tiling if tiled else NULL)
            return 0
        with nogil:
            _launch(walk, &tiling if tiled else NULL)
        return 0

    cdef KernelFunction function_for(self, Family family, Operands* operands, int out_code,
                                     const int* accesses) except NULL:
        """The machine code for these element types and access patterns."""
        cdef uint64_t[2] met
        cdef int index, code
        cdef KernelFunction function
        # Eight bits each: one word has room for seven, and so both for all.
        met = [<uint64_t>operands.compute_code, 0]
        for index in range(family.count + 1):
            code = operands.codes[index] if index < family.count else out_code
            met[index > 6] = met[index > 6] << 8 | <uint64_t>(code << 2 | accesses[index])
        function = family.find(met)
        if function != NULL:
            return function
        types = tuple([dtype_from_code(operands.codes[i]) for i in range(family.count)])
        patterns = tuple([_ACCESSES[accesses[i]] for i in range(family.count + 1)])
        address, owner = self.backend.compile(
            self, family.attributes, types, dtype_from_code(operands.compute_code),
            dtype_from_code(out_code), patterns)
        family.keep(met, address, owner)
        return family.find(met)


cdef int _freeze(Operands* operands, int count, list kept) except -1:
    """Read windows that nobody else knows: what is called next are checks, warnings, copies, and
    other threads may change the tensors meanwhile."""
    cdef Tensor window
    cdef int index
    for index in range(count):
        if operands.tensors[index] != NULL:
            window = make_alias(<TensorImpl>operands.tensors[index])
            kept.append(window)
            operands.tensors[index] = <PyObject*>window
    return 0


cdef object _other_shape(TensorImpl out, Operands* operands):
    return RuntimeError(
        f"output with shape {[out.sizes[index] for index in range(out.rank)]} doesn't match the "
        f"broadcast shape {[operands.sizes[index] for index in range(operands.rank)]}")


cdef void _launch(Walk* walk, Tiling* tiling) noexcept nogil:
    if tiling == NULL:
        run_walk(walk, GRAIN)
    else:
        run_tiles(tiling, GRAIN)


cdef int _collect(PointwiseKernel kernel, Family family, PyObject** stack,
                  Operands* operands) except -1:
    """Sort operands into tensors and numbers, and find the common type."""
    cdef Promotion state
    cdef TensorImpl tensor
    cdef PyObject* value
    cdef int index
    operands.changes = local_state().changes
    begin_promotion(&state)
    for index in range(family.count):
        value = stack[family.position[index]]
        operands.tensors[index] = NULL
        if Py_TYPE(value) == <PyTypeObject*>Tensor or isinstance(<object>value, TensorImpl):
            tensor = <TensorImpl>value
            operands.tensors[index] = value
            operands.codes[index] = tensor.dtype_code
            check_device(operands, tensor)
            if tensor.rank > operands.rank:
                operands.rank = tensor.rank
            if family.takes_part[index] and family.promotion != SAME:
                promote_tensor(&state, tensor)
            continue
        operands.codes[index] = read_number(kernel.label, value, operands.scalars[index])
        if family.takes_part[index]:
            promote_number(&state, promotion_code(operands.codes[index]))
    operands.compute_code = promoted(&state)
    return 0


cdef inline bint _is_dense(TensorImpl tensor) noexcept:
    return is_dense(tensor.rank, tensor.sizes, tensor.strides)


cdef TensorImpl _fresh_alike(int count, Operands* operands, int code, int device_type):
    """A result with the strides all operands have; None where they differ or leave gaps.

    Row-major where all of them are: what the stride of a single element says does not count.
    """
    cdef TensorImpl first = None, operand
    cdef bint alike = True, plain = True
    cdef int index, dim
    for index in range(count):
        if operands.tensors[index] == NULL:
            return None
        operand = <TensorImpl>operands.tensors[index]
        if first is None:
            first = operand
        if operand.rank != operands.rank:
            return None
        plain = plain and operand.contiguous
        for dim in range(operands.rank):
            if operand.sizes[dim] != operands.sizes[dim]:
                return None
            alike = alike and operand.strides[dim] == first.strides[dim]
    if first is None or first.count == 0:
        return None
    if plain:
        return make_contiguous(code, first.rank, first.sizes, device_type, -1)
    if not alike or first.contiguous or not _is_dense(first):
        return None
    return make_strided(code, first.rank, first.sizes, first.strides, device_type, -1)


cdef void _add_fresh(Walk* walk, TensorImpl out) noexcept:
    """A new result follows the walk's order without gaps."""
    cdef int64_t stride = item_size(out.dtype_code)
    cdef int dim
    for dim in range(walk.rank):
        walk.strides[dim][walk.operands] = stride
        stride *= max(walk.sizes[dim], 1)
    walk.data[walk.operands] = out.storage.data
    walk.operands += 1
