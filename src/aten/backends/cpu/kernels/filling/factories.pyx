# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Factories: fresh tensors, empty or filled with one value.

They touch memory once and depend on no operand's values, so one compiled kernel serves every
device that computes on the host. The table names each by `native:`.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from aten._core.base.device cimport (CONTIGUOUS_FORMAT, CPU, META, PRESERVE_FORMAT, PRIVATEUSE1,
                                     device, device_from_codes, layout, memory_format)
from aten._core.base.dtypes cimport (BOOL, INT64, category_of, default_dtype_code, dtype,
                                     dtype_from_code, item_size)
from aten._core.base.errors import NoDeviceError
from aten._core.base.sizes cimport MAXIMUM_DIMS, read_sizes
from aten._core.base.strides cimport dense_strides, format_strides
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.memory.storage cimport is_opaque
from aten._core.tensor.python_numbers cimport write_element
from aten._core.tensor.making cimport make_contiguous, make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten._core.threads.parallel cimport parallel_for

cdef extern from "fills.h" nogil:
    void aten_fill(char*, int64_t, const uint64_t*, int) noexcept

cdef enum:
    # Elements in one chunk of work for the threads, and from where on to share work at all.
    GRAIN = 1 << 17
    RELEASE_THRESHOLD = 1 << 15

cdef enum:
    FLOATING = 2    # the categories
    COMPLEX = 3

ctypedef Tensor (*FactoryFunction)(PyObject** stack)


cdef class FactoryKernel(Kernel):
    """Runs a compiled factory. Raises LookupError where no factory has the name."""

    def __init__(self, OpOverload op not None, str native not None):
        if native not in _FUNCTIONS:
            raise LookupError(f"{op.name}: no compiled factory is called {native!r}")
        self.native = native
        self.function = <void*><size_t>_FUNCTIONS[native]
        self.place = f"aten/backends/cpu/kernels/filling/factories.pyx:{native}"

    def describe(self):
        return f"compiled factory {self.native}"

    cdef object call(self, OpOverload op, uint64_t keys, PyObject** stack):
        return (<FactoryFunction>self.function)(stack)


cdef struct Options:
    # What `dtype, layout, device, pin_memory` ask for.
    int code
    int device_type
    int device_index


cdef int _read_options(PyObject** given, int code, TensorImpl like, Options* options) except -1:
    """Raises RuntimeError for layouts, devices and memory there is no support for.

    What is not given is `like`'s, or else `code` (-1: the default dtype) and the CPU.
    """
    cdef device place
    if given[1] != <PyObject*>None and (<layout?><object>given[1]).code != 0:
        raise RuntimeError(f"only strided tensors can be made, not {<object>given[1]}")
    if given[3] != <PyObject*>None and <object>given[3]:
        raise RuntimeError("pin_memory=True needs an accelerator, and none is available")
    if given[0] != <PyObject*>None:
        options.code = (<dtype?><object>given[0]).code
    elif like is not None:
        options.code = like.dtype_code
    else:
        options.code = code if code >= 0 else default_dtype_code()
    if given[2] != <PyObject*>None:
        place = <device?><object>given[2]
        options.device_type = place.type_code
        options.device_index = place.index_code
    elif like is not None:
        options.device_type = like.device_type
        options.device_index = like.device_index
    else:
        options.device_type = CPU
        options.device_index = -1
    return _check_device(options.device_type, options.device_index)


cdef int _check_device(int device_type, int device_index) except -1:
    if device_type != CPU and device_type != META and device_type < PRIVATEUSE1:
        raise NoDeviceError(device_from_codes(device_type, device_index))
    return 0


cdef Tensor _made(Options* options, object sizes):
    cdef int64_t values[MAXIMUM_DIMS]
    cdef int rank = _read_shape(sizes, values)
    return make_contiguous(options.code, rank, values, options.device_type, options.device_index)


cdef int _read_shape(object sizes, int64_t* values) except -1:
    cdef int rank = <int>read_sizes(sizes, values, MAXIMUM_DIMS)
    cdef int dim
    for dim in range(rank):
        if values[dim] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {values[dim]}: "
                               f"{list(sizes)}")
    return rank


cdef Tensor _made_strided(Options* options, object sizes, object strides):
    cdef int64_t size_values[MAXIMUM_DIMS]
    cdef int64_t stride_values[MAXIMUM_DIMS]
    cdef int rank = _read_shape(sizes, size_values)
    cdef int dim
    if read_sizes(strides, stride_values, MAXIMUM_DIMS) != rank:
        raise RuntimeError(f"dimensionality of sizes ({rank}) must match dimensionality of strides "
                           f"({len(strides)})")
    for dim in range(rank):
        if stride_values[dim] < 0:
            raise RuntimeError(f"negative strides are not supported: {list(strides)}")
    return make_strided(options.code, rank, size_values, stride_values, options.device_type,
                        options.device_index)


