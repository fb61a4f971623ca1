"""Tensors extended at their borders."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.construct import on_device, tensor_from_data
from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.prims import Number
from aten.registry import ops

_MODES = ("constant", "reflect", "replicate", "circular")


def _by_dim(self: Tensor, pad: Sequence[int]) -> dict[int, tuple[int, int]]:
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
    for dim, (before, after) in _by_dim(self, pad).items():
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
    out: Tensor = ops.aten.full.default(sizes, value, dtype=self.dtype, device=self.device)
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
    if mode == "constant":
        return ops.aten.constant_pad_nd.default(self, pad, value or 0)  # type: ignore[no-any-return]
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(pad) not in (2, 4, 6) or self.dim() not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got "
            f"{len(pad)} counts for {self.dim()} dimensions"
        )
    for dim, (before, after) in _by_dim(self, pad).items():
        places = _places(mode, self.shape[dim], before, after)
        index = on_device(tensor_from_data(places, DTYPES["int64"]), self.device)
        self = ops.aten.index_select.default(self, dim, index)
    return self


def _places(mode: str, size: int, before: int, after: int) -> list[int]:
    """The element each place of the padded dimension shows."""
    wanted = range(-before, size + after)
    if mode == "replicate":
        return [min(max(place, 0), size - 1) for place in wanted]
    limit = size - 1 if mode == "reflect" else size
    if max(before, after) > limit:
        raise RuntimeError(
            f"Padding size should be {'less than' if mode == 'reflect' else 'at most'} the "
            f"corresponding input dimension, but got: padding ({before}, {after}) at a dimension "
            f"of size {size}"
        )
    if mode == "circular":
        return [place % size for place in wanted]
    return [abs(place) if place < size else 2 * (size - 1) - place for place in wanted]
