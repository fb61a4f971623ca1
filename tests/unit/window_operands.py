"""Operands of fused convolutions, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

import aten

# What activations take.
VALUES = {"hardtanh": [0.0, 6.0]}


def drawn(*shape: int, seed: int = 0) -> aten.Tensor:
    generator = numpy.random.default_rng([seed, *shape])
    return aten.from_numpy(generator.standard_normal(shape).astype("float32"))


def numbers_of_both(
    first_step: int,
    first_padding: int | list[int],
    step: int,
    padding: int | list[int],
    activations: Sequence[str] = ("none", "none"),
    dilation: int = 1,
) -> tuple[Any, ...]:
    """What `fused::expanded_convolution` takes besides tensors, of square windows."""

    def sides(padding: int | list[int]) -> list[int]:
        return [padding, padding] if isinstance(padding, int) else padding

    first, last = activations
    return (
        *([first_step] * 2, sides(first_padding), [1, 1], first, VALUES.get(first, [])),
        *([step] * 2, sides(padding), [dilation] * 2, last, VALUES.get(last, [])),
    )
