# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""TensorImpl, what a tensor is, and Tensor, the handle users hold and subclass.

A tensor is a window on a storage: sizes, strides and an offset, all counted in elements. Views
share the storage, and with it the version counter that every in-place write bumps. What operators
do to tensors is not here: methods and number slots are filled in from the operator tables.
"""

import sys

cimport cython
from cpython.object cimport (Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE, PyObject, PyTypeObject)
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU, META, device_from_codes
from aten._core.base.device import LAYOUTS, MEMORY_FORMATS
from aten._core.base.dtypes cimport (FLOAT32, category_of, default_dtype_code, dtype_from_code,
                                     item_size)
from aten._core.base.keys cimport (DispatchKeySet, LocalState, bits_of_one_tensor, dense_keys,
                                   inference_bit, local_state, overriding_bit)
from aten._core.base.keys import DispatchKey
from aten._core.base.sizes cimport int_tuple, make_size
from aten._core.base.strides cimport is_channels_last
from aten._core.memory.storage cimport allocate, expose, make_own

cdef extern from *:
    """
    #define ATEN_SET_GEOMETRY(tensor, value) Py_XSETREF((tensor)->geometry_memory, value)
    """
    void steal_geometry_memory "ATEN_SET_GEOMETRY"(TensorImpl, PyObject*) noexcept

cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject*)
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char*, Py_ssize_t) except NULL
    char* bytes_memory "PyBytes_AS_STRING"(PyObject*) noexcept
    int PyDict_SetItem(PyObject*, object, object) except -1
    ctypedef struct CTypeObject "PyTypeObject":
        PyObject* tp_dict

cdef enum:
    FLOATING = 2    # the category from which on `~` has no meaning

cdef uint64_t _CONJUGATE = (<DispatchKeySet>DispatchKeySet(DispatchKey.Conjugate)).bits
cdef uint64_t _AUTOGRAD = (<DispatchKeySet>DispatchKeySet(
    DispatchKey.__members__["AutogradFunctionality"])).bits
cdef uint64_t _PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits
cdef uint64_t _NEGATIVE = (<DispatchKeySet>DispatchKeySet(DispatchKey.Negative)).bits
cdef object _STRIDED = LAYOUTS["strided"]
cdef object _CONTIGUOUS_FORMAT = MEMORY_FORMATS["contiguous_format"]
cdef object _CHANNELS_LAST = MEMORY_FORMATS["channels_last"]
cdef object _CHANNELS_LAST_3D = MEMORY_FORMATS["channels_last_3d"]


@cython.freelist(64)
cdef class AutogradMeta:
    """What gradients are to a tensor."""


cdef class TensorImpl:
    """Sizes, strides, offset, element type, device and keys over a storage."""

    def __cinit__(self):
        # Whoever asks for a bare object gets an empty tensor, never a window on nothing.
        self.storage = allocate(0, CPU, -1)
        self.sizes = self.inline_geometry
        self.strides = self.sizes + 1
        self.sizes[0] = 0
        self.strides[0] = 1
        self.rank = 1
        self.contiguous = True
        self.dtype_code = FLOAT32
        self.device_index = -1
        self.keys = dense_keys(CPU)


cdef int reserve_elsewhere(TensorImpl tensor, int rank) except -1:
    cdef PyObject* memory = new_bytes(NULL, 2 * rank * sizeof(int64_t))
    steal_geometry_memory(tensor, memory)
    tensor.sizes = <int64_t*>bytes_memory(memory)
    return 0


cdef int refuse_count(TensorImpl tensor) except -1:
    raise RuntimeError(f"numel: integer multiplication overflow for sizes "
                       f"{list(int_tuple(tensor.rank, tensor.sizes))}")


cdef int set_geometry(TensorImpl tensor, int rank, const int64_t* sizes,
                      const int64_t* strides) except -1:
    """Give a tensor other sizes and strides; the caller vouches that they stay in the storage."""
    cdef int dim
    reserve(tensor, rank)
    for dim in range(rank):
        tensor.sizes[dim] = sizes[dim]
        tensor.strides[dim] = strides[dim]
    return refresh_geometry(tensor)


cdef bint is_tensor(object value) noexcept:
    return isinstance(value, Tensor)


cdef int require_memory(TensorImpl tensor) except -1:
    """Raises RuntimeError for a tensor without memory here; None is none."""
    if tensor is not None and tensor.count != 0 and tensor.storage.data == NULL:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found one on "
                           f"{tensor.device} among others on cpu")
    return 0


# Number slots. The table is filled from outside with whatever callables the operators provide.

cdef BinaryCall _binary_call = NULL
cdef PyObject* _slots[SLOT_COUNT]
cdef list _slot_owners = []
cdef object _constructor = None
cdef object _node_of = None
cdef object _override = None
cdef object _unoverridden = None
cdef object _not_asked = None
_SLOT_NAMES = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift",
    "radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul", "rand", "ror",
    "rxor", "rlshift", "rrshift",
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior",
    "ixor", "ilshift", "irshift",
    "lt", "le", "eq", "ne", "gt", "ge",
    "neg", "pos", "abs", "invert", "bool", "getitem", "setitem", "repr", "contains", "reduce",
    "deepcopy", "format", "array", "dlpack",
)


cdef void set_binary_call(BinaryCall call) noexcept:
    """How the two-operand slots call what fills them."""
    global _binary_call
    _binary_call = call


def install_slot(str name, function):
    """Let the slot `__name__` of Tensor call `function`. Raises ValueError for unknown slots."""
    if name not in _SLOT_NAMES:
        raise ValueError(f"Tensor has no slot named {name!r}")
    _slot_owners.append(function)
    _slots[_SLOT_NAMES.index(name)] = <PyObject*>function


def install_attribute(str name, value):
    """Set a class attribute of Tensor, which as a static type takes none by assignment."""
    PyDict_SetItem((<CTypeObject*>Tensor).tp_dict, name, value)
    PyType_Modified(<PyTypeObject*>Tensor)


def install_node_lookup(function):
    """Let `function(tensor)` find the node of a tensor that has one: of views it may be out of date."""
    global _node_of
    _node_of = function


def install_overriding(override, unoverridden, not_asked):
    """Says who asks `__torch_function__`: `override(function, args, kwargs)`.

    `unoverridden(function, tensor)` calls without asking; `not_asked` is what stands in the place
    of `__torch_function__` in classes that need not be asked.
    """
    global _override, _unoverridden, _not_asked
    _override, _unoverridden, _not_asked = override, unoverridden, not_asked


def install_constructor(function):
    """Let `function(args, kwargs)` be what `Tensor(*args, **kwargs)` shows."""
    global _constructor
    _constructor = function


cdef inline object _binary(int slot, object left, object right):
    if _slots[slot] == NULL:
        raise TypeError(f"Tensor: no operator fills the slot __{_SLOT_NAMES[slot]}__")
    return _binary_call(_slots[slot], left, right)


cdef inline object _slot(int slot):
    if _slots[slot] == NULL:
        raise TypeError(f"Tensor: no operator fills the slot __{_SLOT_NAMES[slot]}__")
    return <object>_slots[slot]


cdef inline bint _is_operand(object value):
    return type(value) is Tensor or type(value) is float or _is_rarer_operand(value)


cdef bint _is_rarer_operand(object value):
    if isinstance(value, (int, Tensor, float, complex)) or hasattr(type(value), "__sym_float__"):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


cdef object _reflected(int slot, object self, object other):
    """`other op self`; an array of NumPy leaves it to the tensor, whose priority is higher."""
    if _is_operand(other):
        return _binary(slot, self, other)
    if not hasattr(other, "__array_interface__"):
        return NotImplemented
    return _binary(slot, self, _tensor_of_array(other))


cdef object _tensor_of_array(object array):
    from aten._core.tensor.construct import from_array_interface

    return from_array_interface(array, share=False)


cdef class Tensor(TensorImpl):
    """A multi-dimensional array of one element type.

    Tensors are made by factories (`aten.tensor`, `aten.empty`, …) and by operators; views of one
    share its storage. The class may be subclassed. Called, it makes uninitialized tensors of sizes,
    or tensors of a sequence of numbers; without arguments, an empty one.
    """

    __array_priority__ = 1000

    def __cinit__(self, *args, **kwargs):
        self.dtype_code = default_dtype_code()
        if type(self) is not Tensor:
            self.keys |= _keys_of_class(type(self))
        if args or kwargs:
            _show(self, <Tensor?>_constructor(args, kwargs))

    # Geometry and type

    @property
    def shape(self):
        """The sizes, as a `Size`.

        Example:

            >>> aten.ones(2, 3).shape
            aten.Size([2, 3])
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.sizes
        return make_size(self.rank, self.sizes)

    def size(self, dim=None):
        """The sizes, or the size of dimension `dim`.

        Example:

            >>> aten.ones(2, 3).size(), aten.ones(2, 3).size(1)
            (aten.Size([2, 3]), 3)
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.sizes if dim is None else known.sizes[_existing_dim(self, dim)]
        if dim is None:
            return make_size(self.rank, self.sizes)
        return self.sizes[_existing_dim(self, dim)]

    def stride(self, dim=None):
        """The strides in elements, or the stride of dimension `dim`.

        Example:

            >>> aten.ones(2, 3).stride()
            (3, 1)
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.strides if dim is None else known.strides[_existing_dim(self, dim)]
        if dim is None:
            return int_tuple(self.rank, self.strides)
        return self.strides[_existing_dim(self, dim)]

    def storage_offset(self):
        """Elements between the start of the storage and the first element.

        Example:

            >>> aten.arange(5)[2:].storage_offset()
            2
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.offset
        return self.offset

    def dim(self):
        """The number of dimensions.

        Example:

            >>> aten.ones(2, 3).dim()
            2
        """
        return self.rank

    ndimension = dim

    @property
    def ndim(self):
        """How many dimensions the tensor has.

        Example:

            >>> aten.ones(2, 3).ndim
            2
        """
        return self.rank

    def numel(self):
        """The number of elements.

        Example:

            >>> aten.ones(2, 3).numel()
            6
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.numel
        return self.count

    nelement = numel

    @property
    def dtype(self):
        """The type of the elements.

        Example:

            >>> aten.ones(2).dtype
            aten.float32
        """
        return dtype_from_code(self.dtype_code)

    @property
    def device(self):
        """Where the tensor's memory is.

        Example:

            >>> aten.ones(2).device
            device(type='cpu')
        """
        return device_from_codes(self.device_type, self.device_index)

    @property
    def layout(self):
        """How the elements lie in memory: `aten.strided`.

        Example:

            >>> aten.ones(2).layout
            aten.strided
        """
        return _STRIDED

    @property
    def itemsize(self):
        """The bytes of one element.

        Example:

            >>> aten.ones(2).itemsize
            4
        """
        return item_size(self.dtype_code)

    def element_size(self):
        """Bytes of one element.

        Example:

            >>> aten.ones(2).element_size()
            4
        """
        return item_size(self.dtype_code)

    @property
    def nbytes(self):
        """The bytes of all elements.

        Example:

            >>> aten.ones(2).nbytes
            8
        """
        return self.count * item_size(self.dtype_code)

    def data_ptr(self):
        """The address of the first element; 0 where there is no memory.

        Example:

            >>> aten.ones(2).data_ptr() != 0
            True
        """
        if self.storage.data == NULL:
            return 0
        expose(self.storage)
        return <size_t>const_data_pointer(self)

    def untyped_storage(self):
        """The storage this tensor is a window on.

        Example:

            >>> aten.ones(2).untyped_storage().nbytes()
            8
        """
        return self.storage

    def is_contiguous(self, memory_format=_CONTIGUOUS_FORMAT):
        """Whether elements lie in memory in the order of `memory_format`, without gaps.

        Example:

            >>> aten.ones(2, 3).t().is_contiguous()
            False
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.is_contiguous(memory_format)
        if memory_format is _CONTIGUOUS_FORMAT:
            return self.contiguous
        if memory_format is _CHANNELS_LAST or memory_format is _CHANNELS_LAST_3D:
            return (self.rank == (4 if memory_format is _CHANNELS_LAST else 5)
                    and is_channels_last(self.rank, self.sizes, self.strides))
        raise RuntimeError(f"is_contiguous: memory_format must be contiguous_format, channels_last "
                           f"or channels_last_3d, got {memory_format}")

    def is_floating_point(self):
        """Whether the elements are floating-point numbers.

        Example:

            >>> aten.ones(2).is_floating_point()
            True
        """
        return dtype_from_code(self.dtype_code).is_floating_point

    def is_complex(self):
        """Whether the elements are complex numbers.

        Example:

            >>> aten.ones(2).is_complex()
            False
        """
        return dtype_from_code(self.dtype_code).is_complex

    def is_signed(self):
        """Whether the elements can be negative.

        Example:

            >>> aten.ones(2).is_signed()
            True
        """
        return dtype_from_code(self.dtype_code).is_signed

    def is_conj(self):
        """Whether the tensor reads as the complex conjugate of what is in memory.

        Example:

            >>> aten.tensor([1j]).conj().is_conj()
            True
        """
        return self.keys & _CONJUGATE != 0

    def is_neg(self):
        """Whether the tensor reads as the negative of what is in memory.

        Example:

            >>> aten.tensor([1j]).conj().imag.is_neg()
            True
        """
        return self.keys & _NEGATIVE != 0

    @property
    def is_cpu(self):
        """Whether the tensor is in host memory.

        Example:

            >>> aten.ones(2).is_cpu
            True
        """
        return self.device_type == CPU

    @property
    def is_meta(self):
        """Whether the tensor has sizes and a dtype, but no elements.

        Example:

            >>> aten.ones(2, device="meta").is_meta
            True
        """
        return self.device_type == META

    @property
    def is_sparse(self):
        """Whether only some elements are stored: no, ever.

        Example:

            >>> aten.ones(2).is_sparse
            False
        """
        return False

    @property
    def is_quantized(self):
        """Whether the elements are quantized: no, ever.

        Example:

            >>> aten.ones(2).is_quantized
            False
        """
        return False

    @property
    def requires_grad(self):
        """Whether derivatives with respect to the tensor are asked for.

        Example:

            >>> aten.ones(2).requires_grad
            False
        """
        return has_autograd(self) and (self.autograd.requires_grad
                                       or self.autograd.node is not None)

    @property
    def is_leaf(self):
        """Whether no recorded operator made the tensor.

        Example:

            >>> aten.ones(2).is_leaf
            True
        """
        return not has_autograd(self) or self.autograd.node is None

    @property
    def grad_fn(self):
        """What the derivative goes back through, or None.

        Example:

            >>> aten.ones(2).grad_fn is None
            True
        """
        return _node_of(self) if has_autograd(self) and _node_of is not None else None

    @property
    def output_nr(self):
        """Which of the results of `grad_fn` the tensor is; 0 for leaves.

        Example:

            >>> aten.ones(2).output_nr
            0
        """
        return self.autograd.output if has_autograd(self) else 0

    @property
    def retains_grad(self):
        """Whether `retain_grad` has asked for the gradient of a tensor that is no leaf.

        Example:

            >>> aten.ones(2).retains_grad
            False
        """
        return has_autograd(self) and self.autograd.retains_grad

    @property
    def _version(self):
        """How often the tensor, or one that is a view with it, has been written to.

        Views and what `detach` gives share the count, `data` does not. It never goes backwards.
        """
        if self.keys & inference_bit():
            raise RuntimeError("_version: writes to a tensor of inference mode are not counted")
        if has_own_versions(self):
            return self.versions.count
        if self.storage.left is not None:
            return self.storage.left.count
        return self.storage.version

    @property
    def _is_wrapped_number(self):
        return self.wrapped_number

    def _dispatch_keys(self):
        """The tensor's DispatchKeySet."""
        cdef DispatchKeySet keys = DispatchKeySet.__new__(DispatchKeySet)
        keys.bits = self.keys & ~bits_of_one_tensor()
        if keys.bits & inference_bit():
            keys.bits &= ~(inference_bit() | _AUTOGRAD)
        return keys

    def is_inference(self):
        """Whether the tensor was made within `inference_mode`, or is a view of such a one.

        Example:

            >>> aten.ones(2).is_inference()
            False
        """
        return self.keys & inference_bit() != 0

    @property
    def _base(self):
        """The tensor this one is a view of, which is no view itself; None for others."""
        return self.base if is_view(self) else None

    def _is_view(self):
        """Whether the tensor was made as a view of another."""
        return is_view(self)

    def as_subclass(self, cls):
        """The same window on the same storage as an object of `cls`, a subclass of Tensor.

        Example:

            >>> type(aten.ones(2).as_subclass(aten.Tensor)) is aten.Tensor
            True
        """
        if not isinstance(cls, type) or not issubclass(cls, Tensor):
            raise TypeError(f"as_subclass: cls must be a subclass of Tensor, not {cls!r}")
        cdef Tensor made = Tensor.__new__(cls)
        _show(made, self)
        return made

    # Number slots

    def __add__(self, other):
        return _binary(SLOT_ADD, self, other) if _is_operand(other) else NotImplemented

    def __sub__(self, other):
        return _binary(SLOT_SUB, self, other) if _is_operand(other) else NotImplemented

    def __mul__(self, other):
        return _binary(SLOT_MUL, self, other) if _is_operand(other) else NotImplemented

    def __truediv__(self, other):
        return _binary(SLOT_TRUEDIV, self, other) if _is_operand(other) else NotImplemented

    def __floordiv__(self, other):
        return _binary(SLOT_FLOORDIV, self, other) if _is_operand(other) else NotImplemented

    def __mod__(self, other):
        return _binary(SLOT_MOD, self, other) if _is_operand(other) else NotImplemented

    def __pow__(self, other, modulo):
        if modulo is not None or not _is_operand(other):
            return NotImplemented
        return _binary(SLOT_POW, self, other)

    def __matmul__(self, other):
        return _binary(SLOT_MATMUL, self, other) if _is_operand(other) else NotImplemented

    def __and__(self, other):
        return _binary(SLOT_AND, self, other) if _is_operand(other) else NotImplemented

    def __or__(self, other):
        return _binary(SLOT_OR, self, other) if _is_operand(other) else NotImplemented

    def __xor__(self, other):
        return _binary(SLOT_XOR, self, other) if _is_operand(other) else NotImplemented

    def __lshift__(self, other):
        return _binary(SLOT_LSHIFT, self, other) if _is_operand(other) else NotImplemented

    def __rshift__(self, other):
        return _binary(SLOT_RSHIFT, self, other) if _is_operand(other) else NotImplemented

    def __radd__(self, other):
        return _reflected(SLOT_RADD, self, other)

    def __rsub__(self, other):
        return _reflected(SLOT_RSUB, self, other)

    def __rmul__(self, other):
        return _reflected(SLOT_RMUL, self, other)

    def __rtruediv__(self, other):
        return _reflected(SLOT_RTRUEDIV, self, other)

    def __rfloordiv__(self, other):
        return _reflected(SLOT_RFLOORDIV, self, other)

    def __rmod__(self, other):
        return _reflected(SLOT_RMOD, self, other)

    def __rpow__(self, other, modulo):
        return NotImplemented if modulo is not None else _reflected(SLOT_RPOW, self, other)

    def __rmatmul__(self, other):
        return _reflected(SLOT_RMATMUL, self, other)

    def __rand__(self, other):
        return _reflected(SLOT_RAND, self, other)

    def __ror__(self, other):
        return _reflected(SLOT_ROR, self, other)

    def __rxor__(self, other):
        return _reflected(SLOT_RXOR, self, other)

    def __rlshift__(self, other):
        return _reflected(SLOT_RLSHIFT, self, other)

    def __rrshift__(self, other):
        return _reflected(SLOT_RRSHIFT, self, other)

    def __iadd__(self, other):
        return _binary(SLOT_IADD, self, other)

    def __isub__(self, other):
        return _binary(SLOT_ISUB, self, other)

    def __imul__(self, other):
        return _binary(SLOT_IMUL, self, other)

    def __itruediv__(self, other):
        return _binary(SLOT_ITRUEDIV, self, other)

    def __ifloordiv__(self, other):
        return _binary(SLOT_IFLOORDIV, self, other)

    def __imod__(self, other):
        return _binary(SLOT_IMOD, self, other)

    def __ipow__(self, other):
        return _binary(SLOT_IPOW, self, other)

    def __iand__(self, other):
        return _binary(SLOT_IAND, self, other)

    def __ior__(self, other):
        return _binary(SLOT_IOR, self, other)

    def __ixor__(self, other):
        return _binary(SLOT_IXOR, self, other)

    def __ilshift__(self, other):
        return _binary(SLOT_ILSHIFT, self, other)

    def __irshift__(self, other):
        return _binary(SLOT_IRSHIFT, self, other)

    def __richcmp__(self, other, int operation):
        if not _is_operand(other):
            if not hasattr(other, "__array_interface__"):
                return NotImplemented
            # An array would leave it to the tensor, whose priority is higher.
            other = _tensor_of_array(other)
        if operation == Py_LT:
            return _binary(SLOT_LT, self, other)
        if operation == Py_LE:
            return _binary(SLOT_LE, self, other)
        if operation == Py_EQ:
            return _binary(SLOT_EQ, self, other)
        if operation == Py_NE:
            return _binary(SLOT_NE, self, other)
        if operation == Py_GT:
            return _binary(SLOT_GT, self, other)
        return _binary(SLOT_GE, self, other)

    def __hash__(self):
        return <size_t><PyObject*>self >> 4

    def __neg__(self):
        return _slot(SLOT_NEG)(self)

    def __pos__(self):
        return _slot(SLOT_POS)(self)

    def __abs__(self):
        return _slot(SLOT_ABS)(self)

    def __invert__(self):
        if category_of(self.dtype_code) >= FLOATING:
            raise TypeError(f"~: expected a tensor of integers or bool, got {self.dtype}")
        return _slot(SLOT_INVERT)(self)

    # Python's protocols

    def __bool__(self):
        return bool(_slot(SLOT_BOOL)(self))

    def __int__(self):
        return int(_real_number(self))

    def __float__(self):
        return float(_real_number(self))

    def __complex__(self):
        return complex(_number(self))

    def __round__(self, digits=None):
        return round(_real_number(self), digits)

    def __index__(self):
        if self.count != 1 or self.dtype.kind not in ("signed", "unsigned", "bool"):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __reversed__(self):
        """The tensor with the order along its first dimension reversed; a 0-d tensor itself."""
        return self.flip(0) if self.rank else self

    def __len__(self):
        if self.rank == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self.size(0))

    def __iter__(self):
        if self.rank == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        return _slot(SLOT_CONTAINS)(self, element)

    def __getitem__(self, index):
        if _is_overridden(self):
            return _override(Tensor.__getitem__, (self, index), {})
        return _slot(SLOT_GETITEM)(self, index)

    def __setitem__(self, index, value):
        if _is_overridden(self):
            _override(Tensor.__setitem__, (self, index, value), {})
            return
        _slot(SLOT_SETITEM)(self, index, value)

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")

    def __repr__(self):
        if _slots[SLOT_REPR] == NULL:
            return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, device={self.device})"
        if _is_overridden(self):
            return _unoverridden(_slot(SLOT_REPR), self)
        return _slot(SLOT_REPR)(self)

    def __format__(self, specification):
        if self.rank == 0 and self.device_type != META:
            return format(self.item(), specification)
        return object.__format__(self, specification)

    def __reduce_ex__(self, protocol):
        return _slot(SLOT_REDUCE)(self, protocol)

    def __copy__(self):
        cdef Tensor made = self.as_subclass(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo):
        return _slot(SLOT_DEEPCOPY)(self, memo)


