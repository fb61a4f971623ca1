"""Captured programs of files that serve inputs of many sizes.

What depends on the size is written as a polynomial in it. A program of one size is made of that
when such inputs first come, and checked as any other is.
"""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.compiler.files.frozen import FrozenProgram

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# Programs that are kept for sizes that came before.
_KEPT = 64
_MOST_COEFFICIENTS = 3
_LARGEST = 1 << 48
# What numbers that are out of range for some size may raise.
_WRONG = (ValueError, KeyError, TypeError, IndexError)


class FrozenSizes:
    """A captured program for inputs of all sizes of a range.

    Args:
        written: what `freezing_sizes` wrote.
        make: gives the program of one size for what `freezing` writes of it.

    Raises ValueError, TypeError, KeyError or IndexError where `written` is damaged.
    """

    def __init__(
        self,
        written: Mapping[str, Any],
        make: Callable[[Mapping[str, Any]], FrozenProgram],
    ) -> None:
        self._least, self._most = written["least"], written["most"]
        self._place, self._dimension = written["place"]
        # The position among the inputs, and of the dimension that has the size.
        numbers = (self._least, self._place, self._dimension)
        if not all(type(one) is int and 0 <= one < _LARGEST for one in numbers):
            raise ValueError("sizes that are none")
        if self._most is not None and type(self._most) is not int:
            raise TypeError("a size that is none")
        self._written = written["plan"]
        self._make = make
        # Damage is found now, and not when the first inputs come.
        self._programs: dict[int, FrozenProgram] = {self._least: self._made(self._least)}

    def __call__(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The program's results, or None where it is none for these inputs."""
        given = inputs[self._place] if self._place < len(inputs) else None
        if not isinstance(given, Tensor) or given.dim() <= self._dimension:
            return None
        size = given.size(self._dimension)
        program = self._programs.get(size)
        if program is None:
            if size < self._least or (self._most is not None and size > self._most):
                return None
            try:
                program = self._made(size)
            except _WRONG:
                return None
            if len(self._programs) >= _KEPT:
                self._programs.clear()
            self._programs[size] = program
        return program(inputs)

    def _made(self, size: int) -> FrozenProgram:
        return self._make(at_size(self._written, size))


def at_size(written: Any, size: int) -> Any:
    """What is written for many sizes, as it is for one."""
    if isinstance(written, list):
        return [at_size(one, size) for one in written]
    if not isinstance(written, dict):
        return written
    if len(written) == 1 and "size" in written:
        return _evaluated(written["size"], size)
    return {name: at_size(one, size) for name, one in written.items()}


def _evaluated(coefficients: Any, size: int) -> int:
    """A polynomial, the constant first."""
    if not isinstance(coefficients, list) or len(coefficients) > _MOST_COEFFICIENTS:
        raise ValueError("a polynomial of too high a degree")
    value = 0
    for one in reversed(coefficients):
        if type(one) is not int or abs(one) > _LARGEST:
            raise ValueError("a number out of range")
        value = value * size + one
    return value
