# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls that place elements, or fold them into what is there, on a copy or in place.

scatter takes an index for each element, index_add and its relatives one for each slice.
"""

from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport BOOL, FLOAT32, FLOAT64, INT32, INT64, category_of, item_size
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.base.strides cimport is_row_major
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.memory.storage cimport copy_bytes
from aten._core.tensor.given cimport reads_dim, reads_integer
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.memory cimport may_overlap
from aten._core.tensor.python_numbers cimport read_element, write_element
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, is_lazy)
from aten.backends.cpu.kernels.indexing.locating cimport WITHIN, range_of_index
from aten.backends.cpu.kernels.indexing.picked_parts cimport (BASE, INDEX, OTHER, Way,
                                                              run_in_parts)
from aten.backends.cpu.kernels.indexing.picking cimport (GREATEST, LEAST, PRODUCT, SUM, fold_elements, fold_named,
                                                         place_elements, set_fold)
from aten.backends.cpu.kernels.moving.iterator cimport (Walk, add_input, add_scalar, begin_walk,
                                                        coalesce)

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject*) noexcept

cdef enum:
    # In the place of a fold, or of the number of one.
    REPLACE = -1
    MEAN = 64
    # Bytes that are copied for each that is written to, where that is done part by part.
    MOST_COPIED = 2
    # Integers up to here are numbers of every type of 32 bits or more.
    MOST_EXACT = 1 << 24
    COMPLEX = 3

ctypedef fused real:
    float
    double

# Gives None for calls it declines.
ctypedef object (*Ordinary)(PyObject** stack, bint in_place)

cdef struct Given:
    # What is written beside the elements of a tensor, and how.
    int fold
    bint by_slices              # an index for each slice, not for each element
    bint in_place
    char* number                # one for all points, or NULL


cdef object _scatter(PyObject** stack, bint in_place):
    """scatter.src(self, dim, index, src)."""
    return _written(stack, <TensorImpl>stack[3], Given(REPLACE, False, in_place, NULL))


cdef object _scatter_value(PyObject** stack, bint in_place):
    """scatter.value(self, dim, index, value)."""
    cdef char number[16]
    if not _reads_number(number, (<TensorImpl>stack[0]).dtype_code, stack[3]):
        return None
    return _written(stack, None, Given(REPLACE, False, in_place, &number[0]))


cdef object _scatter_add(PyObject** stack, bint in_place):
    """scatter_add(self, dim, index, src)."""
    return _written(stack, <TensorImpl>stack[3], Given(SUM, False, in_place, NULL))


cdef object _scatter_reduce(PyObject** stack, bint in_place):
    """scatter_reduce.two(self, dim, index, src, reduce, *, include_self=True)."""
    cdef int fold = _fold_of(stack)
    if fold < 0:
        return None
    return _reduced(stack, Given(fold, False, in_place, NULL))


cdef object _index_add(PyObject** stack, bint in_place):
    """index_add(self, dim, index, source, *, alpha=1), but for another alpha."""
    cdef int64_t alpha = 0
    if not reads_integer(stack[4], &alpha) or alpha != 1:
        return None
    return _written(stack, <TensorImpl>stack[3], Given(SUM, True, in_place, NULL))


cdef object _index_copy(PyObject** stack, bint in_place):
    """index_copy(self, dim, index, source)."""
    return _written(stack, <TensorImpl>stack[3], Given(REPLACE, True, in_place, NULL))


cdef object _index_reduce(PyObject** stack, bint in_place):
    """index_reduce(self, dim, index, source, reduce, *, include_self=True), but no sums."""
    cdef int fold = _fold_of(stack), code = (<TensorImpl>stack[0]).dtype_code
    if fold <= SUM or code == BOOL or category_of(code) == COMPLEX:
        return None
    return _reduced(stack, Given(fold, True, in_place, NULL))


cdef object _index_fill(PyObject** stack, bint in_place):
    """index_fill.int_Scalar(self, dim, index, value)."""
    return _filled(stack, in_place, stack[3])


cdef object _index_fill_tensor(PyObject** stack, bint in_place):
    """index_fill.int_Tensor(self, dim, index, value), of a value without dimensions."""
    cdef TensorImpl value = <TensorImpl>stack[3]
    if (value.rank != 0 or value.device_type != CPU or is_lazy(value)
            or value.storage.data == NULL):
        return None
    number = read_element(const_data_pointer(value), value.dtype_code)
    return _filled(stack, in_place, <PyObject*>number)


cdef object _filled(PyObject** stack, bint in_place, PyObject* value):
    """`self`, or a copy of it, with a number in the slices that are named."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef char number[16]
    # A copy has the order of `self`.
    if not in_place and not is_row_major(self.rank, self.sizes, self.strides):
        return None
    if not _reads_number(number, self.dtype_code, value):
        return None
    return _written(stack, None, Given(REPLACE, True, in_place, &number[0]))


