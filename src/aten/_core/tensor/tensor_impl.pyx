# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""TensorImpl, what a tensor is: a window on a storage, and what can be asked of it.

Sizes, strides and an offset are counted in elements. Views share the storage, and with it the
version counter that every in-place write bumps.
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU, META, device_from_codes
from aten._core.base.device import LAYOUTS, MEMORY_FORMATS
from aten._core.base.dtypes cimport FLOAT32, dtype_from_code, item_size
from aten._core.base.keys cimport (DispatchKeySet, bits_of_one_tensor, dense_keys, inference_bit)
from aten._core.base.keys import DispatchKey
from aten._core.base.sizes cimport int_tuple, make_size
from aten._core.base.strides cimport is_channels_last
from aten._core.memory.storage cimport allocate, expose

cdef extern from *:
    """
    #define ATEN_SET_GEOMETRY(tensor, value) Py_XSETREF((tensor)->geometry_memory, value)
    """
    void steal_geometry_memory "ATEN_SET_GEOMETRY"(TensorImpl, PyObject*) noexcept

cdef extern from "Python.h":
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char*, Py_ssize_t) except NULL
    char* bytes_memory "PyBytes_AS_STRING"(PyObject*) noexcept

cdef uint64_t _CONJUGATE = (<DispatchKeySet>DispatchKeySet(DispatchKey.Conjugate)).bits
cdef uint64_t _AUTOGRAD = (<DispatchKeySet>DispatchKeySet(
    DispatchKey.__members__["AutogradFunctionality"])).bits
cdef uint64_t _PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits
cdef uint64_t _NEGATIVE = (<DispatchKeySet>DispatchKeySet(DispatchKey.Negative)).bits
cdef object _STRIDED = LAYOUTS["strided"]
cdef object _CONTIGUOUS_FORMAT = MEMORY_FORMATS["contiguous_format"]
cdef object _CHANNELS_LAST = MEMORY_FORMATS["channels_last"]
cdef object _CHANNELS_LAST_3D = MEMORY_FORMATS["channels_last_3d"]
cdef object _node_of = None
cdef object _plain_class = None


cdef void set_plain_class(object cls):
    """The class of tensors that are no user's subclass; it is above."""
    global _plain_class
    _plain_class = cls


def install_node_lookup(function):
    """Let `function(tensor)` find the node of a tensor that has one: of views it may be out of date."""
    global _node_of
    _node_of = function


@cython.freelist(64)
cdef class AutogradMeta:
    """What gradients are to a tensor."""


