"""What the engine puts gradients together with, and how views keep their place in the graph."""

from __future__ import annotations

import math

from aten._core.autograd import engine, node, operator_node, operators
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import register_fallback
from aten._core.tensor.tensor import Tensor
from aten.autograd.formulas.common import extent_of, sum_to_size
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _owned(gradient: Tensor, variable: Tensor, alone: bool) -> Tensor:
    """What becomes the first `grad` of a leaf: laid out as the leaf, in memory of its own."""
    if gradient.stride() != variable.stride():
        made = ops.aten.empty_like(variable)
        return made.copy_(gradient)
    if alone and not gradient._is_view():
        return gradient
    return ops.aten.clone(gradient)


def _fitted(gradient: Tensor, info: Any, title: str, index: int) -> Tensor:
    """`gradient` summed to the sizes that are wanted, and in their dtype."""
    sizes = info.sizes
    if tuple(gradient.shape) != sizes:
        if not _spreads(sizes, tuple(gradient.shape)):
            raise RuntimeError(
                f"{title}: gradient {index} has shape {list(gradient.shape)}, which does not sum "
                f"to {list(sizes)}"
            )
        gradient = sum_to_size(gradient, sizes)
    if gradient.dtype is not info.dtype:
        if gradient.is_complex() and not info.dtype.is_complex:
            gradient = ops.aten.real(gradient)
        gradient = gradient.to(info.dtype)
    if gradient.device != info.device:
        raise RuntimeError(
            f"{title}: gradient {index} is on {gradient.device}, and has to be on {info.device}"
        )
    return gradient


def _spreads(sizes: tuple[int, ...], to: tuple[int, ...]) -> bool:
    extra = len(to) - len(sizes)
    return extra >= 0 and all(
        size in (1, other) for size, other in zip(sizes, to[extra:], strict=True)
    )


def _has_nan(gradient: Tensor) -> bool:
    return bool(ops.aten.any(ops.aten.isnan(gradient)))


def _zeros(info: Any) -> Tensor:
    return ops.aten.zeros(info.sizes, dtype=info.dtype, device=info.device)


class ViewNode(node.Node):
    """What a view shows after its base was written to: `as_strided` of what the base is now."""

    def __init__(self, base: Tensor, view: Tensor) -> None:
        self.title = "AsStridedBackward0"
        self.geometry = _geometry(base, view)
        self.connect([base], [view])

    def run(self, gradients: list[Any]) -> list[Any]:
        made = _Shown(self.geometry)
        return [made.embedded(gradients[0])]


class _Shown:
    """Where a view lies in its base, as functional operators say it."""

    def __init__(self, geometry: Any) -> None:
        self.base_sizes, self.base_strides, self.base_offset, *self.view, kind = geometry
        self.parts, self.conjugate, self.negative = kind

    def places(self, device: Any) -> Tensor:
        """For each element of the view its row-major number among those of the base."""
        sizes, strides, offset = self.view
        numbers = ops.aten.arange(math.prod(self.base_sizes), device=device)
        extent = extent_of(self.base_sizes, self.base_strides)
        room = ops.aten.zeros((extent,), dtype=numbers.dtype, device=device)
        laid = ops.aten.as_strided_scatter(
            room, numbers.reshape(self.base_sizes), self.base_sizes, self.base_strides, 0
        )
        return ops.aten.as_strided(laid, sizes, strides, offset - self.base_offset)

    def _whole(self, made: Tensor) -> Tensor:
        """What was computed element by element, in the base's sizes and type."""
        made = made.reshape(self.base_sizes)
        return ops.aten.view_as_complex(made) if self.parts else made

    def _turned(self, gradient: Tensor) -> Tensor:
        """A gradient of the view as one of what is in memory, and the other way round."""
        if self.conjugate:
            gradient = ops.aten.conj_physical(gradient)
        return ops.aten.neg(gradient) if self.negative else gradient

    def _elements(self, gradient: Tensor) -> Tensor:
        """A gradient of the base, in a row: of numbers as the view shows them."""
        return (ops.aten.view_as_real(gradient) if self.parts else gradient).reshape(-1)

    def embedded(self, gradient: Tensor) -> Tensor:
        """Zeros of the base's sizes, with the gradient where the view was."""
        room = ops.aten.new_zeros(gradient, (math.prod(self.base_sizes),))
        places = self.places(gradient.device).reshape(-1)
        row = self._turned(gradient).reshape(-1)
        return self._whole(ops.aten.index_add(room, 0, places, row))

    def shown(self, gradient: Tensor) -> Tensor:
        """What of the base's gradient the view shows."""
        sizes = self.view[0]
        places = self.places(gradient.device).reshape(-1)
        shown = ops.aten.index_select(self._elements(gradient), 0, places)
        return self._turned(shown.reshape(sizes))

    def cleared(self, gradient: Tensor) -> Tensor:
        """The base's gradient, zero where the view is."""
        places = self.places(gradient.device).reshape(-1)
        return self._whole(ops.aten.index_fill(self._elements(gradient), 0, places, 0))


