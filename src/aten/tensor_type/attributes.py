"""What tensors have beside operators: devices, shared memory, elements one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import FunctionType

from aten import registry
from aten._core.base.device import LAYOUTS, device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.errors import NoDeviceError
from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.dispatch.overriding import DisableTorchFunction, DisableTorchFunctionSubclass
from aten._core.tensor.making import fake_window
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES, has_torch_dispatch
from aten.tensor_type.gradients import GRADIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_device = device
# Attributes that are the same for every tensor there is.
_ANSWERS = {
    "is_cuda": False,
    "is_ipu": False,
    "is_maia": False,
    "is_mkldnn": False,
    "is_mps": False,
    "is_mtia": False,
    "is_nested": False,
    "is_sparse_csr": False,
    "is_vulkan": False,
    "is_xla": False,
    "is_xpu": False,
    "name": None,
    "volatile": False,
}


def _moved(kind: str) -> Callable[..., Tensor]:
    def move(
        self: Tensor,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        raise NoDeviceError(kind if device is None else _place(kind, device))

    move.__name__ = kind
    move.__qualname__ = f"Tensor.{kind}"
    move.__doc__ = (
        f"The tensor on the device {kind}: raises NoDeviceError, there is none.\n\n"
        f"Example:\n\n    >>> try:\n    ...     aten.ones(2).{kind}()\n"
        f"    ... except RuntimeError:\n    ...     print('no device')\n    no device\n"
    )
    return move


def _place(kind: str, given: Any) -> device:
    return device(kind, given) if isinstance(given, int) else device(given)


# Memory


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is pinned for an accelerator: never.

    Example:

        >>> aten.ones(2).is_pinned()
        False
    """
    return False


def pin_memory(self: Tensor, device: Any = None) -> NoReturn:
    """A copy in pinned memory. Raises RuntimeError: that needs an accelerator.

    Example:

        >>> try:
        ...     aten.ones(2).pin_memory()
        ... except RuntimeError as error:
        ...     print(str(error).partition(";")[0])
        pin_memory(): needs an accelerator, and none is available
    """
    raise RuntimeError("pin_memory(): needs an accelerator, and none is available")


def is_shared(self: Tensor) -> bool:
    """Whether processes forked from this one share the memory: see `share_memory_`.

    Example:

        >>> aten.ones(2).is_shared()
        False
    """
    from mmap import mmap

    return self.untyped_storage().lies_in(mmap)


def share_memory_(self: Tensor) -> Tensor:
    """Move the storage to memory that processes forked from this one share: they see its writes.

    Pickled, a tensor is copied as ever. Raises BufferError while somebody else holds a view of the
    memory, and for other devices.

    Example:

        >>> aten.ones(2).share_memory_().is_shared()
        True
    """
    from mmap import mmap

    storage = self.untyped_storage()
    if not storage.lies_in(mmap):
        storage.move_to(mmap(-1, max(1, storage.nbytes())))
    return self


