"""Helpers of networks: sequences of several lengths, parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.nn.utils import rnn
from aten.refusals import refuse
from aten.registry import ops

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
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


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale gradients so that their norm together is at most `max_norm`; gives what it was.

    Raises RuntimeError for a norm that is no finite number, with `error_if_nonfinite`.
    """
    gradients = _gradients(parameters)
    if not gradients:
        return ops.aten.zeros(())
    norms = ops.aten.stack(ops.aten._foreach_norm(gradients, norm_type))
    total: Tensor = ops.aten.linalg_vector_norm(norms, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"clip_grad_norm_: the norm of order {norm_type} of the gradients is {total.item()}"
        )
    ops.aten._foreach_mul_(gradients, (max_norm / (total + 1e-6)).clamp(max=1.0))
    return total


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Cut gradients' elements off at ±`clip_value`."""
    gradients = _gradients(parameters)
    if gradients:
        ops.aten._foreach_clamp_min_(gradients, -float(clip_value))
        ops.aten._foreach_clamp_max_(gradients, float(clip_value))


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