cdef int _fold_of(PyObject** stack):
    """The fold that is named, or MEAN; -1 for another word."""
    reduce = <object>stack[4]
    if type(reduce) is not str:
        return -1
    return MEAN if reduce == "mean" else fold_named(reduce)


cdef object _reduced(PyObject** stack, Given given):
    """`self`, or a copy, with elements of the source folded into what is there, or into nothing."""
    cdef PyObject* passed[3]
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef TensorImpl source = <TensorImpl>stack[3]
    cdef int fold = given.fold, code = self.dtype_code
    cdef Tensor made
    include_self = <object>stack[5]
    if include_self is True and fold != MEAN:
        return _written(stack, source, given)
    if (type(include_self) is not bool or self.device_type != CPU or not self.contiguous
            or is_lazy(self) or self.storage.data == NULL or code not in (FLOAT32, FLOAT64)):
        return None
    self = make_alias(self)
    if given.in_place and not _is_apart(self, <TensorImpl>stack[2], source):
        return None
    passed[0], passed[1], passed[2] = <PyObject*>self, stack[1], stack[2]
    made = _begun(passed, &given, include_self is False)
    if made is None:
        return None
    # The copy is nobody else's.
    passed[0] = <PyObject*>made
    if _written(passed, source, Given(SUM if fold == MEAN else fold, given.by_slices, True,
                                      NULL)) is None:
        return None
    if fold == MEAN and not _divided(made, passed, &given, include_self is False):
        return None
    if not given.in_place:
        return made
    copy_bytes(data_pointer(self), const_data_pointer(made), made.count * item_size(code))
    count_write(self)
    return <object>stack[0]