def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading: writes there may be seen by lazy copies.

    Example:

        >>> x = aten.ones(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
    """
    return self.data_ptr()


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same window on the same storage.

    Example:

        >>> x = aten.ones(2)
        >>> x.is_set_to(x.view(2))
        True
    """
    return (
        self.untyped_storage() is tensor.untyped_storage()
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    With `ambiguity_check`, raises RuntimeError where several orders fit, or, given a list of memory
    formats, where more than one of them does.

    Example:

        >>> aten.ones(2, 3).t().dim_order()
        (1, 0)
    """
    strides = self.stride()
    order = tuple(sorted(range(self.dim()), key=lambda dim: (-strides[dim], dim)))
    if isinstance(ambiguity_check, list):
        fitting = [one for one in ambiguity_check if self.is_contiguous(memory_format=one)]
        if len(fitting) > 1:
            raise RuntimeError(f"dim_order(): the tensor has several orders: {fitting}")
    elif ambiguity_check and len(set(strides)) < len(strides):
        raise RuntimeError("dim_order(): several orders fit the tensor's strides")
    return order


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor, as `dtype` if given: it is dense.

    Example:

        >>> aten.ones(2).to_dense()
        tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype=dtype)


def dense_dim(self: Tensor) -> int:
    """The number of dimensions: all are dense.

    Example:

        >>> aten.ones(2, 3).dense_dim()
        2
    """
    return self.dim()


def sparse_dim(self: Tensor) -> int:
    """0: none is sparse.

    Example:

        >>> aten.ones(2).sparse_dim()
        0
    """
    return 0


def dequantize(self: Tensor) -> Tensor:
    """The tensor as float32: it is not quantized.

    Example:

        >>> aten.ones(2).dequantize()
        tensor([1., 1.])
    """
    return self.to(dtype=DTYPES["float32"])


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What takes this tensor's place when `other` is loaded: a copy of it in here, or `other`.

    Example:

        >>> aten.ones(2).module_load(aten.zeros(2))
        tensor([0., 0.])
    """
    if assign:
        return other.detach()
    return self.copy_(other).detach()


# Elements, one by one, in Python


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Each element becomes what the function gives for it.

    Raises TypeError for tensors of other devices; what the function raises leaves the tensor as it
    was.

    Example:

        >>> aten.tensor([1, 2]).apply_(lambda one: one * 10)
        tensor([10, 20])
    """
    return _elementwise("apply_", self, callable, ())


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Each element becomes what the function gives for it and that of `tensor`, broadcast.

    Example:

        >>> aten.tensor([1, 2]).map_(aten.tensor([5, 6]), lambda one, other: one + other)
        tensor([6, 8])
    """
    return _elementwise("map_", self, callable, (tensor,))


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Each element becomes what the function gives for it and those of `x` and `y`, broadcast.

    Example:

        >>> x, y, z = aten.tensor([1, 2]), aten.tensor([1, 1]), aten.tensor([3, 4])
        >>> x.map2_(y, z, lambda a, b, c: a + b * c)
        tensor([4, 6])
    """
    return _elementwise("map2_", self, callable, (x, y))


def _elementwise(
    name: str, self: Tensor, function: Callable[..., Any], others: tuple[Tensor, ...]
) -> Tensor:
    for one in (self, *others):
        if not isinstance(one, Tensor) or one.device.type != "cpu":
            raise TypeError(f"{name}(): expected tensors on the CPU")
        if one.dtype is not self.dtype:
            raise TypeError(f"{name}(): expected tensors of {self.dtype}, got {one.dtype}")
    lists = [one.expand(self.shape).reshape(-1).tolist() for one in (self, *others)]
    made = [function(*values) for values in zip(*lists, strict=True)]
    if not all(isinstance(one, (int, float, complex)) for one in made):
        raise TypeError(f"{name}(): expected a function that gives numbers")
    result = registry.ops.aten.empty((len(made),), dtype=self.dtype)
    if made:
        from aten.construction import tensor

        result = tensor(made, dtype=self.dtype)
    return self.copy_(result.view(self.shape))


def _as_method(name: str, arguments: str, answer: object) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any) -> Any:
        from aten.tensor_type import predicates

        return getattr(predicates, name)(self, *args)

    method.__name__ = name
    method.__doc__ = (
        f"`aten.{name}` of the tensor.\n\n"
        f"Example:\n\n    >>> aten.ones(2).{name}({arguments})\n    {answer}\n"
    )
    return method


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """The memory of `data` as a leaf of class `cls`, a subclass of Tensor.

    Raises TypeError for other classes, and where `data` is no tensor.

    Example:

        >>> class Marked(aten.Tensor):
        ...     pass
        >>> type(aten.Tensor._make_subclass(Marked, aten.ones(2))).__name__
        'Marked'
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass: data must be a tensor, not {type(data).__name__}")
    with DisableTorchFunctionSubclass():
        made = data.detach().as_subclass(cls)
    made.requires_grad_(require_grad)
    return made


def _make_wrapper_subclass(
    cls: type[Tensor],
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: dtype | None = None,
    layout: Any = LAYOUTS["strided"],
    device: Any = "cpu",
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Tensor:
    """A tensor of class `cls` that has no data, and says that it is on `device`.

    `cls.__torch_dispatch__` is asked what operators give of it; what it stands for, the class keeps
    in attributes.

    Raises:
        RuntimeError: `cls` has no `__torch_dispatch__`, or there is no such device.
        TypeError: `cls` is no subclass of Tensor.

    Example:

        >>> class Shell(aten.Tensor):
        ...     __torch_dispatch__ = classmethod(lambda cls, func, types, args, kwargs: func)
        >>> aten.Tensor._make_wrapper_subclass(Shell, (2, 3)).shape
        aten.Size([2, 3])
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"_make_wrapper_subclass: cls must be a subclass of Tensor, not {cls!r}")
    if not has_torch_dispatch(cls):
        raise RuntimeError(f"_make_wrapper_subclass: {cls.__name__} has no __torch_dispatch__")
    # What has no data is a fake tensor to whoever takes its class off.
    import_module("aten.transforms")
    if layout is not LAYOUTS["strided"]:
        raise RuntimeError(f"_make_wrapper_subclass: layout must be aten.strided, not {layout}")
    with DisableTorchFunction(), ExcludeDispatchKeyGuard(KEYS_OF_MODES):
        described = _described(size, strides, storage_offset or 0, memory_format, dtype)
        made = fake_window(described, _device(device)).as_subclass(cls)
        made.requires_grad_(requires_grad)
    return made


def _described(
    size: Sequence[int],
    strides: Sequence[int] | None,
    offset: int,
    memory_format: Any,
    element: dtype | None,
) -> Tensor:
    """A meta tensor with these sizes and strides."""
    options: dict[str, Any] = {"dtype": element, "device": "meta"}
    if strides is None:
        made = registry.ops.aten.empty(tuple(size), memory_format=memory_format, **options)
        strides = made.stride()
    if not offset:
        return registry.ops.aten.empty_strided(tuple(size), tuple(strides), **options)
    extent = 1 + sum((one - 1) * step for one, step in zip(size, strides, strict=True))
    room = registry.ops.aten.empty((offset + max(extent, 0),), **options)
    return registry.ops.aten.as_strided(room, tuple(size), tuple(strides), offset)


ATTRIBUTES: dict[str, Any] = {
    **_ANSWERS,
    **{kind: _moved(kind) for kind in ("cuda", "ipu", "mtia", "xpu", "hpu")},
    **{
        name: _as_method(name, arguments, answer)
        for name, arguments, answer in (
            ("get_device", "", -1),
            ("is_distributed", "", False),
            ("is_same_size", "aten.ones(3)", False),
        )
    },
    "_make_subclass": staticmethod(_make_subclass),
    "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass),
    **GRADIENTS,
    **{
        function.__name__: function
        for function in (
            apply_,
            const_data_ptr,
            dense_dim,
            dequantize,
            dim_order,
            is_pinned,
            is_set_to,
            is_shared,
            map2_,
            map_,
            module_load,
            pin_memory,
            share_memory_,
            sparse_dim,
            to_dense,
        )
    },
}
for _name, _value in ATTRIBUTES.items():
    if type(_value) is FunctionType:
        _value.__module__, _value.__qualname__ = "aten", f"Tensor.{_name}"
