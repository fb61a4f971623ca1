# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Fourier transforms of ordinary tensors at once, over any of their dimensions.

Results lie in memory as torch's do: transformed dimensions innermost. A function here returns None
for arguments that the operator's Python function refuses or answers in another way.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.math cimport pow
from libc.stdint cimport int64_t

from aten._core.base.device cimport CPU, PRESERVE_FORMAT
from aten._core.base.dtypes cimport COMPLEX64, COMPLEX128, FLOAT32, FLOAT64
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport reads_dim, reads_flag, reads_integer
from aten._core.tensor.making cimport make_alias, make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, is_lazy
from aten.backends.cpu.kernels.filling.factories cimport empty_as
from aten.backends.cpu.kernels.fourier.fourier cimport transform_lines

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyTuple_CheckExact(PyObject*) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept

cdef enum Form:
    # Complex numbers to complex ones; real ones to the whole of their spectrum, or to half of it;
    # half a spectrum to real numbers.
    BETWEEN
    WHOLE
    HALF
    BACK

cdef enum:
    # How results are divided: not at all, by the root of a dimension's size, by the size.
    BY_NOTHING = 0
    BY_ROOT = 1
    BY_SIZE = 2

cdef struct Request:
    Form form
    int count                       # of `dims`
    int dims[MAXIMUM_DIMS]
    int64_t last                    # numbers along the last of them, of results of BACK
    int normalization
    bint inverse

# Reads the arguments; False where they are not ordinary ones.
ctypedef bint (*Reader)(TensorImpl base, PyObject** stack, Request* request) except -1


cdef class SpectrumKernel(FastPath):
    """Transforms ordinary tensors in memory. Raises KeyError where there is none of that name."""

    cdef Reader read
    cdef Request asked              # what the operator's name says

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        reader, self.asked.form, self.asked.inverse = _OPERATORS[native]
        self.read = <Reader><size_t>reader

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl base
        cdef Request request
        if Py_TYPE(stack[0]) != <PyTypeObject*>Tensor:
            return None
        # Several launches, and what is between them, read what the call began with.
        base = make_alias(<TensorImpl>stack[0])
        if base.device_type != CPU or base.count == 0 or base.rank == 0 or is_lazy(base):
            return None
        request.form, request.inverse = self.asked.form, self.asked.inverse
        if not self.read(base, stack, &request):
            return None
        return _transformed(base, &request)


cdef inline bint _is_complex(TensorImpl base) noexcept:
    return base.dtype_code == COMPLEX64 or base.dtype_code == COMPLEX128


cdef inline bint _is_real(TensorImpl base) noexcept:
    return base.dtype_code == FLOAT32 or base.dtype_code == FLOAT64


cdef bint _reads_dims(PyObject* given, TensorImpl base, Request* request) except -1:
    """Whether dimensions are ordinary ones, each given once, and at least one."""
    cdef Py_ssize_t place, count, other
    if not PyTuple_CheckExact(given):
        return False
    count = PyTuple_GET_SIZE(given)
    if count < 1 or count > base.rank:
        return False
    for place in range(count):
        if not reads_dim(PyTuple_GET_ITEM(given, place), base, &request.dims[place]):
            return False
        for other in range(place):
            if request.dims[other] == request.dims[place]:
                return False
    request.count = <int>count
    return True


cdef bint _reads_mode(PyObject* given, Request* request):
    """Whether a mode is one of those there are."""
    if given == <PyObject*>None:
        request.normalization = BY_SIZE if request.inverse else BY_NOTHING
        return True
    norm = <object>given
    if norm == "ortho":
        request.normalization = BY_ROOT
    elif norm == "backward":
        request.normalization = BY_SIZE if request.inverse else BY_NOTHING
    elif norm == "forward":
        request.normalization = BY_NOTHING if request.inverse else BY_SIZE
    else:
        return False
    return True


cdef bint _reads_computed(TensorImpl base, PyObject** stack, Request* request) except -1:
    """`dim`, the normalization, and what the operator has besides."""
    cdef int64_t normalization = 0
    cdef bint flag = False
    if not _reads_dims(stack[1], base, request) or not reads_integer(stack[2], &normalization):
        return False
    if normalization < BY_NOTHING or normalization > BY_SIZE:
        return False
    request.normalization = <int>normalization
    if request.form == BACK:
        return reads_integer(stack[3], &request.last)
    if not reads_flag(stack[3], &flag):
        return False
    if request.form == BETWEEN:
        request.inverse = not flag
    else:
        request.form = HALF if flag else WHOLE
    return True