cdef Tensor empty_as(TensorImpl source, int code, int device_type, int device_index,
                     int format_code):
    """An uninitialized tensor with the sizes of `source`, and its order where that is asked."""
    cdef int64_t strides[MAXIMUM_DIMS]
    if format_code == CONTIGUOUS_FORMAT:
        return make_contiguous(code, source.rank, source.sizes, device_type, device_index)
    if format_code == PRESERVE_FORMAT and source.count == 0:
        # As torch: what addresses nothing is kept.
        memcpy(strides, source.strides, source.rank * sizeof(int64_t))
    elif format_code == PRESERVE_FORMAT:
        dense_strides(source.rank, source.sizes, source.strides, strides)
    else:
        format_strides(format_code, source.rank, source.sizes, strides)
    return make_strided(code, source.rank, source.sizes, strides, device_type, device_index)


cdef inline int _format_of(PyObject* given, int otherwise) except -1:
    return otherwise if given == <PyObject*>None else (<memory_format?><object>given).code


cdef Tensor _empty(PyObject** stack):
    cdef Options options
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int rank, format_code = _format_of(stack[5], CONTIGUOUS_FORMAT)
    _read_options(stack + 1, -1, None, &options)
    if format_code == PRESERVE_FORMAT:
        raise RuntimeError("empty: memory_format must not be preserve_format: there is no tensor "
                           "to keep the order of")
    if format_code == CONTIGUOUS_FORMAT:
        return _made(&options, <object>stack[0])
    rank = _read_shape(<object>stack[0], sizes)
    format_strides(format_code, rank, sizes, strides)
    return make_strided(options.code, rank, sizes, strides, options.device_type,
                        options.device_index)


cdef Tensor _empty_like(PyObject** stack):
    cdef Options options
    cdef TensorImpl source = <TensorImpl>stack[0]
    _read_options(stack + 1, -1, source, &options)
    return empty_as(source, options.code, options.device_type, options.device_index,
                    _format_of(stack[5], PRESERVE_FORMAT))


cdef Tensor _empty_strided(PyObject** stack):
    cdef Options options
    _read_options(stack + 2, -1, None, &options)
    return _made_strided(&options, <object>stack[0], <object>stack[1])


cdef Tensor _new_empty(PyObject** stack):
    cdef Options options
    _read_options(stack + 2, -1, <TensorImpl>stack[0], &options)
    return _made(&options, <object>stack[1])


cdef Tensor _new_empty_strided(PyObject** stack):
    cdef Options options
    _read_options(stack + 3, -1, <TensorImpl>stack[0], &options)
    return _made_strided(&options, <object>stack[1], <object>stack[2])


cdef Tensor _zeros(PyObject** stack):
    cdef Options options
    _read_options(stack + 1, -1, None, &options)
    return _zeroed(_made(&options, <object>stack[0]))


cdef Tensor _zeros_like(PyObject** stack):
    return _zeroed(_empty_like(stack))


cdef Tensor _new_zeros(PyObject** stack):
    return _zeroed(_new_empty(stack))


cdef Tensor _ones(PyObject** stack):
    cdef Options options
    _read_options(stack + 1, -1, None, &options)
    return _filled(_made(&options, <object>stack[0]), 1)


cdef Tensor _ones_like(PyObject** stack):
    return _filled(_empty_like(stack), 1)


cdef Tensor _new_ones(PyObject** stack):
    return _filled(_new_empty(stack), 1)


cdef Tensor _full(PyObject** stack):
    """Without a dtype, bool, int64, or the default floating or complex one, as the number is."""
    cdef Options options
    cdef object number = _number(stack[1])
    _read_options(stack + 2, _code_of(number), None, &options)
    return _filled(_made(&options, <object>stack[0]), number)


cdef Tensor _full_like(PyObject** stack):
    cdef Options options
    cdef TensorImpl source = <TensorImpl>stack[0]
    cdef object number = _number(stack[1])
    _read_options(stack + 2, -1, source, &options)
    return _filled(empty_as(source, options.code, options.device_type, options.device_index,
                            _format_of(stack[6], PRESERVE_FORMAT)), number)


cdef Tensor _new_full(PyObject** stack):
    cdef Options options
    cdef object number = _number(stack[2])
    _read_options(stack + 3, -1, <TensorImpl>stack[0], &options)
    return _filled(_made(&options, <object>stack[1]), number)


cdef Tensor _scalar_tensor(PyObject** stack):
    cdef Options options
    cdef object number = _number(stack[0])
    _read_options(stack + 1, -1, None, &options)
    return _filled(_made(&options, ()), number)


cdef Tensor _eye(PyObject** stack):
    return _diagonal_ones(<object>stack[0], <object>stack[0], stack + 1)


cdef Tensor _eye_of_two(PyObject** stack):
    return _diagonal_ones(<object>stack[0], <object>stack[1], stack + 2)