cdef class TensorImpl:
    """Sizes, strides, offset, element type, device and keys over a storage."""

    def __cinit__(self):
        # Whoever asks for a bare object gets an empty tensor, never a window on nothing.
        self.storage = allocate(0, CPU, -1)
        self.sizes = self.inline_geometry
        self.strides = self.sizes + 1
        self.sizes[0] = 0
        self.strides[0] = 1
        self.rank = 1
        self.contiguous = True
        self.dtype_code = FLOAT32
        self.device_index = -1
        self.keys = dense_keys(CPU)

    # Geometry and type

    @property
    def shape(self):
        """The sizes, as a `Size`.

        Example:

            >>> aten.ones(2, 3).shape
            aten.Size([2, 3])
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.sizes
        return make_size(self.rank, self.sizes)

    def size(self, dim=None):
        """The sizes, or the size of dimension `dim`.

        Example:

            >>> aten.ones(2, 3).size(), aten.ones(2, 3).size(1)
            (aten.Size([2, 3]), 3)
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.sizes if dim is None else known.sizes[_existing_dim(self, dim)]
        if dim is None:
            return make_size(self.rank, self.sizes)
        return self.sizes[_existing_dim(self, dim)]

    def stride(self, dim=None):
        """The strides in elements, or the stride of dimension `dim`.

        Example:

            >>> aten.ones(2, 3).stride()
            (3, 1)
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.strides if dim is None else known.strides[_existing_dim(self, dim)]
        if dim is None:
            return int_tuple(self.rank, self.strides)
        return self.strides[_existing_dim(self, dim)]

    def storage_offset(self):
        """Elements between the start of the storage and the first element.

        Example:

            >>> aten.arange(5)[2:].storage_offset()
            2
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.offset
        return self.offset

    def dim(self):
        """The number of dimensions.

        Example:

            >>> aten.ones(2, 3).dim()
            2
        """
        return self.rank

    ndimension = dim

    @property
    def ndim(self):
        """How many dimensions the tensor has.

        Example:

            >>> aten.ones(2, 3).ndim
            2
        """
        return self.rank

    def numel(self):
        """The number of elements.

        Example:

            >>> aten.ones(2, 3).numel()
            6
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.numel
        return self.count

    nelement = numel

    @property
    def dtype(self):
        """The type of the elements.

        Example:

            >>> aten.ones(2).dtype
            aten.float32
        """
        return dtype_from_code(self.dtype_code)

    @property
    def device(self):
        """Where the tensor's memory is.

        Example:

            >>> aten.ones(2).device
            device(type='cpu')
        """
        return device_from_codes(self.device_type, self.device_index)

    @property
    def layout(self):
        """How the elements lie in memory: `aten.strided`.

        Example:

            >>> aten.ones(2).layout
            aten.strided
        """
        return _STRIDED

    @property
    def itemsize(self):
        """The bytes of one element.

        Example:

            >>> aten.ones(2).itemsize
            4
        """
        return item_size(self.dtype_code)

    def element_size(self):
        """Bytes of one element.

        Example:

            >>> aten.ones(2).element_size()
            4
        """
        return item_size(self.dtype_code)

    @property
    def nbytes(self):
        """The bytes of all elements.

        Example:

            >>> aten.ones(2).nbytes
            8
        """
        return self.count * item_size(self.dtype_code)

    def data_ptr(self):
        """The address of the first element; 0 where there is no memory.

        Example:

            >>> aten.ones(2).data_ptr() != 0
            True
        """
        if self.storage.data == NULL:
            return 0
        expose(self.storage)
        return <size_t>const_data_pointer(self)

    def untyped_storage(self):
        """The storage this tensor is a window on.

        Example:

            >>> aten.ones(2).untyped_storage().nbytes()
            8
        """
        return self.storage

    def is_contiguous(self, memory_format=_CONTIGUOUS_FORMAT):
        """Whether elements lie in memory in the order of `memory_format`, without gaps.

        Example:

            >>> aten.ones(2, 3).t().is_contiguous()
            False
        """
        if self.keys & _PYTHON:
            known = _symbolic(self)
            if known is not None:
                return known.is_contiguous(memory_format)
        if memory_format is _CONTIGUOUS_FORMAT:
            return self.contiguous
        if memory_format is _CHANNELS_LAST or memory_format is _CHANNELS_LAST_3D:
            return (self.rank == (4 if memory_format is _CHANNELS_LAST else 5)
                    and is_channels_last(self.rank, self.sizes, self.strides))
        raise RuntimeError(f"is_contiguous: memory_format must be contiguous_format, channels_last "
                           f"or channels_last_3d, got {memory_format}")

    def is_floating_point(self):
        """Whether the elements are floating-point numbers.

        Example:

            >>> aten.ones(2).is_floating_point()
            True
        """
        return dtype_from_code(self.dtype_code).is_floating_point

    def is_complex(self):
        """Whether the elements are complex numbers.

        Example:

            >>> aten.ones(2).is_complex()
            False
        """
        return dtype_from_code(self.dtype_code).is_complex

    def is_signed(self):
        """Whether the elements can be negative.

        Example:

            >>> aten.ones(2).is_signed()
            True
        """
        return dtype_from_code(self.dtype_code).is_signed

    def is_conj(self):
        """Whether the tensor reads as the complex conjugate of what is in memory.

        Example:

            >>> aten.tensor([1j]).conj().is_conj()
            True
        """
        return self.keys & _CONJUGATE != 0

    def is_neg(self):
        """Whether the tensor reads as the negative of what is in memory.

        Example:

            >>> aten.tensor([1j]).conj().imag.is_neg()
            True
        """
        return self.keys & _NEGATIVE != 0

    @property
    def is_cpu(self):
        """Whether the tensor is in host memory.

        Example:

            >>> aten.ones(2).is_cpu
            True
        """
        return self.device_type == CPU

    @property
    def is_meta(self):
        """Whether the tensor has sizes and a dtype, but no elements.

        Example:

            >>> aten.ones(2, device="meta").is_meta
            True
        """
        return self.device_type == META

    @property
    def is_sparse(self):
        """Whether only some elements are stored: no, ever.

        Example:

            >>> aten.ones(2).is_sparse
            False
        """
        return False

    @property
    def is_quantized(self):
        """Whether the elements are quantized: no, ever.

        Example:

            >>> aten.ones(2).is_quantized
            False
        """
        return False

    @property
    def requires_grad(self):
        """Whether derivatives with respect to the tensor are asked for.

        Example:

            >>> aten.ones(2).requires_grad
            False
        """
        return has_autograd(self) and (self.autograd.requires_grad
                                       or self.autograd.node is not None)

    @property
    def is_leaf(self):
        """Whether no recorded operator made the tensor.

        Example:

            >>> aten.ones(2).is_leaf
            True
        """
        return not has_autograd(self) or self.autograd.node is None

    @property
    def grad_fn(self):
        """What the derivative goes back through, or None.

        Example:

            >>> aten.ones(2).grad_fn is None
            True
        """
        return _node_of(self) if has_autograd(self) and _node_of is not None else None

    @property
    def output_nr(self):
        """Which of the results of `grad_fn` the tensor is; 0 for leaves.

        Example:

            >>> aten.ones(2).output_nr
            0
        """
        return self.autograd.output if has_autograd(self) else 0

    @property
    def retains_grad(self):
        """Whether `retain_grad` has asked for the gradient of a tensor that is no leaf.

        Example:

            >>> aten.ones(2).retains_grad
            False
        """
        return has_autograd(self) and self.autograd.retains_grad

    @property
    def _version(self):
        """How often the tensor, or one that is a view with it, has been written to.

        Views and what `detach` gives share the count, `data` does not. It never goes backwards.
        """
        if self.keys & inference_bit():
            raise RuntimeError("_version: writes to a tensor of inference mode are not counted")
        return version_of(self)

    @property
    def _is_wrapped_number(self):
        return self.wrapped_number

    def _dispatch_keys(self):
        """The tensor's DispatchKeySet."""
        cdef DispatchKeySet keys = DispatchKeySet.__new__(DispatchKeySet)
        keys.bits = self.keys & ~bits_of_one_tensor()
        if keys.bits & inference_bit():
            keys.bits &= ~(inference_bit() | _AUTOGRAD)
        return keys

    def is_inference(self):
        """Whether the tensor was made within `inference_mode`, or is a view of such a one.

        Example:

            >>> aten.ones(2).is_inference()
            False
        """
        return self.keys & inference_bit() != 0

    @property
    def _base(self):
        """The tensor this one is a view of, which is no view itself; None for others."""
        return self.base if is_view(self) else None

    def _is_view(self):
        """Whether the tensor was made as a view of another."""
        return is_view(self)


