# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""What operators check and change about their outputs' memory: overlap and resizing."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from aten._core.base.dtypes cimport category_of, item_size
from aten._core.base.keys cimport NO_GRAD, local_state, bits_of_one_tensor
from aten._core.base.sizes cimport MAXIMUM_DIMS, int_tuple, read_sizes
from aten._core.base.strides cimport contiguous_strides, is_dense, storage_extent
from aten._core.memory.storage cimport (Storage, VersionCounter, allocate, copy_opaque,
                                        exchange_memory, is_opaque, retire)
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (AutogradMeta, TensorImpl, const_data_pointer,
                                            count_write, data_pointer, has_autograd,
                                            has_own_versions, set_geometry, set_versions)

cdef enum:
    FLOATING = 2                # the category from which on elements have gradients


cdef int check_internal_overlap(TensorImpl out) except -1:
    """Raises RuntimeError when several elements of `out` share one memory location."""
    cdef int dim
    if out.contiguous or out.count == 0:
        return 0
    for dim in range(out.rank):
        if out.strides[dim] == 0 and out.sizes[dim] > 1:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to "
                "a single memory location. Please clone() the tensor before performing the "
                "operation."
            )
    return 0


cdef bint same_geometry(TensorImpl left, TensorImpl right) noexcept:
    """Whether both tensors are windows of the same place, sizes and strides."""
    cdef int dim
    if (left.storage is not right.storage or left.offset != right.offset
            or left.rank != right.rank or left.dtype_code != right.dtype_code):
        return False
    for dim in range(left.rank):
        if left.sizes[dim] != right.sizes[dim]:
            return False
        if left.strides[dim] != right.strides[dim] and left.sizes[dim] > 1:
            return False
    return True


cdef inline bint _shows_block(Storage storage) noexcept:
    """Whether the memory is one that a write to another storage never changes."""
    return storage.shared is not None and not storage.shared.watches


cdef bint may_overlap(TensorImpl left, TensorImpl right) noexcept:
    """Whether the ranges of memory that both address meet."""
    cdef const char* left_start
    cdef const char* right_start
    cdef int64_t left_bytes, right_bytes
    if left.count == 0 or right.count == 0:
        return False
    if left.storage.data == NULL or right.storage.data == NULL:
        # Without addresses it is the same storage, and places in it, that tell.
        if left.storage is not right.storage or not is_opaque(left.device_type):
            return False
    if left.storage is not right.storage and (_shows_block(left.storage)
                                              or _shows_block(right.storage)):
        return False
    left_start = const_data_pointer(left)
    right_start = const_data_pointer(right)
    left_bytes = storage_extent(left.rank, left.sizes, left.strides) * item_size(left.dtype_code)
    right_bytes = (storage_extent(right.rank, right.sizes, right.strides)
                   * item_size(right.dtype_code))
    return left_start < right_start + right_bytes and right_start < left_start + left_bytes


cdef int check_unchanged(str name, int64_t changes) except -1:
    if local_state().changes == changes:
        return 0
    raise RuntimeError(f"{name}: sizes or storage of a tensor were changed by code that ran in the "
                       f"middle of the call, such as a warning's hook or a finalizer")


cdef int resize_tensor(TensorImpl tensor, int rank, const int64_t* sizes) except -1:
    """Give `tensor` row-major sizes, and its storage more room where it needs it."""
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t extent, needed
    cdef Storage storage = tensor.storage
    cdef Storage larger
    contiguous_strides(rank, sizes, strides)
    extent = storage_extent(rank, sizes, strides)
    if extent < 0 or extent > (<int64_t>1 << 46):
        raise RuntimeError("resize: the requested sizes overflow the storage size")
    needed = (tensor.offset + extent) * item_size(tensor.dtype_code)
    if extent > 0 and needed > storage.bytes:
        if is_opaque(storage.device_type):
            larger = allocate(needed, storage.device_type, storage.device_index)
            copy_opaque(larger, storage, min(storage.bytes, needed))
            storage.owner, larger.owner = larger.owner, storage.owner
            exchange_memory(storage, larger)
            local_state().changes += 1
            set_geometry(tensor, rank, sizes, strides)
            return 0
        if storage.owner is not None or storage.exports:
            raise RuntimeError("Trying to resize storage that is not resizable")
        larger = allocate(needed, storage.device_type, storage.device_index)
        if storage.data != NULL and larger.data != NULL:
            # Another thread may have resized it while memory was asked for.
            memcpy(larger.data, storage.data, min(storage.bytes, needed))
        # The storage object stays, so that views go on sharing it; the blocks change places.
        exchange_memory(storage, larger)
        retire(larger)
    local_state().changes += 1
    set_geometry(tensor, rank, sizes, strides)
    return 0


