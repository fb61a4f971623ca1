"""Layers whose widths come from the first input, and parameters without sizes until then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.nn.modules import convolution, normalization
from aten.nn.modules.linear import Linear
from aten.nn.modules.module import Module
from aten.nn.parameter import Buffer, Parameter
from aten.registry import ops

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "UninitializedBuffer",
    "UninitializedParameter",
]


def _materialized(one: Any, becomes: type, shape: Sequence[int], device: Any, dtype: Any) -> None:
    options = {"device": device or one.device, "dtype": dtype or one.dtype}
    one.data = ops.aten.empty(shape, **options)
    one.__class__ = becomes


class UninitializedParameter(Parameter):
    """A parameter without sizes, until `materialize` gives it some."""

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return super().__new__(cls, ops.aten.empty(0, device=device, dtype=dtype), requires_grad)

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Become a parameter of these sizes, whose elements are not initialized."""
        _materialized(self, Parameter, shape, device, dtype)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "<UninitializedParameter>"


class UninitializedBuffer(Buffer):
    """A buffer without sizes, until `materialize` gives it some."""

    def __new__(cls, *, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        made = ops.aten.empty(0, device=device, dtype=dtype)
        return super().__new__(cls, made, persistent=persistent)

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Become a buffer of these sizes, whose elements are not initialized."""
        _materialized(self, Buffer, shape, device, dtype)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "<UninitializedBuffer>"


_UNINITIALIZED = (UninitializedParameter, UninitializedBuffer)


class _Lazy(Module):
    """A layer that becomes another class as it is first called; a state dict gives sizes, too."""

    _becomes: ClassVar[type[Module]]
    _width: ClassVar[str]

    def _wait(self, places: Sequence[str], made: dict[str, Any]) -> None:
        """Put parameters and buffers without sizes at these places, until the first call."""
        for name in places:
            if name.startswith("running"):
                self.register_buffer(name, UninitializedBuffer(**made))
            else:
                self.register_parameter(name, UninitializedParameter(**made))
        self._waiting = [
            self.register_forward_pre_hook(_inferred),
            self.register_load_state_dict_pre_hook(_sized),
        ]

    def has_uninitialized_params(self) -> bool:
        """Whether anything has no sizes yet."""
        kept = [*self._parameters.values(), *self._buffers.values()]
        return any(isinstance(one, _UNINITIALIZED) for one in kept)

    def initialize_parameters(self, input: Tensor) -> None:
        """Take sizes from an input, and draw the first values."""
        width = self._width_of(input)
        if getattr(self, self._width) == 0:
            setattr(self, self._width, width)
        if self.has_uninitialized_params():
            for name, one in [*self._parameters.items(), *self._buffers.items()]:
                if isinstance(one, _UNINITIALIZED):
                    one.materialize(self._shape_of(name, width))
            self.reset_parameters()

    def _apply(self, change: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        waiting = [
            (name, one)
            for name, one in self._buffers.items()
            if isinstance(one, UninitializedBuffer)
        ]
        super()._apply(change, recurse)
        # Buffers are replaced, but these have to stay what waits for sizes.
        for name, one in waiting:
            changed = self._buffers[name]
            assert changed is not None
            one.data, self._buffers[name] = changed, one
        return self

    def _width_of(self, input: Tensor) -> int:
        raise NotImplementedError

    def _shape_of(self, name: str, width: int) -> Sequence[int]:
        return (width,)

    def reset_parameters(self) -> None:
        """Draw first values, where there are sizes."""
        if not self.has_uninitialized_params() and getattr(self, self._width) != 0:
            self._becomes.reset_parameters(self)  # type: ignore[attr-defined]


def _inferred(module: Any, args: tuple[Any, ...]) -> None:
    module.initialize_parameters(*args)
    for handle in module.__dict__.pop("_waiting"):
        handle.remove()
    module.__class__ = module._becomes


def _sized(module: Any, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    for name, one in [*module._parameters.items(), *module._buffers.items()]:
        given = state.get(prefix + name)
        if isinstance(one, _UNINITIALIZED) and given is not None:
            one.materialize(given.shape)


class LazyLinear(_Lazy, Linear):
    """`Linear` with as many `in_features` as its first input has.

    Example:

        >>> layer = aten.nn.LazyLinear(3)
        >>> layer(aten.ones(2, 5)).shape
        aten.Size([2, 3])
        >>> layer
        Linear(in_features=5, out_features=3, bias=True)
    """

    _becomes = Linear
    _width = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._wait(("weight", "bias") if bias else ("weight",), {"device": device, "dtype": dtype})

    def _width_of(self, input: Tensor) -> int:
        return input.shape[-1]

    def _shape_of(self, name: str, width: int) -> Sequence[int]:
        return (self.out_features, width) if name == "weight" else (self.out_features,)


class _LazyConvolution(_Lazy, convolution._Convolution):
    _width = "in_channels"

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        made = {name: kwargs.pop(name, None) for name in ("device", "dtype")}
        signature = _arguments(self._becomes, (0, out_channels, kernel_size, *args), kwargs)
        biased, groups = signature.pop("bias"), signature["groups"]
        super().__init__(**{**signature, "out_channels": 0}, bias=False)
        if groups > 0 and out_channels % groups:
            raise ValueError(f"{type(self).__name__}: groups must divide out_channels")
        self.out_channels = out_channels
        self._wait(("weight", "bias") if biased else ("weight",), made)

    def _width_of(self, input: Tensor) -> int:
        rank = len(self.kernel_size)
        if input.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected input of {rank + 1} or {rank + 2} dimensions, "
                f"got {input.dim()}"
            )
        width: int = input.shape[-rank - 1]
        return width

    def _shape_of(self, name: str, width: int) -> Sequence[int]:
        if name == "bias":
            return (self.out_channels,)
        first, second = self.out_channels, width
        if self._transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)


def _arguments(becomes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a layer by name, with defaults, but for where and of what type it is."""
    from inspect import signature

    bound = signature(becomes).bind(*args, **kwargs)
    bound.apply_defaults()
    return {name: one for name, one in bound.arguments.items() if name not in ("device", "dtype")}


class _LazyNorm(_Lazy, normalization._Running):
    _width = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine, self.track_running_stats = affine, track_running_stats
        kept = (["weight"] if affine else []) + (["bias"] if affine and bias else [])
        if track_running_stats:
            kept += ["running_mean", "running_var"]
            self.num_batches_tracked = ops.aten.zeros((), dtype=DTYPES["int64"], device=device)
        self._wait(kept, {"device": device, "dtype": dtype})

    def _width_of(self, input: Tensor) -> int:
        width: int = input.shape[self._channels(input)]
        return width

    def _channels(self, input: Tensor) -> int:
        return 1


def _lazy(becomes: type[Module], base: type[_Lazy], what: str) -> Any:
    """The lazy class of a layer, under its name."""
    name = f"Lazy{becomes.__name__}"
    text = f"`{becomes.__name__}` with as many {what} as its first input has."
    space = {"_becomes": becomes, "__doc__": text, "__module__": __name__}
    return type(name, (base, becomes), space)


LazyConv1d = _lazy(convolution.Conv1d, _LazyConvolution, "in_channels")
LazyConv2d = _lazy(convolution.Conv2d, _LazyConvolution, "in_channels")
LazyConv3d = _lazy(convolution.Conv3d, _LazyConvolution, "in_channels")
LazyConvTranspose1d = _lazy(convolution.ConvTranspose1d, _LazyConvolution, "in_channels")
LazyConvTranspose2d = _lazy(convolution.ConvTranspose2d, _LazyConvolution, "in_channels")
LazyConvTranspose3d = _lazy(convolution.ConvTranspose3d, _LazyConvolution, "in_channels")
LazyBatchNorm1d = _lazy(normalization.BatchNorm1d, _LazyNorm, "num_features")
LazyBatchNorm2d = _lazy(normalization.BatchNorm2d, _LazyNorm, "num_features")
LazyBatchNorm3d = _lazy(normalization.BatchNorm3d, _LazyNorm, "num_features")
LazyInstanceNorm1d = _lazy(normalization.InstanceNorm1d, _LazyNorm, "num_features")
LazyInstanceNorm2d = _lazy(normalization.InstanceNorm2d, _LazyNorm, "num_features")
LazyInstanceNorm3d = _lazy(normalization.InstanceNorm3d, _LazyNorm, "num_features")