cdef object _symbolic(TensorImpl tensor):
    """What a fake tensor says of sizes that depend on symbols, or None."""
    return getattr(tensor, "_symbolic", None) if type(tensor) is Tensor else None


cdef inline bint _is_overridden(TensorImpl tensor) noexcept:
    cdef LocalState* state = local_state()
    return (tensor.keys | state.included) & ~state.excluded & overriding_bit() != 0


cdef uint64_t _keys_of_class(object cls) except? 0:
    """By what keys a subclass is asked: all are what functions give that do not say otherwise."""
    cdef uint64_t keys = 0
    if getattr(cls, "__torch_function__", None) is not _not_asked:
        keys |= overriding_bit()
    if getattr(cls, "__torch_dispatch__", _not_asked) is not _not_asked:
        keys |= _PYTHON
    return keys


cdef inline uint64_t _keys_by_class(TensorImpl tensor) noexcept:
    """The keys that come of the tensor's class; that of tensors without data does not."""
    cdef uint64_t keys = overriding_bit()
    if tensor.storage.device_type != META:
        keys |= _PYTHON
    return keys


cdef uint64_t keys_of_views(TensorImpl base) noexcept:
    cdef uint64_t keys = base.keys & ~bits_of_one_tensor()
    if keys & _PYTHON and base.storage.device_type != META:
        keys &= ~_PYTHON
    return keys


