# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Random numbers for the ordinary tensor: fresh ones, and row-major ones to be filled."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU, device
from aten._core.base.dtypes cimport FLOAT32, FLOAT64, INT64, default_dtype_code, dtype
from aten._core.base.sizes cimport MAXIMUM_DIMS, read_sizes
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.random.generator cimport Generator
from aten._core.random.generator import default_generator
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, count_write, is_lazy

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    bint PyLong_CheckExact(PyObject*) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*) except? -1

cdef enum:
    # Integers of so many and more are drawn from 64 bits each: ops/random/random.py.
    WIDE_RANGE = 1 << 28

cdef int64_t MOST = <int64_t>1 << 62

ctypedef object (*Drawing)(PyObject** stack)

cdef Generator _default = default_generator


cdef class DrawKernel(FastPath):
    """Runs a compiled function for float32 and float64 tensors on the CPU."""

    cdef Drawing function

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.function = <Drawing><size_t>_FUNCTIONS[native]

    cdef object ordinary(self, PyObject** stack):
        return self.function(stack)


cdef inline Generator _source(PyObject* given):
    return _default if given == <PyObject*>None else <Generator?><object>given


cdef Tensor _fresh(PyObject* size, PyObject** options, bint whole=False):
    """An uninitialized tensor of floats, or of int64; None for what is not ordinary."""
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int rank, dim, code = INT64 if whole else default_dtype_code()
    if options[1] != <PyObject*>None:
        return None
    if options[3] != <PyObject*>None and options[3] != <PyObject*>False:
        return None
    if options[2] != <PyObject*>None and (<device?><object>options[2]).type_code != CPU:
        return None
    if options[0] != <PyObject*>None:
        code = (<dtype?><object>options[0]).code
    if (code != INT64) if whole else (code != FLOAT32 and code != FLOAT64):
        return None
    rank = <int>read_sizes(<object>size, sizes, MAXIMUM_DIMS)
    for dim in range(rank):
        if sizes[dim] < 0:
            return None
    return make_contiguous(code, rank, sizes, CPU, -1)


cdef object _normal(Tensor out, Generator source, double mean, double deviation):
    if out is None:
        return None
    if out.count:
        source.draw_normal(out, mean, deviation, True, True)
        count_write(out)
    return out


cdef object _uniform(Tensor out, Generator source):
    if out is None:
        return None
    if out.count:
        source.draw_uniform(out, 0.0, 1.0)
        count_write(out)
    return out


cdef object _integers(PyObject* low, PyObject* high, PyObject* size, PyObject** options,
                      Generator source):
    """From [low, high), or from [0, high) where `low` is NULL."""
    cdef int64_t first = 0, end = 0
    cdef Tensor out
    if low != NULL and not _small(low, &first) or not _small(high, &end):
        return None
    if not first < end or end - first >= WIDE_RANGE:
        return None
    out = _fresh(size, options, True)
    if out is None:
        return None
    if out.count:
        source.draw_integers(out, <uint64_t>(end - first), first, False)
        count_write(out)
    return out


cdef bint _small(PyObject* number, int64_t* value):
    """Whether it is an int of at most 62 bits, which `value` then is."""
    cdef int beyond = 0
    if not PyLong_CheckExact(number):
        return False
    value[0] = PyLong_AsLongLongAndOverflow(number, &beyond)
    return not beyond and -MOST < value[0] < MOST


cdef object _randint(PyObject** stack):
    return _integers(NULL, stack[0], stack[1], stack + 2, _default)


cdef object _randint_from(PyObject** stack):
    return _integers(NULL, stack[0], stack[1], stack + 3, _source(stack[2]))


cdef object _randint_low(PyObject** stack):
    return _integers(stack[0], stack[1], stack[2], stack + 3, _default)


cdef object _randint_low_from(PyObject** stack):
    return _integers(stack[0], stack[1], stack[2], stack + 4, _source(stack[3]))


cdef object _randn(PyObject** stack):
    return _normal(_fresh(stack[0], stack + 1), _default, 0.0, 1.0)


cdef object _randn_from(PyObject** stack):
    return _normal(_fresh(stack[0], stack + 2), _source(stack[1]), 0.0, 1.0)


cdef object _rand(PyObject** stack):
    return _uniform(_fresh(stack[0], stack + 1), _default)


cdef object _rand_from(PyObject** stack):
    return _uniform(_fresh(stack[0], stack + 2), _source(stack[1]))


cdef object _fill_normal(PyObject** stack):
    cdef TensorImpl out = <TensorImpl>stack[0]
    cdef double mean = <object>stack[1], deviation = <object>stack[2]
    if Py_TYPE(stack[0]) != <PyTypeObject*>Tensor or out.device_type != CPU or is_lazy(out):
        return None
    if not out.contiguous or (out.dtype_code != FLOAT32 and out.dtype_code != FLOAT64):
        return None
    if not deviation >= 0:
        return None
    return _normal(out, _source(stack[3]), mean, deviation)


cdef dict _FUNCTIONS = {
    "randn": <size_t>_randn,
    "randn_from": <size_t>_randn_from,
    "rand": <size_t>_rand,
    "randint": <size_t>_randint,
    "randint_from": <size_t>_randint_from,
    "randint_low": <size_t>_randint_low,
    "randint_low_from": <size_t>_randint_low_from,
    "rand_from": <size_t>_rand_from,
    "fill_normal": <size_t>_fill_normal,
}
NAMES = tuple(_FUNCTIONS)
