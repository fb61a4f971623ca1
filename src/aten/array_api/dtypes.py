"""The standard's element types, its rules for mixing them, and what can be asked about them.

Torch lets an operand without dimensions give way to one with dimensions; in the standard only
Python's numbers give way. Kinds that the standard does not mix (integers and floats) mix as they
do in torch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype, promote_types
from aten._core.tensor.tensor import Tensor
from aten.type_info import finfo as _float_limits
from aten.type_info import iinfo as _integer_limits

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]

# Kind of the standard → kinds that dtypes name.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("signed",),
    "unsigned integer": ("unsigned",),
    "integral": ("signed", "unsigned"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("signed", "unsigned", "float", "complex"),
}
_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
)
STANDARD: dict[str, dtype] = {name: DTYPES[name] for name in _NAMES.split()}
INTEGERS = KINDS["integral"]
INDEX = DTYPES["int64"]
BOOL = DTYPES["bool"]
_LARGEST_BYTES = 8


class FloatLimits(NamedTuple):
    """Limits of a floating-point dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


class IntegerLimits(NamedTuple):
    """Limits of an integer dtype, as Python numbers."""

    bits: int
    max: int
    min: int
    dtype: dtype


def promote(left: dtype, right: dtype) -> dtype:
    """The dtype of an operation on both. Raises TypeError where no dtype holds both."""
    if left is right:
        return left
    kinds = {left.kind, right.kind}
    if kinds == {"signed", "unsigned"}:
        return _promote_signs(left, right)
    if len(kinds) == 1 or kinds == {"float", "complex"}:
        return promote_types(left, right) if left.kind != "unsigned" else _larger(left, right)
    # The standard leaves these open: booleans give way to numbers, integers to floats.
    return max(left, right, key=lambda element: _RANK[element.kind])


_RANK = {"bool": 0, "unsigned": 1, "signed": 1, "float": 2, "complex": 3}


def _larger(left: dtype, right: dtype) -> dtype:
    return max(left, right, key=lambda element: element.itemsize)


def _promote_signs(left: dtype, right: dtype) -> dtype:
    signed, unsigned = (left, right) if left.kind == "signed" else (right, left)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned.itemsize == _LARGEST_BYTES:
        raise TypeError(f"no dtype holds both {left} and {right}: convert one with astype")
    return DTYPES[f"int{16 * unsigned.itemsize}"]


def weak_dtype(value: complex, beside: dtype) -> dtype:
    """The dtype of an operation on a Python number and an array of the dtype `beside`."""
    if isinstance(value, bool):
        return beside
    if isinstance(value, int):
        return INDEX if beside is BOOL else beside
    if isinstance(value, float):
        return beside if beside.kind in ("float", "complex") else get_default_dtype()
    if beside.kind == "complex":
        return beside
    return (beside if beside.kind == "float" else get_default_dtype()).to_complex()


def _dtype_of_number(value: complex) -> dtype:
    """The default dtype of a Python number."""
    return BOOL if isinstance(value, bool) else weak_dtype(value, BOOL)


def result_type(*arrays_and_dtypes: Tensor | dtype | complex) -> dtype:
    """The dtype of an operation on all arguments: arrays, dtypes and Python numbers.

    Raises ValueError without arguments, TypeError for other ones and where no dtype holds all.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: at least one array or dtype is needed")
    numbers: list[complex] = []
    common: dtype | None = None
    for given in arrays_and_dtypes:
        if isinstance(given, (bool, int, float, complex)):
            numbers.append(given)
            continue
        element = _given_dtype("result_type", given)
        common = element if common is None else promote(common, element)
    for number in numbers:
        common = _dtype_of_number(number) if common is None else weak_dtype(number, common)
    assert common is not None
    return common


def _given_dtype(function: str, given: Any) -> dtype:
    if isinstance(given, dtype):
        return given
    if isinstance(given, Tensor):
        return given.dtype
    raise TypeError(f"{function}: expected an array or a dtype, not {type(given).__name__}")


def can_cast(from_: dtype | Tensor, to: dtype, /) -> bool:
    """Whether promotion converts one dtype to the other. Raises TypeError for other arguments."""
    given = _given_dtype("can_cast", from_)
    try:
        return promote(given, _given_dtype("can_cast", to)) is to
    except TypeError:
        return False


def isdtype(dtype: dtype, kind: dtype | str | tuple[Any, ...]) -> bool:
    """Whether a dtype is of a kind: a dtype, the standard's name of one, or a tuple of these.

    Raises ValueError for names that are none, TypeError for what is neither.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        return dtype.kind in kind_named("isdtype", kind)
    return dtype is _given_dtype("isdtype", kind)


def kind_named(function: str, kind: str) -> tuple[str, ...]:
    """The kinds that dtypes name. Raises ValueError for names that the standard does not have."""
    if kind not in KINDS:
        raise ValueError(f"{function}: kind must be one of {', '.join(KINDS)}, not {kind!r}")
    return KINDS[kind]


def finfo(type: dtype | Tensor, /) -> FloatLimits:
    """Limits of a floating-point dtype, or of the parts of a complex one; or of an array's dtype.

    Raises TypeError for other dtypes.
    """
    element = _given_dtype("finfo", type).to_real()
    limits = _float_limits(element)
    return FloatLimits(
        limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, element
    )


def iinfo(type: dtype | Tensor, /) -> IntegerLimits:
    """Limits of an integer dtype, or of an array's. Raises TypeError for other dtypes."""
    element = _given_dtype("iinfo", type)
    limits = _integer_limits(element)
    return IntegerLimits(limits.bits, limits.max, limits.min, element)