cdef object _number(Tensor tensor):
    """The only element, for Python's conversions. Raises ValueError unless there is just one."""
    if tensor.count != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, this has "
                         f"{tensor.count}")
    return tensor.item()


cdef object _real_number(Tensor tensor):
    """The same as a real number. Raises RuntimeError where it has an imaginary part."""
    value = _number(tensor)
    if not isinstance(value, complex):
        return value
    if value.imag != 0:
        raise RuntimeError(f"value cannot be converted to a real number: {value}")
    return value.real


cdef int _show(Tensor made, TensorImpl window) except -1:
    """Make `made` the same window on the same storage."""
    set_geometry(made, window.rank, window.sizes, window.strides)
    made.storage = window.storage
    share_versions(made, window)
    made.offset = window.offset
    made.dtype_code = window.dtype_code
    made.device_type = window.device_type
    made.device_index = window.device_index
    made.keys = window.keys & ~_keys_by_class(window) | made.keys & (overriding_bit() | _PYTHON)
    if has_autograd(window):
        set_autograd_field(made, <PyObject*>window.autograd)
    note_base(made, window)
    return 0


cdef uint64_t conjugate_bit() noexcept:
    return _CONJUGATE


cdef uint64_t negative_bit() noexcept:
    return _NEGATIVE


cdef bint is_lazy(TensorImpl tensor) noexcept:
    return tensor.keys & (_CONJUGATE | _NEGATIVE) != 0


cdef int wrap_dim(int64_t dim, int ndim) except -1:
    """`dim` counted from the front. A 0-d tensor allows -1 and 0. Raises IndexError."""
    cdef int64_t bound = ndim if ndim > 0 else 1
    if dim < -bound or dim >= bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, "
                         f"{bound - 1}], but got {dim})")
    return <int>(dim + bound if dim < 0 else dim)


cdef int _existing_dim(TensorImpl tensor, int64_t dim) except -1:
    if tensor.rank == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, tensor.rank)


def wrap_dimension(int64_t dim, int ndim):
    """`dim` counted from the front of `ndim` dimensions. Raises IndexError out of range."""
    return wrap_dim(dim, ndim)