cdef int prepare_out(str name, TensorImpl out, int rank, const int64_t* sizes) except -1:
    """Resize an `out=` tensor whose sizes differ; warns (UserWarning) if it held elements.

    Raises RuntimeError where the warning's hook changes a tensor: what the caller knows of sizes
    and addresses is still true afterwards, but for those of `out`.
    """
    cdef int dim
    cdef int64_t changes = local_state().changes
    cdef bint same = out.rank == rank
    if same:
        for dim in range(rank):
            same = same and out.sizes[dim] == sizes[dim]
    if same:
        return 0
    if out.count != 0:
        import warnings

        warnings.warn(
            f"An output with one or more elements was resized since it had shape "
            f"{[out.sizes[dim] for dim in range(out.rank)]}, which does not match the required "
            f"output shape {[sizes[dim] for dim in range(rank)]}. This behavior is deprecated: "
            f"give {name} an output of the right shape, or an empty one.",
            UserWarning, stacklevel=2,
        )
        check_unchanged(name, changes)
    return resize_tensor(out, rank, sizes)


cdef int keep_geometry(TensorImpl tensor, Geometry* kept) noexcept:
    """Remember what `restore_geometry` brings back when a call fails after resizing `tensor`."""
    kept.storage = <PyObject*>tensor.storage
    kept.offset = tensor.offset
    kept.rank = tensor.rank
    memcpy(kept.sizes, tensor.sizes, tensor.rank * sizeof(int64_t))
    memcpy(kept.strides, tensor.strides, tensor.rank * sizeof(int64_t))
    return 0


cdef int restore_geometry(TensorImpl tensor, const Geometry* kept) except -1:
    cdef int64_t extent
    if kept.storage != <PyObject*>tensor.storage or kept.offset != tensor.offset:
        # Code that ran meanwhile has made it a window on something else.
        return 0
    extent = storage_extent(kept.rank, kept.sizes, kept.strides)
    if extent > 0 and (kept.offset + extent) * item_size(tensor.dtype_code) > tensor.storage.bytes:
        return 0
    local_state().changes += 1
    set_geometry(tensor, kept.rank, kept.sizes, kept.strides)
    return 0


cdef class _KeptGeometry:
    cdef Geometry geometry


def resize(Tensor tensor not None, sizes):
    """Give `tensor` row-major `sizes`, keeping the elements its storage begins with.

    Raises RuntimeError for negative sizes, or memory that cannot grow.
    """
    cdef int64_t values[MAXIMUM_DIMS]
    cdef int rank = <int>read_sizes(sizes, values, MAXIMUM_DIMS)
    cdef int dim
    for dim in range(rank):
        if values[dim] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {values[dim]}: "
                               f"{list(sizes)}")
    resize_tensor(tensor, rank, values)
    return tensor


def become(Tensor tensor not None, Tensor window not None):
    """Make `tensor` show what `window` shows: its storage, sizes, strides and offset.

    Raises RuntimeError where dtype or device differ: these stay what they are.
    """
    if tensor.dtype_code != window.dtype_code or tensor.device_type != window.device_type:
        raise RuntimeError(f"a {tensor.dtype} tensor on {tensor.device} cannot become a window on "
                           f"{window.dtype} elements on {window.device}")
    return _shown_by(tensor, window)


def exchange(Tensor tensor not None, Tensor value not None):
    """Make `tensor` show what `value` shows, dtype and device included; its gradients go on.

    Raises RuntimeError where the tensor requires grad and the new dtype can have none.
    """
    cdef AutogradMeta meta
    if tensor.dtype_code == value.dtype_code and tensor.device_type == value.device_type:
        return _shown_by(tensor, value)
    if has_autograd(tensor):
        meta = tensor.autograd
        if meta.requires_grad and category_of(value.dtype_code) < FLOATING:
            raise RuntimeError(f"data: a tensor that requires grad needs a dtype that can have "
                               f"gradients, not {value.dtype}")
    _shown_by(tensor, value)
    tensor.dtype_code = value.dtype_code
    tensor.device_type = value.device_type
    tensor.device_index = value.device_index
    return tensor


