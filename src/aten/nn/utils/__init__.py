"""Helpers of networks: sequences of several lengths, parameters as one vector."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.names.refusals import refuse
from aten.nn.utils import rnn
from aten.registry import ops

if TYPE_CHECKING:
    from aten.nn.utils import parametrizations, parametrize, prune
    from aten.nn.utils.fusion import (
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
    )
    from aten.nn.utils.weights import (
        remove_spectral_norm,
        remove_weight_norm,
        spectral_norm,
        weight_norm,
    )

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all tensors, one after another."""
    return ops.aten.cat([one.reshape(-1) for one in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the tensors be windows on a vector, each on as many elements as it has.

    Raises TypeError where `vec` is no tensor, RuntimeError where it has too few elements.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: vec must be a tensor, not {type(vec).__name__}")
    first = 0
    for one in parameters:
        one.data = vec[first : first + one.numel()].view_as(one)
        first += one.numel()


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Any]:
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    return [one.grad for one in listed if one.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors; 0 of none. They are always taken together.

    Raises RuntimeError for a norm that is no finite number, with `error_if_nonfinite`.
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not listed:
        return ops.aten.zeros(())
    norms = ops.aten.stack(ops.aten._foreach_norm(listed, norm_type))
    total: Tensor = ops.aten.linalg_vector_norm(norms, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"clip_grad_norm_: the norm of order {norm_type} of the gradients is {total.item()}"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients whose norm together is `total_norm` so that it is at most `max_norm`."""
    gradients = _gradients(parameters)
    if gradients:
        ops.aten._foreach_mul_(gradients, (max_norm / (total_norm + 1e-6)).clamp(max=1.0))


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients so that their norm together is at most `max_norm`; gives what it was.

    Raises RuntimeError for a norm that is no finite number, with `error_if_nonfinite`.
    """
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Cut gradients' elements off at ±`clip_value`."""
    gradients = _gradients(parameters)
    if gradients:
        ops.aten._foreach_clamp_min_(gradients, -float(clip_value))
        ops.aten._foreach_clamp_max_(gradients, float(clip_value))


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` under its former name. Warns."""
    warnings.warn("clip_grad_norm: use clip_grad_norm_", FutureWarning, stacklevel=2)
    norm: Tensor = clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)
    return norm


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Let the weights of all 2-d convolutions in a module lie in memory in this order.

    Example:

        >>> layer = aten.nn.utils.convert_conv2d_weight_memory_format(
        ...     aten.nn.Conv2d(2, 3, 2), aten.channels_last
        ... )
        >>> layer.weight.stride()
        (8, 1, 4, 2)
    """
    return _reordered(module, ("Conv2d", "ConvTranspose2d"), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """`convert_conv2d_weight_memory_format` for 3-d convolutions."""
    return _reordered(module, ("Conv3d", "ConvTranspose3d"), memory_format)


def _reordered(module: Any, names: tuple[str, ...], memory_format: Any) -> Any:
    layers = import_module("aten.nn.modules.convolution")
    kinds = tuple(getattr(layers, name) for name in names)
    for one in module.modules():
        if isinstance(one, kinds):
            one.weight.data = one.weight.detach().clone(memory_format=memory_format)
    return module


def __getattr__(name: str) -> Any:
    # They need modules, and modules need this package.
    if name in ("parametrizations", "parametrize", "prune"):
        return import_module(f"aten.nn.utils.{name}")
    if name.startswith("fuse_") and name in __all__:
        return getattr(import_module("aten.nn.utils.fusion"), name)
    if name.endswith(("spectral_norm", "weight_norm")) and name in __all__:
        return getattr(import_module("aten.nn.utils.weights"), name)
    return refuse(__name__, name)


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters and buffers have memory and no first values.

    Raises RuntimeError for what is no class of modules with an argument `device`.

    Example:

        >>> aten.nn.utils.skip_init(aten.nn.Linear, 3, 2).weight.shape
        aten.Size([2, 3])
    """
    import inspect

    if not inspect.isclass(module_cls) or not hasattr(module_cls, "to_empty"):
        raise RuntimeError(f"skip_init: expected a class of modules, got {module_cls!r}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"skip_init: {module_cls.__name__} takes no argument 'device'")
    final = kwargs.pop("device", "cpu")
    made: Any = module_cls(*args, **{**kwargs, "device": "meta"})
    return made.to_empty(device=final)
