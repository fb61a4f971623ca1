# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Greatest common divisors and least common multiples of few integers: a loop for each element.

The general ways go from step to step for all elements at once, with operators in between. Products and
absolute values that an integer has no room for wrap around, as there.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport INT8, INT16, INT32, INT64, UINT8
from aten._core.base.strides cimport is_row_major
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.making cimport make_alias, make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer, is_lazy)

ctypedef fused integer:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

cdef enum:
    MOST_ELEMENTS = 1 << 12

NAMES = ("gcd", "lcm")


cdef class DivisorKernel(FastPath):
    """Of row-major operands of one type and of the same sizes."""

    cdef bint multiples

    def __init__(self, native, replaced, find, otherwise):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.multiples = native == "lcm"

    cdef object ordinary(self, PyObject** stack):
        # Others may run, and change what they can reach.
        cdef Tensor left = make_alias(<TensorImpl>stack[0]), right = make_alias(<TensorImpl>stack[1])
        cdef Tensor out
        cdef bint made
        if not _is_ordinary(left) or not _is_ordinary(right) or not _are_alike(left, right):
            return None
        out = make_contiguous(left.dtype_code, left.rank, left.sizes, CPU, left.device_index)
        data_pointer(out)
        if left.dtype_code == UINT8:
            made = _run(<uint8_t>0, left, right, out, self.multiples)
        elif left.dtype_code == INT8:
            made = _run(<int8_t>0, left, right, out, self.multiples)
        elif left.dtype_code == INT16:
            made = _run(<int16_t>0, left, right, out, self.multiples)
        elif left.dtype_code == INT32:
            made = _run(<int32_t>0, left, right, out, self.multiples)
        else:
            made = _run(<int64_t>0, left, right, out, self.multiples)
        return out if made else None


cdef bint _is_ordinary(TensorImpl tensor) noexcept:
    return (tensor.device_type == CPU and tensor.dtype_code in (UINT8, INT8, INT16, INT32, INT64)
            and 0 < tensor.count <= MOST_ELEMENTS and not is_lazy(tensor)
            and tensor.storage.data != NULL
            and is_row_major(tensor.rank, tensor.sizes, tensor.strides))


cdef bint _are_alike(TensorImpl left, TensorImpl right) noexcept:
    return (left.dtype_code == right.dtype_code and left.rank == right.rank
            and memcmp(left.sizes, right.sizes, left.rank * sizeof(int64_t)) == 0)


cdef bint _run(integer kind, TensorImpl left, TensorImpl right, TensorImpl out,
               bint multiples) noexcept:
    """Whether there are only results that the type has."""
    cdef const integer* lefts = <const integer*>const_data_pointer(left)
    cdef const integer* rights = <const integer*>const_data_pointer(right)
    cdef integer* made = <integer*>const_data_pointer(out)
    cdef integer divisor
    cdef int64_t place
    for place in range(out.count):
        made[place] = divisor = _divisor(lefts[place], rights[place])
        if multiples:
            # The least integer has no quotient by -1.
            if integer is not uint8_t and divisor == -1:
                return False
            made[place] = _multiple(lefts[place], rights[place], divisor)
    return True


cdef inline integer _magnitude(integer number) noexcept nogil:
    return <integer>(<uint64_t>0 - <uint64_t>number) if number < 0 else number


cdef inline integer _divisor(integer left, integer right) noexcept nogil:
    """By Euclid's algorithm. Of the least integer, which stays negative, remainders are, too."""
    cdef integer rest
    left, right = _magnitude(left), _magnitude(right)
    while right != 0:
        # All are multiples of this one, of which the processor would refuse the least.
        rest = <integer>0 if integer is not uint8_t and right == -1 else <integer>(left % right)
        left, right = right, rest
    return left


cdef inline integer _multiple(integer left, integer right, integer divisor) noexcept nogil:
    """Products of short integers are whole before they are cut."""
    cdef integer quotient = <integer>(left // (divisor if divisor != 0 else <integer>1))
    cdef int64_t product
    if sizeof(integer) < 4:
        product = <int64_t>quotient * <int64_t>right
        return <integer>(product if product >= 0 else -product)
    return _magnitude(<integer>(<uint64_t>quotient * <uint64_t>right))
