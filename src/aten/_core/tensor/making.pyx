# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Tensors made over storages: those that exist, fresh ones, and buffers of others."""

from cpython.object cimport PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from aten._core.base.device cimport CPU, DEVICE_TYPE_COUNT, META, device
from aten._core.base.dtypes cimport dtype, item_size
from aten._core.base.keys cimport (
    DispatchKeySet, backend_bit, dense_keys, inference_bit_here, inference_threads,
)
from aten._core.base.keys import DispatchKey
from aten._core.base.sizes cimport MAXIMUM_DIMS, int_tuple, read_sizes
from aten._core.base.strides cimport contiguous_strides, storage_extent
from aten._core.memory.storage cimport Storage, allocate, is_aligned, storage_over
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, keys_of_views, note_base, refresh_geometry,
                                            reserve, share_versions)

cdef extern from *:
    bint __builtin_mul_overflow(int64_t, int64_t, int64_t*) noexcept nogil
    bint __builtin_add_overflow(int64_t, int64_t, int64_t*) noexcept nogil

cdef extern from *:
    """
    /* Tensors that died, for the next ones: one without a dict, which most never get, and past
       tp_new costs a third. Fields that hold objects are NULL in them, which Cython's own
       assignments do not expect. */
    #define ATEN_KEPT_TENSORS 64
    static PyTypeObject *aten_tensor_type = NULL;
    static PyObject *aten_kept[ATEN_KEPT_TENSORS];
    static int aten_kept_count = 0;

    static void aten_keep(void *object) {
        if (Py_TYPE((PyObject *)object) == aten_tensor_type && aten_kept_count < ATEN_KEPT_TENSORS)
            aten_kept[aten_kept_count++] = (PyObject *)object;
        else
            PyObject_GC_Del(object);
    }
    static void aten_recycle(PyTypeObject *type) {
        aten_tensor_type = type;
        type->tp_free = aten_keep;
    }
    /* The collector of garbage runs finalizers, which may change the operands of the operator whose
       result this is, when it has read their sizes already. So it has to wait for the next object
       that something else makes. */
    static PyObject *aten_new_tensor(void) {
        int collects = PyGC_Disable();
        PyObject *object = PyType_GenericAlloc(aten_tensor_type, 0);
        if (collects)
            PyGC_Enable();
        return object;
    }
    #define ATEN_KEPT_TENSOR() ((void *)aten_kept[--aten_kept_count])
    /* A macro, for the size is known only where it is used, and then it takes no call. */
    #define ATEN_REVIVE(tensor) \\
        (memset((char *)(tensor) + sizeof(PyObject), 0, sizeof(*(tensor)) - sizeof(PyObject)), \\
         PyObject_Init((PyObject *)(tensor), aten_tensor_type), PyObject_GC_Track(tensor))
    #define ATEN_SET_FIRST(field, value) (Py_INCREF((PyObject *)(value)), (field) = (value))
    #define ATEN_SET_STORAGE(tensor, value) ATEN_SET_FIRST((tensor)->storage, value)
    """
    void aten_recycle(PyTypeObject*) noexcept
    int aten_kept_count
    object aten_new_tensor()
    Tensor kept_tensor "ATEN_KEPT_TENSOR"()
    void revive "ATEN_REVIVE"(Tensor) noexcept
    void set_first_storage "ATEN_SET_STORAGE"(TensorImpl, Storage) noexcept

cdef inline Tensor _bare_tensor():
    """A tensor whose fields are zero, those of objects NULL."""
    cdef Tensor tensor
    if aten_kept_count == 0:
        return <Tensor>aten_new_tensor()
    tensor = kept_tensor()
    revive(tensor)
    return tensor


cdef uint64_t _KEYS_OF_DEVICE[DEVICE_TYPE_COUNT]
cdef Storage _no_memory = allocate(0, CPU, -1)


