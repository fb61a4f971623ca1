"""Operands of benchmark cases: the same numbers for every library, each in memory of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Operand:
    """An array to draw: `kind` is normal, uniform (0 to 1), positive (0.1 to 2), integers (below
    `bound`) or permutation (of `bound`)."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    kind: str = "normal"
    bound: int = 100

    def array(self, seed: int) -> Any:
        """The numbers as a NumPy array; bfloat16 ones as float32."""
        import numpy

        generator = numpy.random.default_rng(seed)
        if self.kind == "permutation":
            return generator.permutation(self.bound).reshape(self.shape).astype(self.dtype)
        if self.dtype == "bool":
            return generator.random(self.shape) < 0.5
        if self.kind == "integers" or self.dtype.startswith(("int", "uint")):
            return generator.integers(0, self.bound, self.shape).astype(self.dtype)
        if self.kind == "normal":
            drawn = generator.standard_normal(self.shape, dtype=numpy.float32)
        else:
            drawn = generator.random(self.shape, dtype=numpy.float32)
        if self.kind == "positive":
            drawn = 0.1 + 1.9 * drawn
        return drawn.astype("float32" if self.dtype == "bfloat16" else self.dtype)

    def of(self, lib: Any, seed: int) -> Any:
        """The numbers as `lib` holds them. Raises TypeError where NumPy has no such type."""
        array = self.array(seed)
        if lib.__name__ == "numpy":
            if self.dtype == "bfloat16":
                raise TypeError("NumPy has no bfloat16")
            return array
        tensor = lib.from_numpy(array).clone()
        return tensor.to(lib.bfloat16) if self.dtype == "bfloat16" else tensor


def normal(*shape: int, dtype: str = "float32") -> Operand:
    return Operand(shape, dtype)


def uniform(*shape: int, dtype: str = "float32") -> Operand:
    return Operand(shape, dtype, "uniform")


def positive(*shape: int, dtype: str = "float32") -> Operand:
    return Operand(shape, dtype, "positive")


def integers(*shape: int, below: int = 100, dtype: str = "int64") -> Operand:
    return Operand(shape, dtype, "integers", below)


def booleans(*shape: int) -> Operand:
    return Operand(shape, "bool")


def permutation(*shape: int, dtype: str = "int64") -> Operand:
    """Every number below the count of elements once: no two are equal."""
    return Operand(shape, dtype, "permutation", math.prod(shape))


def namespace(lib: Any, operands: dict[str, Operand], setup: str = "") -> dict[str, Any]:
    """The names a statement may use: `lib`, the operands, and what `setup` makes of them."""
    names: dict[str, Any] = {"lib": lib}
    for seed, (name, operand) in enumerate(operands.items()):
        names[name] = operand.of(lib, seed)
    if setup:
        exec(setup, names)
    return names
