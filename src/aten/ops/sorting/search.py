"""Looking values up: among sorted ones, and among any."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.construct import tensor_from_data
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.indexing.scatter import INT64
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops

_INT32 = DTYPES["int32"]
_SEARCHED = frozenset(
    {
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    }
)
# From so many elements on, sorting them once is less work than comparing each with all.
_SORTED_FROM = 32


def checked_search(
    sorted_sequence: Tensor, self: Tensor, right: bool, side: str | None, sorter: Tensor | None
) -> dtype:
    """The dtype to compare in. Raises for what `searchsorted` refuses."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted: side is 'left' or 'right', got {side!r}")
    if side == "left" and right:
        raise RuntimeError("searchsorted: side is 'left', but right is true")
    if self.dim() == 0 and sorted_sequence.dim() != 1:
        raise RuntimeError(
            f"searchsorted: one value is looked up in a vector, not in {sorted_sequence.dim()}-d"
        )
    if sorted_sequence.dim() == 0:
        raise RuntimeError("searchsorted: the sorted sequence must have a dimension")
    if sorted_sequence.dim() != 1 and sorted_sequence.shape[:-1] != self.shape[:-1]:
        raise RuntimeError(
            f"searchsorted: the rows of {list(sorted_sequence.shape)} and {list(self.shape)} do "
            f"not belong together"
        )
    _check_sorter(sorted_sequence, sorter)
    common = sorted_sequence.dtype
    if common is not self.dtype:
        common = result_type(sorted_sequence, self)
    if common.name not in _SEARCHED:
        raise refusal("searchsorted_out_cpu", common)
    return common


@op("searchsorted.Tensor", exact_out=True)
def searchsorted(
    sorted_sequence: Tensor,
    self: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each element would be put in a sorted sequence, before equal ones or behind them.

    `sorted_sequence` is a vector, or has a row for each row of `self`; `sorter` says in which order
    it is sorted. Raises RuntimeError for shapes that do not fit and options that contradict.
    """
    common = checked_search(sorted_sequence, self, right, side, sorter)
    element = _INT32 if out_int32 else INT64
    if self.numel() == 0 or sorted_sequence.numel() == 0:
        return self.new_zeros(self.shape, dtype=element)
    values = self.to(common)
    if sorted_sequence.dim() == 1:
        values = values.reshape((-1,))
    found = _halved(sorted_sequence.to(common), values, right or side == "right", sorter)
    return found.reshape(self.shape).to(element)


def _halved(boundaries: Tensor, values: Tensor, right: bool, sorter: Tensor | None) -> Tensor:
    """How many boundaries come before each value; those of a row are halved, value by value."""
    found: Tensor = ops.aten.zeros_like(values, dtype=INT64)
    left, last = boundaries.size(-1), boundaries.dim() - 1
    while left > 0:
        half = (left + 1) // 2
        middle = found + (half - 1)
        if sorter is not None:
            middle = ops.prims.gather(sorter, middle, last)
        met = ops.prims.gather(boundaries, middle, last)
        # A NaN comes after all.
        behind = met > values if right else met >= values
        found = found + ops.aten.where(behind, 0, half)
        left -= half
    return found


def _check_sorter(sorted_sequence: Tensor, sorter: Tensor | None) -> None:
    if sorter is None:
        return
    if sorter.shape != sorted_sequence.shape:
        raise RuntimeError(
            f"searchsorted: the sorter {list(sorter.shape)} must have the sequence's shape "
            f"{list(sorted_sequence.shape)}"
        )
    if sorter.dtype is not INT64:
        raise RuntimeError(
            f"searchsorted: the sorter must be long, not {sorter.dtype.scalar_type_name}"
        )


@op("searchsorted.Scalar", exact_out=True)
def searchsorted_number(
    sorted_sequence: Tensor,
    self: Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    return ops.aten.searchsorted.Tensor(
        sorted_sequence,
        _tensor_of(self, sorted_sequence),
        out_int32=out_int32,
        right=right,
        side=side,
        sorter=sorter,
    )


def _tensor_of(number: Number, like: Tensor) -> Tensor:
    """A tensor without dimensions, of the dtype that the number alone has."""
    return tensor_from_data(number).to(like.device)


@op("bucketize.Tensor", exact_out=True)
def bucketize(
    self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """`searchsorted` in one vector of boundaries."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"bucketize: boundaries are a vector, got {boundaries.dim()}-d")
    return ops.aten.searchsorted.Tensor(boundaries, self, out_int32=out_int32, right=right)


@op("bucketize.Scalar", exact_out=True)
def bucketize_number(
    self: Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    value = _tensor_of(self, boundaries)
    return ops.aten.bucketize.Tensor(value, boundaries, out_int32=out_int32, right=right)


@op("isin.Tensor_Tensor", exact_out=True)
def isin(
    elements: Tensor,
    test_elements: Tensor,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    """Which elements are equal to one of `test_elements`; with `invert`, to none.

    Raises RuntimeError for bool and complex numbers.
    """
    common = result_type(elements, test_elements)
    if common.kind in ("bool", "complex"):
        raise RuntimeError(f"isin: not for elements of type {common.scalar_type_name}")
    tests = test_elements.reshape((-1,)).to(common)
    given = elements.to(common)
    if tests.numel() < _SORTED_FROM:
        found = ops.aten.any(given.unsqueeze(-1) == tests, -1)
    else:
        tests = _without_nan(ops.aten.sort(tests)[0])
        places = ops.aten.searchsorted.Tensor(tests, given).clamp(max=tests.numel() - 1)
        found = ops.aten.take(tests, places) == given
    return found.logical_not() if invert else found


def _without_nan(ordered: Tensor) -> Tensor:
    """NaN, which is last, replaced by the number before: no search ends where it begins."""
    if not ordered.is_floating_point():
        return ordered
    numbers = ordered == ordered
    last = ops.aten.take(ordered, (numbers.sum() - 1).clamp(min=0))
    return ops.aten.where(numbers, ordered, last)


@op("isin.Tensor_Scalar", exact_out=True)
def isin_number(
    elements: Tensor, test_element: Number, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    tests = _tensor_of(test_element, elements)
    return ops.aten.isin.Tensor_Tensor(elements, tests, assume_unique=assume_unique, invert=invert)


@op("isin.Scalar_Tensor", exact_out=True)
def number_isin(
    element: Number, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    elements = _tensor_of(element, test_elements)
    return ops.aten.isin.Tensor_Tensor(
        elements, test_elements, assume_unique=assume_unique, invert=invert
    )
