"""Tensors extended at their borders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aten._core.base.device import MEMORY_FORMATS, device
from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory_order import empty_image, ordered_like
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops

_INT64 = DTYPES["int64"]
_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]
# Places in a dimension that no tensor has.
_MOST = 1 << 48
# Elements that are copied once for each dimension, rather than in parts.
SMALL = 1 << 14
_OPERATORS = {
    "reflect": "reflection_pad{rank}d",
    "replicate": "replication_pad{rank}d",
    "circular": "_pad_circular",
}


def by_dim(self: Tensor, pad: Sequence[int]) -> dict[int, tuple[int, int]]:
    """What to add before and after, by dimension; `pad` starts at the last one."""
    return {
        self.dim() - 1 - place: (pad[2 * place], pad[2 * place + 1])
        for place in range(len(pad) // 2)
    }


@op
def constant_pad_nd(self: Tensor, pad: Sequence[int], value: Number = 0) -> Tensor:
    """`pad` has two counts of elements per dimension, last dimension first; negative ones crop.

    Raises RuntimeError for an odd or too long list, and for a dimension cropped below nothing.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {self.dim()} dimensions."
        )
    sizes = list(self.shape)
    source, inside = self, []
    for dim, (before, after) in by_dim(self, pad).items():
        sizes[dim] += before + after
        if sizes[dim] < 0:
            raise RuntimeError(
                f"The input size {self.shape[dim]}, plus negative padding {before} and {after} "
                f"resulted in a negative output size, which is invalid. Check dimension {dim} of "
                f"your input."
            )
        source = source.narrow(
            dim, max(-before, 0), self.shape[dim] + min(before, 0) + min(after, 0)
        )
        inside.append((dim, max(before, 0)))
    if not any(count > 0 for count in pad):
        return source.clone()
    out = empty_image(sizes, self, self.dtype).fill_(value)
    target = out
    for dim, start in inside:
        target = target.narrow(dim, start, source.shape[dim])
    target.copy_(source)
    return out


@op
def pad(
    self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Padding with a number, or with the tensor's own elements.

    "reflect" mirrors at the border element, "replicate" repeats it, "circular" goes on at the
    other side. Raises NotImplementedError for other modes, RuntimeError for padding that the tensor
    is too small for, and for a value in a mode that takes none.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got {len(pad)} counts")
    if mode == "constant":
        # A float, which has to fit into the type of the elements; integers would wrap around.
        return ops.aten.constant_pad_nd.default(self, pad, float(value) if value else 0)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    rank = len(pad) // 2
    if rank not in (1, 2, 3) or self.dim() not in (rank + 1, rank + 2):
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got "
            f"{len(pad)} counts for {self.dim()} dimensions"
        )
    if mode not in _OPERATORS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    padded = getattr(ops.aten, _OPERATORS[mode].format(rank=rank)).default
    return padded(self, pad)  # type: ignore[no-any-return]