cdef Tensor _diagonal_ones(int64_t rows, int64_t columns, PyObject** given):
    cdef Options options
    cdef Tensor made
    cdef int64_t position
    cdef int width
    if rows < 0 or columns < 0:
        raise RuntimeError(f"eye: n and m must be greater or equal to 0, got {rows} and {columns}")
    _read_options(given, -1, None, &options)
    made = _zeroed(_made(&options, (rows, columns)))
    width = item_size(made.dtype_code)
    if made.storage.data == NULL:
        if is_opaque(made.device_type) and made.count != 0:
            _fill_elsewhere(made.as_strided((min(rows, columns),), (columns + 1,)), 1)
        return made
    write_element(made.storage.data, made.dtype_code, 1)
    for position in range(1, min(rows, columns)):
        memcpy(made.storage.data + position * (columns + 1) * width, made.storage.data, width)
    return made


cdef object _number(PyObject* given):
    value = <object>given
    return value.item() if isinstance(value, TensorImpl) else value


cdef int _code_of(object number) except -1:
    if isinstance(number, bool):
        return BOOL
    if isinstance(number, int):
        return INT64
    if isinstance(number, complex):
        return (<dtype>dtype_from_code(default_dtype_code()).to_complex()).code
    return default_dtype_code()


# Filling. A fresh tensor's elements fill its storage, whatever their order.

cdef struct Filling:
    char* data
    int width
    uint64_t pattern[2]


cdef object _fill_operator = None


def set_fill_operator(operator):
    """Let `operator(tensor, number)` fill tensors whose memory is not the host's."""
    global _fill_operator
    _fill_operator = operator


cdef Tensor _fill_elsewhere(Tensor made, object number):
    """A tensor without memory of the host: metadata alone, or memory that its device fills."""
    if is_opaque(made.device_type) and made.count != 0:
        _fill_operator(made, number)
    return made


cdef Tensor _zeroed(Tensor made):
    cdef Filling filling
    cdef int64_t count = made.count
    if made.storage.data == NULL:
        return _fill_elsewhere(made, 0)
    if count * item_size(made.dtype_code) < RELEASE_THRESHOLD:
        memset(made.storage.data, 0, made.storage.bytes)
        return made
    filling.data = made.storage.data
    filling.width = item_size(made.dtype_code)
    with nogil:
        parallel_for(count, GRAIN, _zero_chunk, &filling)
    return made


cdef void _zero_chunk(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Filling* filling = <Filling*>context
    memset(filling.data + begin * filling.width, 0, (end - begin) * filling.width)


cdef Tensor _filled(Tensor made, object number):
    cdef Filling filling
    cdef int64_t count = made.count
    write_element(<char*>filling.pattern, made.dtype_code, _in_range(number, made.dtype_code))
    if made.storage.data == NULL:
        return _fill_elsewhere(made, number)
    filling.data = made.storage.data
    filling.width = item_size(made.dtype_code)
    if count < RELEASE_THRESHOLD:
        _fill_chunk(&filling, 0, count)
        return made
    with nogil:
        parallel_for(count, GRAIN, _fill_chunk, &filling)
    return made


cdef object _in_range(object number, int code):
    """Raises RuntimeError for a complex number where the type has no place for it."""
    if isinstance(number, complex) and category_of(code) != COMPLEX:
        if number.imag != 0:
            raise RuntimeError(f"value cannot be converted to type {dtype_from_code(code).name} "
                               f"without overflow: {number}")
        return number.real
    return number


cdef void _fill_chunk(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Filling* filling = <Filling*>context
    aten_fill(filling.data + begin * filling.width, (end - begin) * filling.width, filling.pattern,
              filling.width)


def empty_like(Tensor source not None, dtype element=None, device place=None,
               memory_format format=None):
    """An uninitialized tensor with the sizes of `source`; its order, without another `format`."""
    cdef int code = source.dtype_code if element is None else element.code
    cdef int format_code = PRESERVE_FORMAT if format is None else format.code
    if place is None:
        return empty_as(source, code, source.device_type, source.device_index, format_code)
    _check_device(place.type_code, place.index_code)
    return empty_as(source, code, place.type_code, place.index_code, format_code)


cdef dict _FUNCTIONS = {
    "empty": <size_t>_empty,
    "empty_like": <size_t>_empty_like,
    "empty_strided": <size_t>_empty_strided,
    "new_empty": <size_t>_new_empty,
    "new_empty_strided": <size_t>_new_empty_strided,
    "zeros": <size_t>_zeros,
    "zeros_like": <size_t>_zeros_like,
    "new_zeros": <size_t>_new_zeros,
    "ones": <size_t>_ones,
    "ones_like": <size_t>_ones_like,
    "new_ones": <size_t>_new_ones,
    "full": <size_t>_full,
    "full_like": <size_t>_full_like,
    "new_full": <size_t>_new_full,
    "scalar_tensor": <size_t>_scalar_tensor,
    "eye": <size_t>_eye,
    "eye_of_two": <size_t>_eye_of_two,
}
# What the table calls them.
NAMES = frozenset(_FUNCTIONS)
