# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""In which order the results of picking lie: as the strides of what is picked from and of the indices
suggest."""

from libc.stdint cimport int64_t

from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.tensor.making cimport make_contiguous, make_strided
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten.backends.cpu.kernels.moving.iterator cimport (MAXIMUM_OPERANDS, Walk, add_input, begin_walk,
                                                        reorder)


def result_like(Tensor base not None, Tensor index not None, list given not None):
    """An empty tensor of their shape, in the order that the strides of both suggest.

    `given` are the indices that `index` was made of. They decide in its place where it says too
    little: each on its own, as it stands among the dimensions, those of one element included.
    """
    cdef Walk walk
    cdef int permutation[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t stride = 1
    cdef int place, dim
    cdef bint row_major = True
    begin_walk(&walk, base.rank, base.sizes)
    add_input(&walk, base, base.rank, base.sizes)
    operands = [index] if _speaks_for_all(base, given) else _among_dims(base, given)
    if operands[0] is not index and _are_row_major(base, operands):
        return make_contiguous(base.dtype_code, base.rank, base.sizes, base.device_type,
                               base.device_index)
    for operand in operands:
        add_input(&walk, operand, base.rank, base.sizes)
    reorder(&walk, permutation)
    for place in range(base.rank):
        row_major &= permutation[place] == place
    for place in range(base.rank):
        dim = base.rank - 1 - permutation[place]
        strides[dim] = stride
        # Another order than row-major is kept as it is of no elements, too.
        stride *= max(base.sizes[dim], 1) if row_major else base.sizes[dim]
    return make_strided(base.dtype_code, base.rank, base.sizes, strides, base.device_type,
                        base.device_index)


cdef bint _are_row_major(Tensor base, list operands):
    """Whether all lie in one order already, each with an element of its own for every one."""
    cdef TensorImpl operand
    cdef int dim
    for operand in [base, *operands]:
        if not operand.contiguous or operand.rank != base.rank:
            return False
        for dim in range(base.rank):
            if operand.sizes[dim] != base.sizes[dim]:
                return False
    return True


cdef bint _speaks_for_all(Tensor base, list given):
    """Whether all indices are row-major, of one shape and no dimension has but one element."""
    cdef TensorImpl first = None, other
    cdef int dim
    for dim in range(base.rank):
        if base.sizes[dim] == 1:
            return False
    for one in given:
        if one is None:
            continue
        other = <Tensor?>one
        first = other if first is None else first
        if not other.contiguous or other.rank != first.rank:
            return False
        for dim in range(other.rank):
            if other.sizes[dim] != first.sizes[dim]:
                return False
    return True


cdef list _among_dims(Tensor base, list given):
    """The indices, expanded to what they have in common, among dimensions of one element."""
    cdef list indices = [one for one in given if one is not None]
    cdef list dims = [dim for dim, one in enumerate(given) if one is not None]
    cdef int rank = max([one.dim() for one in indices])
    cdef int before = dims[0] if dims[len(dims) - 1] - dims[0] + 1 == len(dims) else 0
    cdef tuple common = tuple(base.shape[before:before + rank])
    cdef tuple shape = (1,) * before + common + (1,) * (base.rank - before - rank)
    # Ever later ones decide ever less: a walk has room for so many.
    return [one.expand(common).reshape(shape) for one in indices[:MAXIMUM_OPERANDS - 1]]
