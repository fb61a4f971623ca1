"""The generator that operators draw from where none is given: its seed and its state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, SupportsInt

from aten._core.generator import Generator, default_generator
from aten._core.tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def manual_seed(seed: SupportsInt) -> Generator:
    """Begin anew from `seed`. Raises ValueError out of [-2^63, 2^64)."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Begin anew from a number nobody can foresee, which is returned."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the last beginning."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state as uint8 tensor; torch can go on from it."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go on from a state of `get_rng_state`, or of torch's. Raises RuntimeError for other bytes."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cpu"
) -> Iterator[None]:
    """Within, numbers are drawn as usual; afterwards the state is what it was before.

    There are no accelerators whose `devices` had states of their own.
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