@op("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(called: OpOverload, self: Tensor, padding: Sequence[int]) -> Tensor:
    """The last dimensions of (N, C, *) or (C, *) mirrored at their border elements.

    Raises RuntimeError for padding that is not less than the size, and where nothing is left.
    """
    check_bordered(called.name, self, padding)
    return ordered_like(extended(called.name, self, padding), self)


@op("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(called: OpOverload, self: Tensor, padding: Sequence[int]) -> Tensor:
    """The last dimensions of (N, C, *) or (C, *) with their border elements repeated."""
    check_bordered(called.name, self, padding)
    return ordered_like(extended(called.name, self, padding), self)


def check_bordered(name: str, self: Tensor, padding: Sequence[int]) -> None:
    """Raises RuntimeError for sizes, NotImplementedError for dtypes that are not padded so."""
    rank = int(name[-2])
    if len(padding) != 2 * rank:
        raise RuntimeError(f"{name}: padding size is expected to be {2 * rank}")
    if self.dim() not in (rank + 1, rank + 2) or 0 in self.shape[-rank - 1 :]:
        raise RuntimeError(
            f"{name}: expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 "
            f"batch size and other non-zero dimensions for input, but got: {list(self.shape)}"
        )
    if self.dtype.kind == "bool" or self.dtype.name == "complex32":
        raise refusal(name, self.dtype)
    sizes = []
    for dim, (before, after) in by_dim(self, padding).items():
        _require_within("reflect" if name[:3] == "ref" else "", self.shape[dim], before, after)
        sizes.append(self.shape[dim] + before + after)
        if sizes[-1] < 0:
            raise _nothing_left(self, dim, padding)
    if not any(sizes):
        raise RuntimeError(
            f"pad: nothing is left of input of size {list(self.shape)} with padding {list(padding)}"
        )


def extended(name: str, self: Tensor, padding: Sequence[int]) -> Tensor:
    """Padding from the tensor's own elements, one dimension after the other."""
    for dim, (before, after) in by_dim(self, padding).items():
        places = places_of(name, self.shape[dim], before, after, self.device)
        self = ops.aten.index_select.default(self, dim, places)
    return self


def places_of(name: str, size: int, before: int, after: int, place: device) -> Tensor:
    """The element that each place of the padded dimension shows."""
    wanted: Tensor = ops.aten.arange.start(-before, size + after, dtype=_INT64, device=place)
    if name.startswith("replication"):
        return wanted.clamp(0, size - 1)
    return size - 1 - (size - 1 - wanted.abs()).abs()


@op
def _pad_circular(self: Tensor, pad: Sequence[int]) -> Tensor:
    """The last dimensions of (N, C, *) or (C, *) going on at the other side."""
    if 2 * self.dim() < len(pad) + 2 or len(pad) % 2:
        raise RuntimeError(
            f"Invalid padding size, expected at most {2 * (self.dim() - 1)} counts, an even "
            f"number, but got {len(pad)}"
        )
    kept = {dim: _around(self, dim, pad) for dim in by_dim(self, pad)}
    if not has_data(self) or min(pad, default=0) < 0 or self.numel() < SMALL:
        for dim, counts in by_dim(self, pad).items():
            self = _wound(self, dim, *kept[dim], *counts)
        return self.contiguous() if kept else self.clone(memory_format=_CONTIGUOUS)
    return framed(self, pad, _other_side)


def _around(self: Tensor, dim: int, pad: Sequence[int]) -> tuple[int, int]:
    """Where what goes round in the dimension begins, and how much that is.

    What a negative count crops does not come back on the other side.
    """
    size, (before, after) = self.shape[dim], by_dim(self, pad)[dim]
    _require_within("circular", size, before, after)
    kept = size + min(before, 0) + min(after, 0)
    if kept <= 0 and size + before + after != 0:
        raise _nothing_left(self, dim, pad)
    return max(-before, 0), max(kept, 0)


def _wound(self: Tensor, dim: int, start: int, kept: int, before: int, after: int) -> Tensor:
    middle = self.narrow(dim, start if kept else 0, kept)
    rounds, rest = divmod(max(before, 0), max(kept, 1))
    more_rounds, more = divmod(max(after, 0), max(kept, 1))
    pieces = [middle] * (rounds + 1 + more_rounds)
    if rest:
        pieces.insert(0, middle.narrow(dim, kept - rest, rest))
    if more:
        pieces.append(middle.narrow(dim, 0, more))
    return ops.aten.cat.default(pieces, dim)


def _other_side(middle: Tensor, dim: int, before: int, after: int) -> tuple[Tensor, Tensor]:
    return middle.narrow(dim, middle.shape[dim] - before, before), middle.narrow(dim, 0, after)


def _nothing_left(self: Tensor, dim: int, pad: Sequence[int]) -> RuntimeError:
    return RuntimeError(
        f"pad: input of size {list(self.shape)} is too small for padding {list(pad)}: "
        f"nothing is left of dimension {dim}"
    )


def framed(
    self: Tensor,
    pad: Sequence[int],
    beside: Callable[[Tensor, int, int, int], tuple[Tensor, Tensor]],
) -> Tensor:
    """Copies the whole, then its frame one dimension after the other, each from what is there.

    `beside(middle, dim, before, after)` is what goes before and after it.
    """
    inside = by_dim(self, pad)
    sizes = [size + sum(inside.get(dim, (0, 0))) for dim, size in enumerate(self.shape)]
    out = self.new_empty(sizes)
    _without_frame(out, self, inside).copy_(self)
    for dim in tuple(inside):
        before, after = inside.pop(dim)
        size = self.shape[dim]
        part = _without_frame(out, self, inside)
        middle = part.narrow(dim, before, size)
        first, last = beside(middle, dim, before, after)
        if before:
            part.narrow(dim, 0, before).copy_(first)
        if after:
            part.narrow(dim, before + size, after).copy_(last)
    return out


def _without_frame(out: Tensor, self: Tensor, inside: Mapping[int, tuple[int, int]]) -> Tensor:
    """The part of `out` that is `self` in the dimensions of `inside`."""
    for dim, (before, _) in inside.items():
        out = out.narrow(dim, before, self.shape[dim])
    return out


def _require_within(mode: str, size: int, before: int, after: int) -> None:
    limit = {"reflect": size - 1, "circular": size}.get(mode)
    if limit is not None and max(before, after) > limit:
        raise RuntimeError(
            f"Padding size should be {'less than' if mode == 'reflect' else 'at most'} the "
            f"corresponding input dimension, but got: padding ({before}, {after}) at a dimension "
            f"of size {size}"
        )
    if size + before + after >= _MOST:
        raise RuntimeError(f"pad: no tensor has {size + before + after} elements in a dimension")
