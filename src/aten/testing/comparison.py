"""`assert_close`: numbers, tensors, arrays, and sequences and mappings of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aten._core.base.dtypes import dtype, promote_types
from aten._core.tensor.tensor import Tensor
from aten.construction import tensor
from aten.interop import from_numpy
from aten.registry import ops

# What is near enough by default, by element type: relatively and absolutely.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class _Options:
    def __init__(self, **given: Any) -> None:
        self.rtol: float | None = given["rtol"]
        self.atol: float | None = given["atol"]
        self.equal_nan: bool = given["equal_nan"]
        self.checked = [
            name
            for name in ("device", "dtype", "layout", "stride")
            if given[f"check_{name}"] and name != "stride"
        ]
        self.check_stride: bool = given["check_stride"]
        self.allow_subclasses: bool = given["allow_subclasses"]
        self.msg: str | Callable[[str], str] | None = given["msg"]

    def require_both_tolerances(self) -> None:
        """Raises ValueError for one without the other."""
        if (self.rtol is None) is not (self.atol is None):
            raise ValueError(
                f"rtol and atol must both be specified or both be unspecified, but got "
                f"rtol={self.rtol}, atol={self.atol}"
            )

    def failure(self, text: str) -> AssertionError:
        """The error with the caller's words, where there are some."""
        if self.msg is None:
            return AssertionError(text)
        return AssertionError(self.msg(text) if callable(self.msg) else self.msg)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Check that |actual - expected| <= atol + rtol |expected| for all elements.

    Both may be tensors, NumPy's arrays, numbers, or sequences and mappings of such. Without
    tolerances, those of the less precise of both types are taken: 1.3e-6 and 1e-5 for float32,
    nothing for integers.

    Raises:
        AssertionError: something differs; `msg` takes the place of the text, or makes it of it.
        ValueError: only one of both tolerances is given.
        TypeError: they cannot be compared.
    """
    _compare(actual, expected, _Options(**locals()), "")


def _compare(actual: Any, expected: Any, options: _Options, place: str) -> None:
    if isinstance(actual, (str, bytes)) or isinstance(expected, (str, bytes)):
        _refuse(actual, expected, place)
    if isinstance(actual, Sequence) and isinstance(expected, Sequence):
        _compare_sequences(actual, expected, options, place)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _compare_mappings(actual, expected, options, place)
    elif actual is None or expected is None:
        if actual is not expected:
            raise options.failure(f"None mismatch: {actual} is not {expected}{place}")
    else:
        try:
            _compare_values(actual, expected, options, place)
        except AssertionError as error:
            raise options.failure(str(error)) from None


def _refuse(actual: Any, expected: Any, place: str) -> None:
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and "
        f"{type(expected)}{place}."
    )


def _compare_sequences(
    actual: Sequence[Any], expected: Sequence[Any], options: _Options, place: str
) -> None:
    if len(actual) != len(expected):
        raise AssertionError(
            f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{place}"
        )
    for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
        _compare(one, other, options, _inside(place, index))


def _compare_mappings(
    actual: Mapping[Any, Any], expected: Mapping[Any, Any], options: _Options, place: str
) -> None:
    missing, added = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or added:
        raise AssertionError(
            f"The keys of the mappings do not match{place}:\n"
            f"Missing keys in the actual mapping: {sorted(missing, key=str)}\n"
            f"Additional keys in the actual mapping: {sorted(added, key=str)}"
        )
    for key, value in actual.items():
        _compare(value, expected[key], options, _inside(place, key))


def _inside(place: str, key: Any) -> str:
    before = place or "\n\nThe failure occurred for item "
    return f"{before}[{key!r}]"


def _compare_values(actual: Any, expected: Any, options: _Options, place: str) -> None:
    numbers = isinstance(actual, (int, float, complex)), isinstance(expected, (int, float, complex))
    if not all(numbers):
        allowed = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        exact = type(actual) is type(expected)
        if not (allowed and (exact or options.allow_subclasses)):
            _refuse(actual, expected, place)
    options.require_both_tolerances()
    kind = "Scalars" if all(numbers) else "Tensor-likes"
    ours, theirs = _as_tensor(actual, expected, place), _as_tensor(expected, actual, place)
    if all(numbers):
        if type(actual) is not type(expected) and "dtype" in options.checked:
            raise AssertionError(
                f"The (d)types do not match: {type(actual)} != {type(expected)}.{place}"
            )
    else:
        _compare_attributes(ours, theirs, options, place)
    _compare_elements(ours, theirs, options, kind, place)


def _as_tensor(value: Any, other: Any, place: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return from_numpy(value)
    if numpy is not None and isinstance(value, numpy.generic):
        return tensor(value)
    if isinstance(value, (int, float, complex)):
        element = _type_of_number(value)
        return tensor(value, dtype=element)
    _refuse(value, other, place)
    raise AssertionError


def _type_of_number(value: Any) -> dtype:
    from aten._core.base.dtypes import DTYPES

    if isinstance(value, bool):
        return DTYPES["bool"]
    if isinstance(value, int):
        return DTYPES["int64"]
    return DTYPES["float64" if isinstance(value, float) else "complex128"]


def _compare_attributes(ours: Tensor, theirs: Tensor, options: _Options, place: str) -> None:
    if ours.shape != theirs.shape:
        raise AssertionError(
            f"The values for attribute 'shape' do not match: {ours.shape} != {theirs.shape}.{place}"
        )
    for name in options.checked:
        one, other = getattr(ours, name), getattr(theirs, name)
        if one != other:
            raise AssertionError(
                f"The values for attribute '{name}' do not match: {one} != {other}.{place}"
            )
    if options.check_stride and ours.stride() != theirs.stride():
        raise AssertionError(
            f"The values for attribute 'stride()' do not match: {ours.stride()} != "
            f"{theirs.stride()}.{place}"
        )


def _tolerances(ours: Tensor, theirs: Tensor, options: _Options) -> tuple[float, float]:
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    pairs = [_TOLERANCES.get(one.dtype.name, (0.0, 0.0)) for one in (ours, theirs)]
    return max(pairs[0][0], pairs[1][0]), max(pairs[0][1], pairs[1][1])


def _compare_elements(
    ours: Tensor, theirs: Tensor, options: _Options, kind: str, place: str
) -> None:
    rtol, atol = _tolerances(ours, theirs, options)
    common = promote_types(ours.dtype, theirs.dtype)
    left, right = ours.to(dtype=common), theirs.to(dtype=common)
    if left.device.type == "meta" or right.device.type == "meta":
        return
    left, right = (
        one.to(dtype=_type_of_number(0)) if one.dtype.kind == "bool" else one
        for one in (left.cpu(), right.cpu())
    )
    near = ops.aten.isclose(left, right, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(near.all()):
        return
    raise AssertionError(_report(left, right, near, (rtol, atol), kind) + place)


def _report(
    left: Tensor, right: Tensor, near: Tensor, tolerances: tuple[float, float], kind: str
) -> str:
    rtol, atol = tolerances
    exact = not (rtol or atol)
    what = "equal" if exact else "close"
    if left.dim() == 0:
        return (
            f"{kind} are not {what}!\n\nExpected {right.item()} but got {left.item()}.\n"
            f"Absolute difference: {_difference(left, right).item()}"
            + _allowed(atol, exact)
            + f"\nRelative difference: {_relative(left, right).item()}"
            + _allowed(rtol, exact)
        )
    absolute = ops.aten.where(near, 0, _difference(left, right))
    relative = ops.aten.where(near, 0, _relative(left, right))
    count = near.numel() - int(near.sum())
    lines = [
        f"{kind} are not {what}!\n",
        f"Mismatched elements: {count} / {near.numel()} ({100 * count / near.numel():.1f}%)",
    ]
    for name, values, bound in (("absolute", absolute, atol), ("relative", relative, rtol)):
        flat = values.reshape(-1)
        index = int(flat.argmax())
        lines.append(
            f"Greatest {name} difference: {flat[index].item()} at index "
            f"{_place_of(index, left)}{_allowed(bound, exact)}"
        )
    return "\n".join(lines)


def _allowed(bound: float, exact: bool) -> str:
    return "" if exact else f" (up to {bound} allowed)"


def _difference(left: Tensor, right: Tensor) -> Tensor:
    if left.dtype.kind in ("bool", "signed", "unsigned"):
        left, right = left.to(dtype=_type_of_number(0)), right.to(dtype=_type_of_number(0))
    return (left - right).abs()


def _relative(left: Tensor, right: Tensor) -> Tensor:
    return _difference(left, right) / right.abs()


def _place_of(index: int, like: Tensor) -> tuple[int, ...]:
    place = []
    for size in reversed(like.shape):
        index, rest = divmod(index, size)
        place.append(rest)
    return tuple(reversed(place))