def _geometry(base: Tensor, view: Tensor) -> tuple[Any, ...]:
    """Sizes, strides and offsets of both, and what the view shows of the base's elements.

    That is whether it shows parts of complex numbers, of which the base then has a dimension of two
    more, whether it shows conjugates, and whether it shows negatives.
    """
    parts = base.is_complex() and not view.is_complex()
    sizes, strides, offset = tuple(base.shape), base.stride(), base.storage_offset()
    if parts:
        sizes, strides, offset = (*sizes, 2), (*(2 * step for step in strides), 1), 2 * offset
    kind = (parts, base.is_conj() != view.is_conj(), base.is_neg() != view.is_neg())
    return (
        sizes, strides, offset, tuple(view.shape), view.stride(), view.storage_offset(), kind,
    )  # fmt: skip


class CopySlices(node.Node):
    """A write to a view, as an operator on the base."""

    def __init__(self, write: Any, view: Tensor) -> None:
        self.title = "CopySlices"
        base = view._base
        assert base is not None
        self.write = write
        self.shown = _Shown(_geometry(base, view))
        self.connect([base], [base])
        self.extra = operators.take_edges(self, write)

    def let_go(self) -> None:
        operators.forgotten(self.write)

    def run(self, gradients: list[Any]) -> list[Any]:
        gradient = gradients[0]
        given = operators.applied(self.write, [self.shown.shown(gradient)])
        mine = given[self.extra] if self.extra is not None else None
        rest = self.shown.cleared(gradient)
        if mine is not None:
            rest = rest + self.shown.embedded(mine)
        others = [one for place, one in enumerate(given) if place != self.extra]
        return [rest, *others]


def _replayed(base: Tensor, view: Tensor) -> Any:
    return ViewNode(base, view)


def _written_view(write: Any, view: Tensor) -> None:
    base = view._base
    assert base is not None
    CopySlices(write, view)
    ViewNode(base, view)


def _rule_of(op: OpOverload) -> Any:
    from aten.autograd.rules import rule_of

    return operators.below_recording(rule_of, op)


def _sums() -> tuple[OpOverload, OpOverload]:
    return ops.aten.add.Tensor, ops.aten.add_.Tensor


def install() -> None:
    """Let operators be recorded."""
    engine.set_operators(_sums, _owned, _fitted, _has_nan)
    node.install_view_replay(_replayed)
    operators.set_rules(_rule_of, _written_view)
    operator_node.set_zeros(_zeros)
    register_fallback(
        DispatchKey.AutogradRecording, operators.RecordingKernel(), "aten/autograd/arithmetic.py"
    )
    register_fallback(
        DispatchKey.InferenceTensor, operators.InferenceKernel(), "aten/autograd/arithmetic.py"
    )
