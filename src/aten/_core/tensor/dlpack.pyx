# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""DLPack: tensors handed to and taken from other libraries without a copy.

A capsule holds the address of a structure that says where the elements lie, and a deleter that
the consumer calls when it needs them no more. Both forms are spoken: the versioned one (1.x) and
the older one without version and flags.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.pycapsule cimport (PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New,
                                PyCapsule_SetName)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from aten._core.base.device cimport CPU, META
from aten._core.base.dtypes cimport dtype, dtype_from_code, item_size
from aten._core.base.dtypes import DTYPES
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.base.strides cimport contiguous_strides, storage_extent
from aten._core.memory.storage cimport is_aligned, storage_at
from aten._core.memory.storage import about_to_read
from aten._core.tensor.making cimport make_tensor
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport data_pointer, is_lazy

cdef enum:
    DEVICE_CPU = 1
    FLAG_READ_ONLY = 1
    FLAG_COPIED = 2
    MAJOR_VERSION = 1
    MINOR_VERSION = 3

# No address of a process is higher.
cdef int64_t LARGEST_BYTES = <int64_t>1 << 57

cdef struct Device:
    int32_t type
    int32_t index

cdef struct ElementType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct Description:
    void* data
    Device device
    int32_t rank
    ElementType element
    int64_t* sizes
    int64_t* strides
    uint64_t byte_offset

cdef struct Managed:
    Description description
    void* context
    void (*deleter)(Managed*) noexcept

cdef struct Version:
    uint32_t major
    uint32_t minor

cdef struct Versioned:
    Version version
    void* context
    void (*deleter)(Versioned*) noexcept
    uint64_t flags
    Description description

# Kind of number → its code in the protocol; bool takes 8 bits there.
_CODES = {"signed": 0, "unsigned": 1, "float": 2, "complex": 5, "bool": 6}
_CODES_BY_NAME = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12,
                  "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14}


cdef int _element_type(int code, ElementType* element) except -1:
    cdef dtype given = dtype_from_code(code)
    found = _CODES_BY_NAME.get(given.name, _CODES.get(given.kind))
    if found is None:
        raise BufferError(f"{given} tensors are not supported by DLPack")
    element.code = found
    element.bits = 8 * given.itemsize
    element.lanes = 1
    return 0


cdef int _dtype_code(ElementType element) except -1:
    if element.lanes == 1:
        for candidate in DTYPES.values():
            found = _CODES_BY_NAME.get(candidate.name, _CODES.get(candidate.kind))
            if found == element.code and 8 * candidate.itemsize == element.bits:
                return (<dtype>candidate).code
    raise BufferError(f"there is no dtype for the DLPack element type with code {element.code}, "
                      f"{element.bits} bits and {element.lanes} lanes")


# Giving

cdef int _describe(Tensor tensor, Description* description) except -1:
    _element_type(tensor.dtype_code, &description.element)
    description.data = data_pointer(tensor) if tensor.count else NULL
    description.device.type = DEVICE_CPU
    description.device.index = 0
    description.rank = tensor.rank
    description.sizes = tensor.sizes
    description.strides = tensor.strides
    description.byte_offset = 0
    return 0


cdef void _delete_managed(Managed* managed) noexcept with gil:
    (<Tensor>managed.context).storage.exports -= 1
    Py_DECREF(<object>managed.context)
    PyMem_Free(managed)


cdef void _delete_versioned(Versioned* managed) noexcept with gil:
    (<Tensor>managed.context).storage.exports -= 1
    Py_DECREF(<object>managed.context)
    PyMem_Free(managed)


cdef void _drop_capsule(object capsule) noexcept:
    """Frees what no consumer took."""
    cdef Managed* managed
    cdef Versioned* versioned
    if PyCapsule_IsValid(capsule, b"dltensor"):
        managed = <Managed*>PyCapsule_GetPointer(capsule, b"dltensor")
        managed.deleter(managed)
    elif PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        versioned = <Versioned*>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        versioned.deleter(versioned)


def export(Tensor tensor not None, *, bint versioned, bint copied=False):
    """A capsule over the tensor's memory; `copied` says that nobody else holds it.

    Raises BufferError for element types DLPack lacks and for memory that is not the host's.
    """
    cdef Managed* managed
    cdef Versioned* with_version
    if tensor.device_type != CPU:
        raise BufferError(f"only CPU tensors can be exported, not {tensor.device}")
    if tensor.storage.device_type == META:
        raise BufferError("a fake tensor has no data that could be exported")
    about_to_read(tensor.storage)
    if is_lazy(tensor):
        raise BufferError("a lazy conjugate or negative cannot be exported: use resolve_conj() or "
                          "resolve_neg() first")
    # Sizes and strides stay where they are: nobody else has this view to resize it.
    cdef Tensor held = make_tensor(tensor.storage, tensor.dtype_code, tensor.rank, tensor.sizes,
                                   tensor.strides, tensor.offset)
    cdef void* block = PyMem_Malloc(sizeof(Versioned) if versioned else sizeof(Managed))
    if block == NULL:
        raise MemoryError()
    # Before the address is read: from here on nobody shares the memory anew.
    held.storage.exports += 1
    try:
        if versioned:
            with_version = <Versioned*>block
            _describe(held, &with_version.description)
            with_version.version.major = MAJOR_VERSION
            with_version.version.minor = MINOR_VERSION
            with_version.flags = FLAG_COPIED if copied else 0
            with_version.context = <void*>held
            with_version.deleter = _delete_versioned
        else:
            managed = <Managed*>block
            _describe(held, &managed.description)
            managed.context = <void*>held
            managed.deleter = _delete_managed
    except BaseException:
        held.storage.exports -= 1
        PyMem_Free(block)
        raise
    Py_INCREF(held)
    return PyCapsule_New(block, b"dltensor_versioned" if versioned else b"dltensor", _drop_capsule)


