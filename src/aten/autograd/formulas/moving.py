"""Formulas for what moves elements: joins, gathers, scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.registry import ops


def unless(accumulate: bool, gradient: Tensor, indices: Sequence[Any]) -> Tensor:
    """The gradient of what `index_put` wrote into."""
    if accumulate:
        return gradient
    zero = ops.aten.new_zeros(gradient, ())
    return ops.aten.index_put(gradient, indices, zero)


def cut_up(gradient: Tensor, sizes: Sequence[Sequence[int]], dim: int) -> list[Tensor]:
    """The parts of `gradient` that came from tensors of `sizes`."""
    made = []
    start = 0
    for one in sizes:
        if len(one) == 1 and one[0] == 0 and gradient.dim() != 1:
            made.append(ops.aten.new_zeros(gradient, one))
            continue
        length = one[dim]
        made.append(ops.aten.narrow(gradient, dim, start, length))
        start += length
    return made


def rolled_back(gradient: Tensor, shifts: Any, dims: Any) -> Tensor:
    """Rolled the other way."""
    back = [-shift for shift in ([shifts] if isinstance(shifts, int) else shifts)]
    return ops.aten.roll(gradient, back, dims)


def unrepeated(gradient: Tensor, repeats: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """The sum over the repetitions of a tensor of `sizes`."""
    if 0 in repeats:
        return ops.aten.new_zeros(gradient, sizes)
    extra = len(repeats) - len(sizes)
    parts: list[int] = []
    folded: list[int] = []
    for place, repeat in enumerate(repeats):
        folded.append(len(parts))
        parts.append(repeat)
        if place >= extra:
            parts.append(sizes[place - extra])
    if not folded:
        return gradient
    return ops.aten.sum(gradient.reshape(parts), folded)


def negated(pad: Sequence[int]) -> list[int]:
    """The numbers with the other sign."""
    return [-one for one in pad]


def unpadded(
    gradient: Tensor, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Tensor:
    """What of a padded tensor was there before; zeros for what was cut off."""
    back = [number for ends in zip(low, high, strict=True) for number in ends]
    pad = [-back[2 * dim + side] for dim in reversed(range(len(low))) for side in (0, 1)]
    inner = ops.aten.constant_pad_nd(gradient, pad)
    for dim, gap in enumerate(interior):
        if gap:
            inner = ops.aten.slice(inner, dim, 0, None, gap + 1)
    return inner


def spread_source(gradient: Tensor, index: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Of the source of index_add and index_copy."""
    chosen = ops.aten.index_select(gradient, dim, index.reshape(-1))
    return chosen.expand(sizes) if len(sizes) else chosen.reshape(())


def masked_select_gradient(gradient: Tensor, sizes: Sequence[int], mask: Tensor) -> Tensor:
    """Zeros with the gradient where the mask was true."""
    sizes = ops.aten.broadcast_tensors([ops.aten.new_zeros(gradient, sizes), mask])[0].shape
    room = ops.aten.new_zeros(gradient, sizes)
    return ops.aten.masked_scatter(room, mask, gradient)


def put_gradient(gradient: Tensor, index: Tensor, accumulate: bool) -> Tensor:
    """Of what `put` wrote into."""
    if accumulate:
        return gradient
    zeros = ops.aten.zeros_like(index, dtype=gradient.dtype)
    return ops.aten.put(gradient, index, zeros, False)


def written_extremes(
    gradient: Tensor, a: Tensor, index: Tensor, src: Tensor, result: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Of a scatter that kept extremes: for all that are the result, in equal shares."""
    chosen = ops.aten.gather(result, dim, index)
    mine, theirs = a == result, src == chosen
    number = ops.aten.scatter_add(mine.to(gradient.dtype), dim, index, theirs.to(gradient.dtype))
    share = gradient / number
    return mine * share, theirs * ops.aten.gather(share, dim, index)


def written_products(
    gradient: Tensor, a: Tensor, index: Tensor, src: Tensor, result: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Of a scatter that multiplied: the product of the others."""
    ones = ops.aten.ones_like(a)
    of_sources = ops.prims.scatter(ones, index, src, dim, "prod")
    zeros_here = ops.aten.scatter_add(ops.aten.zeros_like(a), dim, index, (src == 0).to(src.dtype))
    nonzero = ops.aten.where(src == 0, 1, src)
    rest = ops.prims.scatter(ones, index, nonzero, dim, "prod") * a
    only = ops.aten.gather(zeros_here, dim, index)
    without = ops.aten.gather(rest, dim, index)
    others = ops.aten.where(
        src == 0,
        ops.aten.where(only == 1, without, 0),
        ops.aten.where(only == 0, without / nonzero, 0),
    )
    return gradient * of_sources, ops.aten.gather(gradient, dim, index) * others


def scatter_gradients(
    gradient: Tensor,
    a: Tensor,
    index: Tensor,
    src: Tensor,
    result: Tensor,
    dim: int,
    combine: str,
) -> tuple[Tensor, Tensor]:
    """Of what `prims.scatter` wrote into, and of what it wrote."""
    if combine == "sum":
        return gradient, ops.aten.gather(gradient, dim, index)
    if combine == "replace":
        return ops.aten.scatter(gradient, dim, index, 0), ops.aten.gather(gradient, dim, index)
    if combine == "prod":
        return written_products(gradient, a, index, src, result, dim)
    return written_extremes(gradient, a, index, src, result, dim)


def wide(index: Tensor) -> Tensor:
    """An index of int64, which every operator takes."""
    return index.long()


def sorted_values(index: Tensor) -> Tensor:
    """Each value once."""
    return ops.aten._unique(index)[0]


def pooled_at(gradient: Tensor, indices: Tensor, rank: int) -> Tensor:
    """The elements at `indices`, which count those of the last `rank` dimensions, of each plane."""
    leading = gradient.shape[:-rank]
    planes, places = (one.reshape([*leading, -1]) for one in (gradient, indices))
    return ops.aten.gather(planes, -1, places).reshape(indices.shape)


def of_unpooled(gradient: Tensor, indices: Tensor, rank: int) -> Tensor:
    """Of what `max_unpool` wrote; zero where a later element of the same plane was written over."""
    numbers = ops.aten.arange(indices.numel(), dtype=DTYPES["float64"], device=indices.device)
    numbers = numbers.reshape(indices.shape)
    sizes = gradient.shape[-rank:]
    last = (
        ops.aten.max_unpool2d(numbers, indices, sizes)
        if rank == 2
        else ops.aten.max_unpool3d(numbers, indices, sizes, [1] * rank, [0] * rank)
    )
    written = pooled_at(last, indices, rank) == numbers
    return ops.aten.where(written, pooled_at(gradient, indices, rank), 0)