cdef bint _reads_one(TensorImpl base, PyObject** stack, Request* request) except -1:
    """`n`, `dim` and `norm`; `n` is what there is already."""
    cdef int64_t n = 0, held
    request.count = 1
    if not reads_dim(stack[2], base, request.dims) or not _reads_mode(stack[3], request):
        return False
    held = base.sizes[request.dims[0]]
    if request.form == BETWEEN and _is_real(base) and not request.inverse:
        request.form = WHOLE
    request.last = 2 * (held - 1)
    if stack[1] != <PyObject*>None:
        if not reads_integer(stack[1], &n) or n < 1:
            return False
        request.last = n
    elif request.form != BACK:
        return True
    return (request.last // 2 + 1 if request.form == BACK else request.last) == held


cdef bint _reads_many(TensorImpl base, PyObject** stack, Request* request) except -1:
    """No sizes, `dim` and `norm`."""
    cdef int place
    if stack[1] != <PyObject*>None or not _reads_mode(stack[3], request):
        return False
    if stack[2] == <PyObject*>None:
        request.count = base.rank
        for place in range(base.rank):
            request.dims[place] = place
    elif not _reads_dims(stack[2], base, request):
        return False
    request.last = 2 * (base.sizes[request.dims[request.count - 1]] - 1)
    return True


cdef dict _OPERATORS = {
    "_fft_c2c": (<size_t>_reads_computed, BETWEEN, False),
    "_fft_r2c": (<size_t>_reads_computed, HALF, False),
    "_fft_c2r": (<size_t>_reads_computed, BACK, True),
    "fft_fft": (<size_t>_reads_one, BETWEEN, False),
    "fft_ifft": (<size_t>_reads_one, BETWEEN, True),
    "fft_rfft": (<size_t>_reads_one, HALF, False),
    "fft_irfft": (<size_t>_reads_one, BACK, True),
    "fft_fftn": (<size_t>_reads_many, BETWEEN, False),
    "fft_ifftn": (<size_t>_reads_many, BETWEEN, True),
    "fft_rfftn": (<size_t>_reads_many, HALF, False),
    "fft_irfftn": (<size_t>_reads_many, BACK, True),
}
NAMES = tuple(_OPERATORS)


cdef void _sort_by_stride(TensorImpl base, int* dims, int count) noexcept:
    """Dimensions by how far apart their elements lie, the farthest first; equals stay in order."""
    cdef int place, other, dim
    for place in range(1, count):
        dim = dims[place]
        other = place
        while other > 0 and base.strides[dims[other - 1]] < base.strides[dim]:
            dims[other] = dims[other - 1]
            other -= 1
        dims[other] = dim


cdef Tensor _empty(TensorImpl base, const Request* request, int code, const int64_t* sizes):
    """Uninitialized: what is transformed lies last in memory, the others as in `base`."""
    cdef int order[MAXIMUM_DIMS]
    cdef bint inner[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t step = 1
    cdef int place, count = 0, outer, sorted_dims = request.count
    for place in range(base.rank):
        inner[place] = False
    for place in range(request.count):
        inner[request.dims[place]] = True
    for place in range(base.rank):
        if not inner[place]:
            order[count] = place
            count += 1
    _sort_by_stride(base, order, count)
    outer = count
    for place in range(request.count):
        order[count] = request.dims[place]
        count += 1
    # The dimension that has another size on the other side stays the last.
    if request.form != BETWEEN:
        sorted_dims -= 1
    _sort_by_stride(base, order + outer, sorted_dims)
    for place in range(base.rank - 1, -1, -1):
        strides[order[place]] = step
        step *= max(sizes[order[place]], 1)
    return make_strided(code, base.rank, sizes, strides, CPU, base.device_index)


cdef inline double _scale(int64_t size, int normalization) noexcept:
    if normalization == BY_NOTHING:
        return 1.0
    return pow(<double>size, -0.5 if normalization == BY_ROOT else -1.0)


cdef object _transformed(TensorImpl base, Request* request):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int dim, place, last = request.dims[request.count - 1], mode = request.normalization
    cdef Tensor given = <Tensor>base, made
    if not (_is_complex(base) if request.form in (BETWEEN, BACK) else _is_real(base)):
        return None
    for dim in range(base.rank):
        sizes[dim] = base.sizes[dim]
    if request.form == HALF:
        sizes[last] = sizes[last] // 2 + 1
    if request.form == BACK:
        if request.last < 1 or request.last // 2 + 1 != sizes[last]:
            return None
        sizes[last] = request.last
        return _transform_back(given, request, sizes)
    made = _empty(base, request, COMPLEX64 if base.dtype_code in (FLOAT32, COMPLEX64)
                  else COMPLEX128, sizes)
    if request.form != BETWEEN:
        transform_lines(given, made, last, base.sizes[last], False, _scale(base.sizes[last], mode))
        given = made
    for place in range(request.count - (request.form != BETWEEN)):
        dim = request.dims[place]
        transform_lines(given, made, dim, sizes[dim], request.inverse, _scale(sizes[dim], mode))
        given = made
    return made


cdef Tensor _transform_back(Tensor given, const Request* request, const int64_t* sizes):
    """The other dimensions first, then the last to real numbers."""
    cdef int place, dim, last = request.dims[request.count - 1], mode = request.normalization
    cdef Tensor base = given, spectrum
    cdef Tensor made = _empty(base, request, FLOAT32 if base.dtype_code == COMPLEX64 else FLOAT64,
                              sizes)
    if request.count > 1:
        spectrum = empty_as(base, base.dtype_code, CPU, base.device_index, PRESERVE_FORMAT)
        for place in range(request.count - 1):
            dim = request.dims[place]
            transform_lines(given, spectrum, dim, sizes[dim], True, _scale(sizes[dim], mode))
            given = spectrum
    transform_lines(given, made, last, sizes[last], True, _scale(sizes[last], mode))
    return made