# Taking

cdef class _Borrowed:
    """Memory of another library; calls its deleter in the end."""

    cdef Managed* managed
    cdef Versioned* versioned

    def __dealloc__(self):
        if self.managed != NULL and self.managed.deleter != NULL:
            self.managed.deleter(self.managed)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)


def import_capsule(capsule, *, bint shared=False):
    """A tensor over the memory a capsule tells of; the capsule is used up.

    Read-only memory is copied; with `shared` it is refused with ValueError. Raises BufferError for
    memory of other devices, for element types and versions unknown, for negative sizes and strides,
    missing, unaligned or unreachable memory; RuntimeError for what is no unused capsule. A capsule
    that is refused is left as it was.
    """
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        return _imported(capsule, b"dltensor_versioned", b"used_dltensor_versioned", shared)
    if PyCapsule_IsValid(capsule, b"dltensor"):
        return _imported(capsule, b"dltensor", b"used_dltensor", shared)
    raise RuntimeError("from_dlpack: expected a DLPack capsule that was not consumed before")


cdef object _imported(object capsule, const char* name, const char* used_name, bint shared):
    cdef _Borrowed borrowed = _Borrowed.__new__(_Borrowed)
    cdef void* held = PyCapsule_GetPointer(capsule, name)
    cdef Versioned* versioned = <Versioned*>held if name[8] == b"_" else NULL
    cdef Description* description = &(<Managed*>held).description
    cdef Tensor made
    # Taken first, so that nobody else takes it meanwhile.
    PyCapsule_SetName(capsule, used_name)
    try:
        if versioned != NULL:
            _check_version(versioned)
            if shared and versioned.flags & FLAG_READ_ONLY:
                raise ValueError("from_dlpack: read-only memory needs a copy, and copy is false")
            description = &versioned.description
        made = _tensor_of(description, borrowed)
    except BaseException:
        PyCapsule_SetName(capsule, name)
        raise
    if versioned == NULL:
        borrowed.managed = <Managed*>held
        return made
    borrowed.versioned = versioned
    return made.clone() if versioned.flags & FLAG_READ_ONLY else made


cdef int _check_version(const Versioned* versioned) except -1:
    if versioned.version.major != MAJOR_VERSION:
        raise BufferError(f"DLPack version {versioned.version.major}."
                          f"{versioned.version.minor} is not supported")
    return 0


cdef Tensor _tensor_of(const Description* description, _Borrowed owner):
    cdef int64_t sizes[MAXIMUM_DIMS]
    cdef int64_t strides[MAXIMUM_DIMS]
    cdef int64_t extent
    cdef int code = _dtype_code(description.element)
    if description.device.type != DEVICE_CPU:
        raise BufferError(f"from_dlpack: memory of the DLPack device type "
                          f"{description.device.type} cannot be reached")
    _read_geometry(description, sizes, strides)
    extent = storage_extent(description.rank, sizes, strides)
    if extent < 0:
        raise BufferError("from_dlpack: the sizes overflow")
    if extent == 0:
        return make_tensor(storage_at(0, 0, owner), code, description.rank, sizes, strides, 0)
    _check_place(description, extent, item_size(code))
    return make_tensor(
        storage_at(<size_t>description.data + description.byte_offset, extent * item_size(code),
                   owner),
        code, description.rank, sizes, strides, 0)


cdef int _read_geometry(const Description* description, int64_t* sizes,
                        int64_t* strides) except -1:
    """Sizes, and strides, row-major where none are given."""
    cdef int dim
    if not 0 <= description.rank <= MAXIMUM_DIMS:
        raise BufferError(f"from_dlpack: {description.rank} dimensions, between 0 and "
                          f"{MAXIMUM_DIMS} are supported")
    if description.rank > 0 and description.sizes == NULL:
        raise BufferError(f"from_dlpack: {description.rank} dimensions without sizes")
    for dim in range(description.rank):
        sizes[dim] = description.sizes[dim]
        if sizes[dim] < 0:
            raise BufferError(f"from_dlpack: the size {sizes[dim]} of dimension {dim} is negative")
    if description.strides == NULL:
        return contiguous_strides(description.rank, sizes, strides)
    for dim in range(description.rank):
        strides[dim] = description.strides[dim]
        if strides[dim] < 0 and sizes[dim] > 1:
            raise BufferError("from_dlpack: negative strides are not supported")
        # A stride that leads nowhere may be anything; from here on it is a stride.
        strides[dim] = max(strides[dim], 0)
    return 0


cdef int _check_place(const Description* description, int64_t extent, int width) except -1:
    """Whether `extent` elements can lie where the description says."""
    cdef size_t address = <size_t>description.data
    if description.data == NULL:
        raise BufferError("from_dlpack: the data of a tensor with elements is NULL")
    if (extent > LARGEST_BYTES // width or description.byte_offset > LARGEST_BYTES
            or address > <size_t>LARGEST_BYTES - description.byte_offset
            or address + description.byte_offset > <size_t>LARGEST_BYTES - extent * width):
        raise BufferError(f"from_dlpack: {extent} elements of {width} bytes, {description.byte_offset} "
                          f"bytes from the address {address:#x}, leave the address space")
    if not is_aligned(<const void*>(address + description.byte_offset), width):
        raise BufferError(f"from_dlpack: the elements lie at the address "
                          f"{address + description.byte_offset:#x}, which is not a multiple of "
                          f"their {width} bytes")
    return 0
