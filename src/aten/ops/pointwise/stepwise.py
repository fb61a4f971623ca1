"""For operators that compute all elements at once, in float64, by steps of other operators."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.requirements import refusal
from aten.prims import Number, broadcast_shapes
from aten.registry import ops

FLOAT64 = DTYPES["float64"]


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
