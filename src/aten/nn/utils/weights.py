"""Weights computed from others before each call, in the form that `parametrizations` replaced.

The names in state dicts are those of files of that time: `weight_g`, `weight_orig`, ….
"""

from __future__ import annotations

import warnings
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.nn import functional
from aten.nn.modules.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]

_TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


class _Computed:
    """A hook that computes a weight before each call of its module."""

    def __init__(self, name: str) -> None:
        self.name = name

    def computed(self, module: Any, training: bool) -> Tensor:
        raise NotImplementedError

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.computed(module, module.training))


class WeightNorm(_Computed):
    """The hook of `weight_norm`."""

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def computed(self, module: Any, training: bool) -> Tensor:
        length, direction = (getattr(module, f"{self.name}_{part}") for part in "gv")
        made: Tensor = ops.aten._weight_norm(direction, length, self.dim)
        return made


class SpectralNorm(_Computed):
    """The hook of `spectral_norm`."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name)
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be at least 1, got {n_power_iterations}"
            )
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight with `dim` for its rows."""
        return weight.movedim(self.dim, 0).flatten(1)

    def unit(self, vector: Tensor) -> Tensor:
        """The vector's direction."""
        return functional.normalize(vector, dim=0, eps=self.eps)

    def computed(self, module: Any, training: bool) -> Tensor:
        weight = getattr(module, f"{self.name}_orig")
        left, right = (getattr(module, f"{self.name}_{part}") for part in "uv")
        matrix = self.matrix(weight)
        if training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    right.copy_(self.unit(ops.aten.mv(matrix.t(), left)))
                    left.copy_(self.unit(ops.aten.mv(matrix, right)))
                # They change at the next call, and gradients need what they are now.
                left, right = left.clone(), right.clone()
        made: Tensor = weight / ops.aten.dot(left, ops.aten.mv(matrix, right))
        return made


def _hooks(module: Module, kind: type[_Computed], name: str) -> list[int]:
    return [
        key
        for key, (hook, _) in module._forward_pre_hooks.items()
        if isinstance(hook, kind) and hook.name == name
    ]


def _weight(function: str, module: Module, kind: type[_Computed], name: str) -> Any:
    """The parameter that is to be computed, taken from the module."""
    if _hooks(module, kind, name):
        raise RuntimeError(f"{function}: {name!r} of the module has such a hook already")
    if name not in module._parameters:
        # As torch's, which look for it in two ways.
        missing = AttributeError if kind is WeightNorm else KeyError
        raise missing(f"{function}: {type(module).__name__} has no parameter {name!r}")
    weight = module._parameters[name]
    if type(weight).__name__ == "UninitializedParameter":
        raise ValueError(f"{function}: {name!r} has no sizes yet: call the module first")
    del module._parameters[name]
    return weight


def _removed(function: str, module: Any, kind: type[_Computed], name: str, parts: str) -> Any:
    """The module with a plain parameter again."""
    found = _hooks(module, kind, name)
    if not found:
        raise ValueError(f"{function}: {name!r} of the module has no such hook")
    hook, _ = module._forward_pre_hooks.pop(found[0])
    with no_grad():
        weight = hook.computed(module, False)
    delattr(module, name)
    for part in parts.split():
        delattr(module, f"{name}_{part}")
    module.register_parameter(name, Parameter(weight.detach()))
    return module


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight be a length `weight_g` times a direction `weight_v` (Salimans & Kingma 2016).

    Warns: `parametrizations.weight_norm` is what to use today. Raises RuntimeError where the weight
    is so already, AttributeError where there is none.

    Example:

        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = aten.nn.utils.weight_norm(aten.nn.Linear(3, 2))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (aten.Size([2, 1]), aten.Size([2, 3]))
    """
    warnings.warn(
        "weight_norm: use aten.nn.utils.parametrizations.weight_norm", FutureWarning, stacklevel=2
    )
    hook = WeightNorm(name, dim)
    weight = _weight("weight_norm", module, WeightNorm, name)
    length = ops.aten.norm_except_dim(weight.detach(), 2, hook.dim)
    module.register_parameter(f"{name}_g", Parameter(length))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.computed(module, False))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Take `weight_norm` back: the weight is a parameter again. Raises ValueError without one.

    Example:

        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = aten.nn.utils.weight_norm(aten.nn.Linear(3, 2))
        >>> list(aten.nn.utils.remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    return _removed("remove_weight_norm", module, WeightNorm, name, "g v")


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Let a weight be `weight_orig` over its largest singular value (Miyato et al. 2018).

    Calls while training follow that by `n_power_iterations`. Raises ValueError for fewer than one,
    RuntimeError where the weight is so already, KeyError where there is none.

    Example:

        >>> layer = aten.nn.utils.spectral_norm(aten.nn.Linear(3, 2))
        >>> list(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = 1 if isinstance(module, _TRANSPOSED) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = _weight("spectral_norm", module, SpectralNorm, name)
    matrix = hook.matrix(weight.detach())
    drawn = [hook.unit(matrix.new_empty(size).normal_(0, 1)) for size in matrix.shape]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    for part, value in zip("uv", drawn, strict=True):
        module.register_buffer(f"{name}_{part}", value)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Take `spectral_norm` back: the weight is a parameter again. Raises ValueError without one.

    Example:

        >>> layer = aten.nn.utils.spectral_norm(aten.nn.Linear(3, 2))
        >>> list(aten.nn.utils.remove_spectral_norm(layer).state_dict())
        ['bias', 'weight']
    """
    return _removed("remove_spectral_norm", module, SpectralNorm, name, "u v orig")