cdef int reserve_elsewhere(TensorImpl tensor, int rank) except -1:
    cdef PyObject* memory = new_bytes(NULL, 2 * rank * sizeof(int64_t))
    steal_geometry_memory(tensor, memory)
    tensor.sizes = <int64_t*>bytes_memory(memory)
    return 0


cdef int refuse_count(TensorImpl tensor) except -1:
    raise RuntimeError(f"numel: integer multiplication overflow for sizes "
                       f"{list(int_tuple(tensor.rank, tensor.sizes))}")


cdef int set_geometry(TensorImpl tensor, int rank, const int64_t* sizes,
                      const int64_t* strides) except -1:
    """Give a tensor other sizes and strides; the caller vouches that they stay in the storage."""
    cdef int dim
    reserve(tensor, rank)
    for dim in range(rank):
        tensor.sizes[dim] = sizes[dim]
        tensor.strides[dim] = strides[dim]
    return refresh_geometry(tensor)


cdef int require_memory(TensorImpl tensor) except -1:
    """Raises RuntimeError for a tensor without memory here; None is none."""
    if tensor is not None and tensor.count != 0 and tensor.storage.data == NULL:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found one on "
                           f"{tensor.device} among others on cpu")
    return 0


cdef object _symbolic(TensorImpl tensor):
    """What a fake tensor says of sizes that depend on symbols, or None."""
    return getattr(tensor, "_symbolic", None) if type(tensor) is _plain_class else None


cdef uint64_t keys_of_views(TensorImpl base) noexcept:
    cdef uint64_t keys = base.keys & ~bits_of_one_tensor()
    if keys & _PYTHON and base.storage.device_type != META:
        keys &= ~_PYTHON
    return keys


cdef uint64_t conjugate_bit() noexcept:
    return _CONJUGATE


cdef uint64_t negative_bit() noexcept:
    return _NEGATIVE


cdef bint is_lazy(TensorImpl tensor) noexcept:
    return tensor.keys & (_CONJUGATE | _NEGATIVE) != 0


cdef int wrap_dim(int64_t dim, int ndim) except -1:
    """`dim` counted from the front. A 0-d tensor allows -1 and 0. Raises IndexError."""
    cdef int64_t bound = ndim if ndim > 0 else 1
    if dim < -bound or dim >= bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, "
                         f"{bound - 1}], but got {dim})")
    return <int>(dim + bound if dim < 0 else dim)


cdef int _existing_dim(TensorImpl tensor, int64_t dim) except -1:
    if tensor.rank == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, tensor.rank)


def wrap_dimension(int64_t dim, int ndim):
    """`dim` counted from the front of `ndim` dimensions. Raises IndexError out of range."""
    return wrap_dim(dim, ndim)
