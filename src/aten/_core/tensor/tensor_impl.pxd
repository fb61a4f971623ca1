"""TensorImpl, what a tensor is."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t

from aten._core.base.dtypes cimport item_size
from aten._core.base.sizes cimport INLINE_DIMS
from aten._core.memory.storage cimport Storage, VersionCounter, make_own

cdef extern from *:
    """
    #define ATEN_SET_FIELD(field, value) \\
        do { \\
            Py_XINCREF((PyObject *)(value)); \\
            Py_XSETREF((field), (void *)(value)); \\
        } while (0)
    #define ATEN_SET_VERSIONS(tensor, value) ATEN_SET_FIELD((tensor)->versions, value)
    #define ATEN_SET_AUTOGRAD(tensor, value) ATEN_SET_FIELD((tensor)->autograd, value)
    #define ATEN_SET_BASE(tensor, value) ATEN_SET_FIELD((tensor)->base, value)
    """
    void set_versions "ATEN_SET_VERSIONS"(TensorImpl, PyObject*) noexcept
    void set_autograd_field "ATEN_SET_AUTOGRAD"(TensorImpl, PyObject*) noexcept
    void set_base_field "ATEN_SET_BASE"(TensorImpl, PyObject*) noexcept
    bint __builtin_mul_overflow(int64_t, int64_t, int64_t*) noexcept nogil

cdef class AutogradMeta:
    # What gradients are to a tensor: kept apart from it, so that those without have a pointer only.
    cdef bint requires_grad         # said of a leaf
    cdef bint retains_grad
    cdef object grad                # a tensor, or None
    cdef object node                # the recorded operator that made the tensor, or None: a leaf
    cdef Py_ssize_t output          # which of its results
    cdef PyObject* accumulator      # borrowed: what adds to `grad`, while it lives
    cdef list hooks                 # functions of the gradient
    cdef list post_hooks            # functions of a leaf, after its gradient has grown
    cdef uint32_t version           # of a view, when `node` was found

cdef class TensorImpl:
    cdef Storage storage
    cdef uint64_t keys
    cdef int64_t offset                     # in elements from the start of the storage
    cdef int64_t count                      # elements
    cdef int64_t* sizes                     # `rank` sizes, then `rank` strides, in elements
    cdef int64_t* strides
    cdef int64_t inline_geometry[10]        # 2 * INLINE_DIMS; deeper tensors hold theirs elsewhere:
    cdef bytes geometry_memory              # there, which is None or NULL for the others
    cdef VersionCounter versions            # of itself and its views; None or NULL: the storage's
    cdef TensorImpl base                    # what this is a view of, never a view; None or NULL: nothing
    cdef AutogradMeta autograd              # None or NULL: gradients do not reach it
    cdef int rank
    cdef signed char dtype_code
    cdef signed char device_type
    cdef signed char device_index           # -1: the device type's only or current one
    cdef bint contiguous                    # row-major without gaps, kept up to date
    cdef bint wrapped_number                # made from a Python number: weakest in promotion
    cdef bint one_of_many                   # a view that an operator made along with others, or a view of one
    cdef object __weakref__
    cdef dict __dict__

cdef bint is_lazy(TensorImpl tensor) noexcept   # a conjugate or negative not carried out in memory
cdef uint64_t conjugate_bit() noexcept
cdef uint64_t negative_bit() noexcept
# The address of the first element: to write, with the memory no longer shared with lazy copies; to
# read. An address to write is asked for before those to read: what is shared stays where it is, but
# shows what was there before.
cdef inline char* data_pointer(TensorImpl tensor) except? NULL:
    if tensor.storage.shared is not None:
        make_own(tensor.storage)
    return tensor.storage.data + tensor.offset * item_size(tensor.dtype_code)


cdef inline const char* const_data_pointer(TensorImpl tensor) noexcept nogil:
    return tensor.storage.data + tensor.offset * item_size(tensor.dtype_code)


cdef int require_memory(TensorImpl tensor) except -1
cdef int wrap_dim(int64_t dim, int ndim) except -1
cdef int set_geometry(TensorImpl tensor, int rank, const int64_t* sizes,
                      const int64_t* strides) except -1
# The rare parts of `reserve` and `refresh_geometry`.
cdef int reserve_elsewhere(TensorImpl tensor, int rank) except -1
cdef int refuse_count(TensorImpl tensor) except -1
# The keys of views of a tensor: without what belongs to it alone.
cdef uint64_t keys_of_views(TensorImpl base) noexcept
cdef void set_plain_class(object cls)


cdef inline bint is_given(PyObject* field) noexcept:
    return field != NULL and field != <PyObject*>None


cdef inline bint has_autograd(TensorImpl tensor) noexcept:
    return is_given(<PyObject*>tensor.autograd)


cdef inline bint is_view(TensorImpl tensor) noexcept:
    return is_given(<PyObject*>tensor.base)


cdef inline void note_base(TensorImpl made, TensorImpl base) noexcept:
    """Says that `made` is a view of `base`, or of what that is a view of."""
    set_base_field(made, <PyObject*>base.base if is_view(base) else <PyObject*>base)
    made.one_of_many = base.one_of_many


cdef inline void part_from_base(TensorImpl tensor) noexcept:
    """Makes a view a tensor of its own, though in the same memory."""
    set_base_field(tensor, NULL)
    tensor.one_of_many = False


cdef inline bint has_own_versions(TensorImpl tensor) noexcept:
    return <PyObject*>tensor.versions != NULL and <PyObject*>tensor.versions != <PyObject*>None


cdef inline void share_versions(TensorImpl made, TensorImpl base) noexcept:
    """Let a view of `base` count its writes where that does."""
    if has_own_versions(base):
        set_versions(made, <PyObject*>base.versions)


cdef inline void count_write(TensorImpl tensor) noexcept:
    """One more write, for the tensor and all that are views of one with it."""
    if has_own_versions(tensor):
        tensor.versions.count += 1
    elif tensor.storage.left is not None:
        tensor.storage.left.count += 1
    else:
        tensor.storage.version += 1


cdef inline uint32_t version_of(TensorImpl tensor) noexcept:
    """How often it, or one that is a view with it, has been written to."""
    if has_own_versions(tensor):
        return tensor.versions.count
    if tensor.storage.left is not None:
        return tensor.storage.left.count
    return tensor.storage.version


cdef inline int reserve(TensorImpl tensor, int rank) except -1:
    """Room for `rank` sizes and strides, whose values are not kept."""
    tensor.sizes = tensor.inline_geometry
    if rank > INLINE_DIMS:
        reserve_elsewhere(tensor, rank)
    tensor.rank = rank
    tensor.strides = tensor.sizes + rank
    return 0


cdef inline int refresh_geometry(TensorImpl tensor) except -1:
    """Recompute what sizes and strides imply. Raises RuntimeError when numel overflows."""
    cdef int64_t expected = 1, size
    cdef int dim
    cdef bint overflowed = False, empty = False, contiguous = True
    for dim in range(tensor.rank - 1, -1, -1):
        size = tensor.sizes[dim]
        if size == 1:
            continue
        empty |= size == 0
        contiguous &= tensor.strides[dim] == expected
        overflowed |= __builtin_mul_overflow(expected, size, &expected)
    tensor.count = 0 if empty else expected
    tensor.contiguous = contiguous or empty
    if overflowed and not empty:
        refuse_count(tensor)
    return 0
