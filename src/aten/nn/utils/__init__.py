"""Helpers of networks: sequences of several lengths, parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aten._core.tensor import Tensor
from aten.nn.utils import rnn
from aten.refusals import refuse
from aten.registry import ops

__all__ = ["parameters_to_vector", "rnn", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all tensors, one after another."""
    return ops.aten.cat([one.reshape(-1) for one in parameters])  # type: ignore[no-any-return]


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the tensors be windows on a vector, each on as many elements as it has.

    Raises TypeError where `vec` is no tensor, RuntimeError where it has too few elements.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected aten.Tensor, but got: {type(vec).__name__}")
    first = 0
    for one in parameters:
        one.data = vec[first : first + one.numel()].view_as(one)
        first += one.numel()


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