cdef Tensor _begun(PyObject** stack, const Given* given, bint leaves_out):
    """What is folded into: a copy of `self`, with the number that changes no other where `leaves_out`
    says that elements there take no part."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef char number[16]
    cdef double start = 0
    cdef Tensor made
    if not leaves_out:
        made = make_contiguous(self.dtype_code, self.rank, self.sizes, CPU, self.device_index)
        copy_bytes(data_pointer(made), const_data_pointer(self),
                   made.count * item_size(made.dtype_code))
        return made
    if given.fold == PRODUCT:
        start = 1
    elif given.fold in (LEAST, GREATEST):
        start = INFINITY if given.fold == LEAST else -INFINITY
    write_element(number, self.dtype_code, start)
    return _written(stack, None, Given(REPLACE, given.by_slices, False, &number[0]))


cdef bint _divided(Tensor sums, PyObject** stack, const Given* given, bint leaves_out) except -1:
    """Divides sums by the numbers of elements in them, which are of the same type; not by none. Whether
    it could."""
    cdef PyObject* passed[3]
    cdef char number[16]
    cdef Tensor counts = make_contiguous(sums.dtype_code, sums.rank, sums.sizes, CPU,
                                         sums.device_index)
    if sums.dtype_code == FLOAT32:
        _fill(<float*>data_pointer(counts), counts.count, 0 if leaves_out else 1)
    else:
        _fill(<double*>data_pointer(counts), counts.count, 0 if leaves_out else 1)
    write_element(number, sums.dtype_code, 1)
    passed[0], passed[1], passed[2] = <PyObject*>counts, stack[1], stack[2]
    if _written(passed, None, Given(SUM, given.by_slices, True, &number[0])) is None:
        return False
    if sums.dtype_code == FLOAT32:
        _divide(<float*>data_pointer(sums), <const float*>const_data_pointer(counts), sums.count)
    else:
        _divide(<double*>data_pointer(sums), <const double*>const_data_pointer(counts), sums.count)
    return True


cdef void _fill(real* numbers, int64_t count, real number) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        numbers[place] = number


cdef void _divide(real* sums, const real* counts, int64_t count) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        sums[place] = sums[place] / (counts[place] if counts[place] != 0 else 1)


cdef bint _reads_number(char* place, int code, PyObject* value) except -1:
    """Whether a number is one of the type, or surely rounded to one; which is written then."""
    cdef int64_t whole = 0
    if PyFloat_CheckExact(value):
        if code != FLOAT32 and code != FLOAT64:
            return False
    elif not reads_integer(value, &whole) or not -MOST_EXACT <= whole <= MOST_EXACT or (
            code not in (FLOAT32, FLOAT64, INT32, INT64)):
        return False
    write_element(place, code, <object>value)
    return True


cdef object _written(PyObject** stack, TensorImpl source, Given given):
    """`self`, or a copy of it, in which elements are placed, or folded; of no `source` the number."""
    cdef TensorImpl self = <TensorImpl>stack[0]
    cdef TensorImpl index = <TensorImpl>stack[2]
    cdef Tensor out
    cdef Walk walk
    cdef Way way
    cdef int64_t wild = 0
    cdef int dim
    if (self.device_type != CPU or index.device_type != CPU or is_lazy(self) or self.rank == 0
            or index.dtype_code != INT64 or index.count == 0 or self.count == 0
            or not (given.in_place or self.contiguous) or not reads_dim(stack[1], self, &dim)):
        return None
    if source is not None and (source.device_type != CPU or is_lazy(source) or source.count == 0
                               or source.dtype_code != self.dtype_code):
        return None
    # Other threads may run while elements are moved, and change what is read then.
    self, index = make_alias(self), make_alias(index)
    source = None if source is None else make_alias(source)
    if given.by_slices and not _fit_slices(self, dim, index, source):
        return None
    if not given.by_slices and not _fit_elements(self, dim, index, source, given.in_place):
        return None
    if given.in_place and not _is_apart(self, index, source):
        return None
    way.code = way.width = item_size(self.dtype_code)
    way.step = self.strides[dim] * way.width
    way.choices = self.sizes[dim]
    way.wild = &wild
    if given.fold >= 0 and not set_fold(&way, self.dtype_code, given.fold):
        return None
    # What is out of range is said in words by the general way, before anything is written; to a copy
    # of many elements it is written while that is found.
    if ((given.in_place or given.by_slices)
            and range_of_index(index, 0, way.choices) != WITHIN):
        return None
    if given.in_place:
        out = <Tensor>stack[0]
        _line_up(&walk, self, data_pointer(self), dim, index, source, &given)
    else:
        out = make_contiguous(self.dtype_code, self.rank, self.sizes, CPU, self.device_index)
        _line_up(&walk, out, data_pointer(out), dim, index, source, &given)
    walk.kernel = fold_elements if given.fold >= 0 else place_elements
    walk.reduced = <int64_t*>&way
    coalesce(&walk)
    if given.in_place:
        run_in_parts(&walk, False, NULL, 0)
        count_write(self)
        return out
    _run_on_copy(&walk, <const char*>const_data_pointer(self), self.count * way.width,
                 walk.total * way.width)
    return None if wild else out


cdef bint _fit_elements(TensorImpl self, int dim, TensorImpl index, TensorImpl source,
                        bint in_place) noexcept:
    """Whether there is an index for each element; for all of them beside the dimension, in a copy."""
    cdef int place
    if index.rank != self.rank or (source is not None and source.rank != self.rank):
        return False
    for place in range(self.rank):
        if source is not None and index.sizes[place] > source.sizes[place]:
            return False
        if place != dim and (index.sizes[place] > self.sizes[place] or (
                not in_place and index.sizes[place] != self.sizes[place])):
            return False
    return True


cdef bint _fit_slices(TensorImpl self, int dim, TensorImpl index, TensorImpl source) noexcept:
    """Whether there is an index for each slice of what is written."""
    cdef int place
    if index.rank > 1:
        return False
    if source is None:
        return True
    if source.rank != self.rank or source.sizes[dim] != index.count:
        return False
    for place in range(self.rank):
        if place != dim and source.sizes[place] != self.sizes[place]:
            return False
    return True


cdef bint _is_apart(TensorImpl self, TensorImpl index, TensorImpl source) noexcept:
    """Whether what is written is neither read nor one element at two places."""
    cdef int place
    for place in range(self.rank):
        if self.strides[place] == 0 and self.sizes[place] > 1:
            return False
    return not may_overlap(self, index) and (source is None or not may_overlap(self, source))


cdef void _line_up(Walk* walk, TensorImpl base, char* data, int dim, TensorImpl index,
                   TensorImpl source, const Given* given) noexcept:
    """The walk over all that is written, at `data`, which has the sizes and strides of `base`."""
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t width = item_size(base.dtype_code)
    cdef int place, rank = base.rank
    for place in range(rank):
        sizes[place] = base.sizes[place] if given.by_slices else index.sizes[place]
    if given.by_slices:
        sizes[dim] = index.count
    begin_walk(walk, rank, sizes)
    walk.data[BASE] = data
    walk.data[INDEX] = <char*>const_data_pointer(index)
    for place in range(rank):
        walk.strides[rank - 1 - place][BASE] = 0 if place == dim else base.strides[place] * width
        walk.strides[rank - 1 - place][INDEX] = 0
    walk.operands = INDEX
    if given.by_slices:
        if index.rank:
            walk.strides[rank - 1 - dim][INDEX] = index.strides[0] * <int64_t>sizeof(int64_t)
        walk.operands = OTHER
    else:
        add_input(walk, index, rank, sizes)
    if source is None:
        add_scalar(walk, given.number)
    else:
        add_input(walk, source, rank, sizes)


cdef int _run_on_copy(Walk* walk, const char* origin, int64_t bytes, int64_t written) except -1:
    """Run a walk over a copy of `bytes` at `origin`; by the part where about as many are written."""
    if bytes <= MOST_COPIED * written:
        return run_in_parts(walk, False, origin, bytes)
    copy_bytes(walk.data[BASE], origin, bytes)
    return run_in_parts(walk, False, NULL, 0)


cdef dict _FUNCTIONS = {
    "scatter": <size_t>_scatter,
    "scatter_value": <size_t>_scatter_value,
    "scatter_add": <size_t>_scatter_add,
    "scatter_reduce": <size_t>_scatter_reduce,
    "index_add": <size_t>_index_add,
    "index_copy": <size_t>_index_copy,
    "index_reduce": <size_t>_index_reduce,
    "index_fill": <size_t>_index_fill,
    "index_fill_tensor": <size_t>_index_fill_tensor,
}
NAMES = tuple(_FUNCTIONS)


cdef class ScatterKernel(FastPath):
    """Runs the compiled part `native`, on a copy of the first tensor or `in_place`."""

    cdef Ordinary function
    cdef bint in_place

    def __init__(self, str native not None, bint in_place, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.function = <Ordinary><size_t>_FUNCTIONS[native]
        self.in_place = in_place

    cdef object ordinary(self, PyObject** stack):
        return self.function(stack, self.in_place)