cdef Tensor make_tensor(Storage storage, int dtype_code, int ndim, const int64_t* sizes,
                        const int64_t* strides, int64_t offset):
    """A tensor over `storage`; the caller vouches that the geometry stays inside it."""
    cdef Tensor tensor = _bare_tensor()
    cdef int dim
    set_first_storage(tensor, storage)
    reserve(tensor, ndim)
    for dim in range(ndim):
        tensor.sizes[dim] = sizes[dim]
        tensor.strides[dim] = strides[dim]
    tensor.offset = offset
    tensor.dtype_code = dtype_code
    tensor.device_type = storage.device_type
    tensor.device_index = storage.device_index
    tensor.keys = _KEYS_OF_DEVICE[storage.device_type]
    if inference_threads != 0:
        tensor.keys |= inference_bit_here()
    refresh_geometry(tensor)
    return tensor


cdef Tensor make_alias(TensorImpl base):
    """Another tensor that is the same window."""
    cdef Tensor tensor = _bare_tensor()
    set_first_storage(tensor, base.storage)
    share_versions(tensor, base)
    reserve(tensor, base.rank)
    memcpy(tensor.sizes, base.sizes, 2 * base.rank * sizeof(int64_t))
    tensor.count = base.count
    tensor.contiguous = base.contiguous
    tensor.offset = base.offset
    tensor.dtype_code = base.dtype_code
    tensor.device_type = base.device_type
    tensor.device_index = base.device_index
    tensor.keys = keys_of_views(base)
    note_base(tensor, base)
    if base.keys & _PYTHON:
        _hand_on_symbols(tensor, base)
    return tensor


cdef _hand_on_symbols(Tensor tensor, TensorImpl base):
    """What a fake tensor says of its sizes in symbols holds for another one on the same window."""
    known = getattr(base, _SYMBOLIC, None) if type(base) is Tensor else None
    if known is not None:
        setattr(tensor, _SYMBOLIC, known)


cdef Tensor make_contiguous(int dtype_code, int ndim, const int64_t* sizes, int device_type,
                            int device_index):
    """An uninitialized row-major tensor. Sizes must not be negative."""
    cdef Tensor tensor = _bare_tensor()
    cdef int64_t stride = 1, nbytes
    cdef int dim
    cdef bint empty = False, overflowed = False
    set_first_storage(tensor, _no_memory)
    reserve(tensor, ndim)
    for dim in range(ndim - 1, -1, -1):
        tensor.sizes[dim] = sizes[dim]
        tensor.strides[dim] = stride
        if sizes[dim] == 0:
            empty = True
        else:
            overflowed |= __builtin_mul_overflow(stride, sizes[dim], &stride)
    overflowed |= __builtin_mul_overflow(stride, item_size(dtype_code), &nbytes)
    if overflowed:
        raise RuntimeError(f"Storage size calculation overflowed with sizes="
                           f"{list(int_tuple(ndim, sizes))}")
    tensor.count = 0 if empty else stride
    tensor.contiguous = True
    tensor.dtype_code = dtype_code
    tensor.device_type = device_type
    tensor.device_index = device_index
    tensor.keys = _KEYS_OF_DEVICE[device_type]
    if inference_threads != 0:
        tensor.keys |= inference_bit_here()
    tensor.storage = allocate(0 if empty else nbytes, device_type, device_index)
    return tensor


cdef Tensor make_strided(int dtype_code, int ndim, const int64_t* sizes, const int64_t* strides,
                         int device_type, int device_index):
    """An uninitialized tensor with these strides, on a storage just large enough."""
    cdef int64_t extent = storage_extent(ndim, sizes, strides)
    cdef int64_t nbytes
    if extent < 0 or __builtin_mul_overflow(extent, item_size(dtype_code), &nbytes):
        raise RuntimeError(f"Storage size calculation overflowed with sizes="
                           f"{list(int_tuple(ndim, sizes))}")
    return make_tensor(allocate(nbytes, device_type, device_index), dtype_code, ndim, sizes,
                       strides, 0)


