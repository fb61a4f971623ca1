"""Memory formats beside torch's: what keeps, makes and joins them; sizes of none and of one."""

from __future__ import annotations

import itertools
import random
from math import prod
from typing import Any

import pytest
import torch

import aten

FORMATS = ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
SIZES = [
    *itertools.product((0, 1, 2, 3), repeat=4),
    *itertools.product((0, 1, 2), repeat=5),
    (3, 4),
    (2, 3, 4),
]


def laid_out(lib: Any, sizes: tuple[int, ...], order: str) -> Any:
    """Zeros in an order; "turned" exchanges the last two dimensions."""
    made = lib.zeros(sizes)
    if order == "turned":
        return made.transpose(-1, -2)
    return made.contiguous(memory_format=getattr(lib, order))


def strides_of(lib: Any, sizes: tuple[int, ...], order: str, wanted: str) -> Any:
    """What conversions to a format give; None where a format is not for so many dimensions."""
    told = getattr(lib, wanted)
    try:
        given = laid_out(lib, sizes, order)
        kept = given.to(memory_format=told)
        made = [
            *(given, kept, given.to(lib.float64, memory_format=told), given.float()),
            given.to(lib.float32, copy=True, memory_format=told),
            *(given.to("cpu", memory_format=told), lib.empty_like(given, memory_format=told)),
            *(given.clone(), given.clone(memory_format=told), lib.cat([given, given], -1)),
        ]
    except RuntimeError:
        return None
    return kept is given, [tuple(one.stride()) for one in made]


@pytest.mark.parametrize("wanted", FORMATS)
@pytest.mark.parametrize("order", [*FORMATS[:3], "turned"])
def test_conversions(order: str, wanted: str) -> None:
    for sizes in SIZES:
        found, expected = (strides_of(lib, sizes, order, wanted) for lib in (aten, torch))
        assert found == expected, sizes


def joined(
    lib: Any, parts: list[tuple[str, list[int], str, list[int]]], dim: int, out: bool
) -> Any:
    """The tensors side by side: sizes, strides, type and elements; None where that is refused."""
    tensors = []
    for name, sizes, order, values in parts:
        one = lib.tensor(values, dtype=getattr(lib, name)).reshape(sizes)
        if order == "channels_last" and len(sizes) == 4:
            one = one.to(memory_format=lib.channels_last)
        elif order == "turned" and len(sizes) > 1:
            one = one.transpose(0, 1).contiguous().transpose(0, 1)
        tensors.append(one)
    try:
        made = lib.full((2,), 3.0) if out else None
        result = lib.cat(tensors, dim) if made is None else lib.cat(tensors, dim, out=made)
    except (RuntimeError, IndexError, TypeError):
        return None
    name = str(result.dtype).split(".")[-1]
    return tuple(result.shape), tuple(result.stride()), name, result.tolist()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_empty_vectors_are_left_out(seed: int) -> None:
    """Of joins, whatever the others are: but their types and orders count."""
    drawn = random.Random(seed)
    for _ in range(400):
        rank = drawn.randint(1, 4)
        common = [drawn.randint(0, 3) for _ in range(rank)]
        dim, parts = drawn.randint(-rank, rank - 1), []
        for _ in range(drawn.randint(1, 4)):
            sizes = [0]
            if drawn.random() > 0.35:
                sizes = list(common)
                sizes[dim] = drawn.randint(0, 3)
            name = drawn.choice(["float32"] * 6 + ["int64", "float64", "bool"])
            order = drawn.choice(["", "", "channels_last", "turned"])
            parts.append((name, sizes, order, [drawn.randint(0, 9) for _ in range(prod(sizes))]))
        out = drawn.random() < 0.3
        assert joined(aten, parts, dim, out) == joined(torch, parts, dim, out), (parts, dim, out)


@pytest.mark.parametrize("count", [3, 1 << 16])
def test_a_join_of_one_tensor_is_a_copy(count: int) -> None:
    given, nothing = aten.ones(count), aten.empty(0)
    for made in (aten.cat([given]), aten.cat([nothing, given]), aten.cat([given, nothing], -1)):
        assert not made.is_set_to(given)
        made[0] = 2
        assert given[0] == 1
    kept = aten.cat([nothing, given])
    given.fill_(5)
    assert bool((kept == 1).all())
