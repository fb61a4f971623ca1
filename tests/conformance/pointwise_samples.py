"""Tensors to compare with torch on: values, layouts, and the way between the two libraries."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import Any

import torch

import aten
from aten._core.tensor.making import tensor_from_buffer

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS, "complex64")

COUNT = 131  # more than two rounds of the widest vector loop, and a remainder


def to_aten(tensor: torch.Tensor) -> aten.Tensor:
    """The same elements, sizes and strides over memory of its own."""
    if tensor.device.type == "meta":
        return aten.ops.aten.empty_strided(
            list(tensor.shape),
            list(tensor.stride()),
            dtype=getattr(aten, dtype_name(tensor)),
            device="meta",
        )
    raw = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy().copy()
    offset = tensor.storage_offset() * tensor.element_size()
    return tensor_from_buffer(
        raw, getattr(aten, dtype_name(tensor)), tensor.shape, tensor.stride(), offset
    )


def to_torch(tensor: aten.Tensor) -> torch.Tensor:
    """A copy for torch, with the same strides."""
    element = getattr(torch, tensor.dtype.name)
    if tensor.numel() == 0:
        return torch.empty(tuple(tensor.shape), dtype=element)
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    raw = bytearray(ctypes.string_at(tensor.data_ptr(), extent * tensor.itemsize))
    flat = torch.frombuffer(raw, dtype=element)
    return flat.as_strided(tuple(tensor.shape), tensor.stride())


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def edge_values(name: str) -> list[Any]:
    """Values at which operators differ. The least integer is left out: its quotient by -1 ends
    torch's process."""
    if name == "bool":
        return [False, True]
    if name == "uint8":
        return [0, 1, 2, 3, 7, 8, 63, 64, 127, 128, 254, 255]
    if name in INTEGERS:
        top = torch.iinfo(getattr(torch, name)).max
        return [0, 1, -1, 2, -2, 3, -3, 7, 8, 31, 32, 63, 64, -64, top, -top, top // 2, top - 1]
    if name == "complex64":
        return [0j, 1 + 0j, 1j, -1 + 0j, -1j, 0.5 - 2j, -0.25 + 0.75j, 3 + 4j, -2 - 2j, 1e-3 + 5j]
    limits = torch.finfo(getattr(torch, name))
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, limits.max, -limits.max]
    special += [limits.tiny, -limits.tiny, limits.smallest_normal / 4, limits.eps]
    plain = [1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 0.1, -0.9, 7.0, 10.0, 20.5, 100.0]
    return special + plain


def values(name: str, seed: int, count: int = COUNT) -> torch.Tensor:
    """`count` elements: the edge values and random ones, in an order that `seed` decides."""
    generator = torch.Generator().manual_seed(seed)
    element = getattr(torch, name)
    edges = torch.tensor(edge_values(name), dtype=element)
    if name == "bool":
        rest = torch.randint(0, 2, (count,), generator=generator).to(element)
    elif name in INTEGERS:
        rest = torch.randint(0 if name == "uint8" else -20, 21, (count,), generator=generator)
        rest = rest.to(element)
    elif name == "complex64":
        rest = torch.randn(count, dtype=element, generator=generator) * 2
    else:
        rest = (torch.randn(count, dtype=torch.float64, generator=generator) * 3).to(element)
    joined = torch.cat([edges, edges, rest])[:count]
    return joined[torch.randperm(count, generator=generator)]


def layouts(name: str) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Triples of tensors that broadcast, each triple of one kind of layout."""

    def made(shape: tuple[int, ...], seed: int) -> torch.Tensor:
        return values(name, seed, math.prod(shape)).reshape(shape)

    def triple(change: Any, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
        shapes = shapes if len(shapes) == 3 else shapes * 3
        return [change(made(shape, seed)) for seed, shape in enumerate(shapes)]

    def same(tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    yield "contiguous", triple(same, (3, 4, 37))
    yield "transposed", triple(lambda t: t.permute(2, 0, 1), (3, 4, 37))
    yield "sliced", triple(lambda t: t[:, ::2, 1::3], (3, 8, 41))
    yield "expanded", triple(lambda t: t.expand(5, 4, 37), (4, 1))
    yield "0-d", triple(same, ())
    yield "one element", triple(same, (1, 1))
    yield "empty", triple(same, (0, 4))
    yield "broadcast", triple(same, (4, 37), (3, 1, 37), (1, 4, 1))
    yield "0-d and n-d", triple(same, (), (5, 7), (7,))
    yield (
        "channels last",
        triple(lambda t: t.contiguous(memory_format=torch.channels_last), (2, 3, 5, 7)),
    )
    first, second, third = triple(same, (6, 7))
    yield "mixed", [first, made((7, 6), 4).t(), third[:, :1]]
    yield "gaps", [made((6, 14), 5)[:, ::2], made((7, 12), 6).t()[::2], second]
    yield "rank 12", triple(lambda t: t.transpose(0, 11), (2, 1) * 6)