cdef object _shown_by(Tensor tensor, Tensor window):
    cdef Storage storage = window.storage
    if tensor.storage is not storage:
        _leave(tensor)
        retire(tensor.storage)
    local_state().changes += 1
    set_geometry(tensor, window.rank, window.sizes, window.strides)
    tensor.storage = storage
    tensor.offset = window.offset
    tensor.keys = window.keys & ~bits_of_one_tensor() | tensor.keys & bits_of_one_tensor()
    return tensor


cdef int _leave(TensorImpl tensor) except -1:
    """Keep the count of writes for when the tensor shows another storage, with its views' here."""
    cdef Storage storage = tensor.storage
    if has_own_versions(tensor):
        return 0
    if storage.left is None:
        storage.left = VersionCounter.__new__(VersionCounter)
        storage.left.count = storage.version
    set_versions(tensor, <PyObject*>storage.left)
    return 0


def count_apart(Tensor tensor not None):
    """The tensor, whose writes and those to its views are counted for them alone from now on."""
    cdef VersionCounter versions = VersionCounter.__new__(VersionCounter)
    set_versions(tensor, <PyObject*>versions)
    return tensor


def before_write(TensorImpl tensor not None):
    """`tensor`, for an operator whose result is then written to it.

    A copy where gradients are recorded through it: formulas read it after the write.
    """
    if local_state().no_gradients & NO_GRAD or not tensor.requires_grad:
        return tensor
    return tensor.clone()


def write_out(str name, Tensor out not None, Tensor result not None, copy):
    """Copy `result` into an `out=` tensor, as `write_outs` does."""
    write_outs(name, (out,), (result,), copy)


def write_outs(str name, outs, results, copy):
    """Copy results into `out=` tensors; one whose sizes differ gets its result's sizes and strides.

    Warns (UserWarning) if that held elements. `copy(out, result)` writes. Where a tensor cannot be
    resized or has no memory or overlaps itself (RuntimeError) nothing is written, and all have the
    sizes they had.
    """
    cdef Tensor out
    # In one step: a comprehension would release what it cannot append for want of memory twice.
    cdef tuple kept = tuple(map(_kept, outs))
    try:
        for out, result in zip(outs, results, strict=True):
            _prepare_for(name, out, result)
            # Memory of its own now: should there be none, nothing is written yet.
            data_pointer(out)
        for out, result in zip(outs, results, strict=True):
            copy(out, result)
    except BaseException:
        for out, before in zip(outs, kept, strict=True):
            restore_geometry(out, &(<_KeptGeometry>before).geometry)
        raise


def _kept(Tensor tensor not None):
    cdef _KeptGeometry kept = _KeptGeometry.__new__(_KeptGeometry)
    keep_geometry(tensor, &kept.geometry)
    return kept


cdef int _prepare_for(str name, Tensor out, Tensor result) except -1:
    if int_tuple(out.rank, out.sizes) != int_tuple(result.rank, result.sizes):
        prepare_out(name, out, result.rank, result.sizes)
        if result.count == 0 or is_dense(result.rank, result.sizes, result.strides):
            set_geometry(out, result.rank, result.sizes, result.strides)
    check_internal_overlap(out)
    return 0


def check_writable(Tensor out not None, *operands):
    """Raises RuntimeError when `out` overlaps itself, or partly overlaps one of `operands`."""
    check_internal_overlap(out)
    for operand in operands:
        if isinstance(operand, Tensor) and may_overlap(out, operand):
            if not same_geometry(out, operand):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to "
                    "tensor refer to a single memory location. Please clone() the tensor before "
                    "performing the operation."
                )


def mark_written(Tensor tensor not None):
    """Let the version counter see a write from outside of the kernels."""
    count_write(tensor)


def overlaps(Tensor left not None, Tensor right not None):
    """Whether the ranges of memory that both tensors address meet."""
    return may_overlap(left, right)
