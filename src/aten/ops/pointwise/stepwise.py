"""For operators that compute all elements at once, in float64, by steps of other operators."""

from __future__ import annotations

from collections.abc import Callable

from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.requirements import refusal
from aten.prims import Number, broadcast_shapes
from aten.registry import ops

FLOAT64 = DTYPES["float64"]
# Steps between two looks at which elements go on.
_STRIDE = 16


def in_float64(
    name: str, *operands: Tensor | Number, half: bool = True, integers: bool = True
) -> dtype:
    """The operands' common floating type, which the result is to have.

    Raises NotImplementedError for complex numbers, and for half types and integers where they are
    not taken.
    """
    common = result_type(*operands)
    taken = common.is_floating_point and (half or common.itemsize > 2)
    if common.kind in ("bool", "signed", "unsigned") and integers:
        return get_default_dtype()
    if not taken:
        raise refusal(name, common)
    return common


def as_float64(*operands: Tensor | Number) -> list[Tensor]:
    """The operands at their common shape, as float64."""
    device = next(operand.device for operand in operands if isinstance(operand, Tensor))
    tensors = [
        operand.to(FLOAT64)
        if isinstance(operand, Tensor)
        else ops.aten.full((), operand, dtype=FLOAT64, device=device)
        for operand in operands
    ]
    shape = broadcast_shapes([tuple(tensor.shape) for tensor in tensors])
    return [tensor.expand(shape) for tensor in tensors]


def is_any(condition: Tensor) -> bool:
    """Whether some element holds; on the meta device, where there are none to ask, it does not."""
    return has_data(condition) and bool(condition.any())


def iterated(
    lanes: list[Tensor],
    step: Callable[[list[Tensor], int], tuple[list[Tensor], Tensor]],
    most: int,
) -> Tensor:
    """`lanes[0]` when `step` has been taken often enough for each element, at most `most` times.

    `step(lanes, count)` gives the next lanes and which elements go on. An element that does not is
    left as it is, and now and then those that go on are gathered: a few slow ones cost little, and
    none depends on what is beside it.
    """
    shape, count, places = lanes[0].shape, 0, None
    lanes = [one.reshape(-1) for one in lanes]
    found = lanes[0]
    while True:
        is_open = ops.aten.ones_like(lanes[0], dtype=DTYPES["bool"])
        for _ in range(_STRIDE):
            count += 1
            before = lanes[0]
            lanes, goes_on = step(lanes, count)
            lanes[0] = ops.aten.where(is_open, lanes[0], before)
            is_open = is_open & goes_on
        found = lanes[0] if places is None else ops.aten.index_copy(found, 0, places, lanes[0])
        if count >= most or not is_any(is_open):
            return found.reshape(shape)
        chosen = ops.aten.nonzero(is_open).squeeze(-1)
        lanes = [one.index_select(0, chosen) for one in lanes]
        places = chosen if places is None else places.index_select(0, chosen)