def tensor_from_buffer(buffer, dtype dtype not None, sizes, strides=None, int64_t byte_offset=0):
    """A tensor over the memory of a writable buffer or of a Storage, without a copy.

    `strides` are in elements and default to row-major; the buffer stays alive with the tensor.
    Raises ValueError where the window leaves the buffer or is not aligned to the element size.
    """
    cdef int64_t size_values[MAXIMUM_DIMS]
    cdef int64_t stride_values[MAXIMUM_DIMS]
    cdef Storage storage
    cdef Py_ssize_t dim
    cdef int ndim = <int>read_sizes(sizes, size_values, MAXIMUM_DIMS)
    storage = <Storage>buffer if isinstance(buffer, Storage) else storage_over(buffer)
    for dim in range(ndim):
        if size_values[dim] < 0:
            raise ValueError(f"tensor_from_buffer: sizes must not be negative, got {tuple(sizes)}")
    if strides is None:
        contiguous_strides(ndim, size_values, stride_values)
    elif read_sizes(strides, stride_values, MAXIMUM_DIMS) != ndim:
        raise ValueError(f"tensor_from_buffer: {len(strides)} strides for {ndim} sizes")
    _check_window(storage, dtype, ndim, size_values, stride_values, byte_offset)
    return make_tensor(storage, dtype.code, ndim, size_values, stride_values,
                       byte_offset // dtype.itemsize)


cdef int _check_window(Storage storage, dtype element, int ndim, const int64_t* sizes,
                       const int64_t* strides, int64_t byte_offset) except -1:
    cdef int64_t extent = storage_extent(ndim, sizes, strides)
    cdef int64_t end
    cdef int dim
    for dim in range(ndim):
        if strides[dim] < 0:
            raise ValueError("tensor_from_buffer: strides must not be negative")
    if byte_offset < 0 or byte_offset % element.itemsize:
        raise ValueError(f"tensor_from_buffer: byte_offset {byte_offset} is not a multiple of the "
                         f"element size {element.itemsize}")
    if extent > 0 and not is_aligned(storage.data, element.itemsize):
        raise ValueError(f"tensor_from_buffer: the buffer begins at an address that is not a "
                         f"multiple of the element size {element.itemsize}: copy it first")
    if (extent < 0 or __builtin_mul_overflow(extent, element.itemsize, &end)
            or __builtin_add_overflow(end, byte_offset, &end) or end > storage.bytes):
        raise ValueError(f"tensor_from_buffer: sizes {list(int_tuple(ndim, sizes))}, strides "
                         f"{list(int_tuple(ndim, strides))} and byte_offset {byte_offset} reach "
                         f"past the buffer's {storage.bytes} bytes")
    return 0


cdef uint64_t _PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits
cdef uint64_t _BATCHED = (<DispatchKeySet>DispatchKeySet(DispatchKey.FuncTorchBatched)).bits
cdef str _ROW_OF = "_batched"
cdef str _SYMBOLIC = "_symbolic"
cdef uint64_t _LAZY = (<DispatchKeySet>DispatchKeySet(
    DispatchKey.Conjugate, DispatchKey.Negative)).bits


def fake_window(TensorImpl described not None, device place not None):
    """A tensor that is the same window on storage without data, and says that it is on `place`.

    Modes see its calls (key Python); without one they are those of the meta device. Raises
    ValueError where the storage has data.
    """
    cdef Tensor made
    if described.storage.device_type != META:
        raise ValueError(f"fake_window: a tensor on {described.device} has data")
    made = make_alias(described)
    made.device_type = place.type_code
    made.device_index = place.index_code
    made.keys |= _PYTHON
    made.wrapped_number = described.wrapped_number
    return made


def meta_window(TensorImpl tensor not None, Storage storage=None):
    """A meta tensor with the tensor's sizes, strides and offset.

    A fake tensor's is on the same storage; that of a tensor with data on `storage`, or else one of
    as many bytes. Raises ValueError where `storage` has data, or fewer bytes.
    """
    cdef Tensor made
    cdef uint64_t lazy = tensor.keys & _LAZY
    if tensor.storage.device_type == META:
        made = make_alias(tensor)
        made.device_type = META
        made.device_index = -1
    else:
        if storage is None:
            storage = allocate(tensor.storage.bytes, META, -1)
        if storage.device_type != META or storage.bytes < tensor.storage.bytes:
            raise ValueError("meta_window: the storage has data, or fewer bytes than the tensor's")
        made = make_tensor(storage, tensor.dtype_code, tensor.rank, tensor.sizes, tensor.strides,
                           tensor.offset)
    made.keys = dense_keys(META) | lazy
    made.wrapped_number = tensor.wrapped_number
    return made


def meta_storage(int64_t nbytes):
    """A storage of the meta device, which has no memory. Raises ValueError for less than no bytes.
    """
    if nbytes < 0:
        raise ValueError(f"meta_storage: the number of bytes must not be negative, got {nbytes}")
    return allocate(nbytes, META, -1)


def row_window(TensorImpl tensor not None, DispatchKeySet keys not None):
    """A tensor with the sizes and strides of one row of `tensor`, without data, that is served by
    the keys given, on the device of `tensor`.

    Raises ValueError where `tensor` has no dimensions.
    """
    cdef Tensor made
    if tensor.rank == 0:
        raise ValueError("row_window: a tensor without dimensions has no rows")
    made = make_tensor(allocate(0, META, -1), tensor.dtype_code, tensor.rank - 1, tensor.sizes + 1,
                       tensor.strides + 1, 0)
    made.device_type = tensor.device_type
    made.device_index = tensor.device_index
    made.keys = keys.bits | backend_bit(tensor.device_type)
    return made


cdef object asked_without_data = None


def when_data_is_missing(function):
    """Lets `function(tensor)` know, before the answer, of each tensor that has no data."""
    global asked_without_data
    asked_without_data = function


def has_data(TensorImpl tensor not None):
    """Whether the tensor has elements to ask for: not one on the meta device, nor a fake one.

    A row of a batch has some, though not here: who asks for them is told so.
    """
    if tensor.storage.device_type != META or tensor.keys & _BATCHED != 0:
        return True
    function = asked_without_data
    if function is not None:
        function(tensor)
    return False


def with_keys(TensorImpl tensor not None, DispatchKeySet keys not None):
    """The tensor on the same memory, served by these keys, too."""
    cdef Tensor made = make_alias(tensor)
    made.keys |= keys.bits
    return made


def add_keys(TensorImpl tensor not None, DispatchKeySet keys not None):
    """Lets the tensor be served by these keys, too."""
    tensor.keys |= keys.bits


def mark_row(Tensor row not None, known not None):
    """Says what a window of `row_window` is a row of: a tuple that the batch is the first item of.
    """
    setattr(row, _ROW_OF, known)


def row_of(tensor):
    """What a tensor is a row of, as `mark_row` was told; None for other values."""
    if type(tensor) is not Tensor or (<Tensor>tensor).keys & _BATCHED == 0:
        return None
    return getattr(tensor, _ROW_OF, None)


def whole_of(Tensor tensor not None):
    """The tensor that holds the elements: of rows, however deep, the batch."""
    known = row_of(tensor)
    while known is not None:
        tensor = known[0]
        known = row_of(tensor)
    return tensor


def is_fake(TensorImpl tensor not None):
    """Whether the tensor says that it is on a device, and has no data, there or elsewhere."""
    return (tensor.storage.device_type == META and tensor.device_type != META
            and tensor.keys & _BATCHED == 0)


cdef _fill_keys():
    cdef int code
    for code in range(DEVICE_TYPE_COUNT):
        _KEYS_OF_DEVICE[code] = dense_keys(code)


_fill_keys()
aten_recycle(<PyTypeObject*>Tensor)
