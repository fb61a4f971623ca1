"""The generator that operators draw from where none is given: its seed and its state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from aten._core.random.generator import Generator, default_generator
from aten._core.tensor.tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsInt

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
    """Begin anew from `seed`. Raises ValueError out of [-2^63, 2^64).

    Example:

        >>> aten.manual_seed(5).initial_seed()
        5
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Begin anew from a number nobody can foresee, which is returned.

    Example:

        >>> isinstance(aten.seed(), int)
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the last beginning.

    Example:

        >>> g = aten.manual_seed(5)
        >>> aten.initial_seed()
        5
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state as uint8 tensor; torch can go on from it.

    Example:

        >>> aten.get_rng_state().dtype
        aten.uint8
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go on from a state of `get_rng_state`, or of torch's. Raises RuntimeError for other bytes.

    Example:

        >>> state = aten.get_rng_state()
        >>> x = aten.rand(2)
        >>> aten.set_rng_state(state)
        >>> aten.equal(aten.rand(2), x)
        True
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cpu"
) -> Iterator[None]:
    """Within, numbers are drawn as usual; afterwards the state is what it was before.

    There are no accelerators whose `devices` had states of their own.

    Example:

        >>> with aten.random.fork_rng():
        ...     aten.rand(2).shape
        aten.Size([2])
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
