"""Every pointwise operator of the registry against torch: values, types, strides, errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from pointwise_samples import DTYPES, INTEGERS, layouts, to_aten, to_torch, values

import aten
from aten._core.tensor.construct import empty_strided
from aten._generated.table import FUNCTIONS, METHODS, OPERATORS
from aten.registry import operator

# How far results may be apart: relative, and absolute. Twice torch's own error where that is
# larger than ours. Bool and integers are exact.
TOLERANCES = {
    torch.float16: (2e-3, 1e-6),
    torch.bfloat16: (1.6e-2, 2e-7),
    torch.float32: (4e-6, 2e-7),
    torch.float64: (2e-13, 1e-15),
    torch.complex32: (2e-3, 1e-6),
    torch.complex64: (1e-5, 1e-6),
    torch.complex128: (2e-13, 1e-15),
}

# Operator and dtype, and why the results differ.
KNOWN_DIFFERENCES = {
    ("fmod", "float64"): "torch gives NaN for quotients that are too large for it",
    ("remainder", "float64"): "torch gives NaN for quotients that are too large for it",
}

# Operators whose results have other strides than torch's, and why.
OTHER_STRIDES = {
    "masked_fill.Scalar": "torch's result is row-major whatever the operand is",
    "masked_fill.Tensor": "torch's result is row-major whatever the operand is",
    "log_sigmoid": "torch's result is row-major whatever the operand is",
    "pow.Scalar": "torch's result is row-major whatever the operand is",
    "rsub.Tensor": "torch swaps the operands, and the second one's order wins",
}
# torch writes one value to memory that several elements share; ours refuses, as it always does.
TAKES_OVERLAPS = frozenset(
    {"fill_.Scalar", "masked_fill_.Scalar", "masked_fill_.Tensor", "threshold_", "zero_"}
)
# torch's functional copy clones its first operand, gaps and all, and writes to that.
NOT_LAID_OUT = frozenset({"copy"})

# Compared in test_special: they have limits at infinity, or large degrees, where torch has NaN.
OTHER_LIMITS = re.compile(
    "(special_)?(i0|i1|modified_bessel_i[01]|bessel_..|airy_ai|(shifted_)?chebyshev_polynomial_.)"
)
# Their own tests compare them. Arguments that are flags, where samples here are numbers; torch's
# sixth, which is one in float32 for float64, too; sums that torch has for few dtypes, where an
# assertion of its own fails; and what is one thing in torch's loops over vectors and another in
# those over steps, at NaN, infinities and negative zeros.
COMPARED_ELSEWHERE = frozenset(
    {
        *("elu_backward", "leaky_relu_backward", "hardsigmoid_backward"),
        *("_add_relu.Scalar", "_add_relu.Tensor"),
        *("hardshrink_backward", "softshrink_backward", "hardswish_backward"),
        *("hardtanh_backward", "logit_backward", "gelu_backward", "sigmoid_backward"),
        "threshold_backward",
    }
)
KEYS = [
    key
    for key, row in OPERATORS.items()
    if row[1] == "pointwise"
    and key not in COMPARED_ELSEWHERE
    and row[2] == "functional"
    and row[3] == key
    and row[4]
    and "alias_of" not in row[5]
    and not OTHER_LIMITS.fullmatch(key.partition(".")[0])
]
ALIASES = [key for key, row in OPERATORS.items() if "alias_of" in row[5] and row[3] == key]
BASES = {key: OPERATORS[key] for key in KEYS}
INPLACE = [key for key, row in OPERATORS.items() if row[2] == "inplace" and row[3] in BASES]
OUT = [key for key, row in OPERATORS.items() if row[2] == "out" and row[3] in BASES]


def torch_operator(key: str) -> Any:
    name, _, overload = key.partition(".")
    return getattr(getattr(torch.ops.aten, name), overload or "default")


def number_for(name: str) -> Any:
    if name == "complex64":
        return 0.5 - 1j
    return 2 if name in INTEGERS else (True if name == "bool" else 0.75)


_NUMBERS = {"decimals": 1, "p": 2, "n": 1, "rounding_mode": "floor", "rtol": 1e-2, "atol": 1e-3}


class Sample:
    """A call's arguments, for torch."""

    def __init__(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs

    def for_aten(self) -> tuple[list[Any], dict[str, Any]]:
        return (
            [converted_argument(value) for value in self.args],
            {name: converted_argument(value) for name, value in self.kwargs.items()},
        )


def converted_argument(value: Any) -> Any:
    return to_aten(value) if isinstance(value, torch.Tensor) else value


def sample(
    key: str, name: str, tensors: list[torch.Tensor], *, number: Any = None, optional: bool = False
) -> Sample:
    """Arguments for the operator: `tensors` in turn, numbers of the kind of dtype `name`."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    remaining = iter(tensors)
    for argument in torch_operator(key)._schema.arguments:
        kind = str(argument.type)
        if argument.is_out:
            break
        if kind in ("Tensor", "Optional[Tensor]"):
            value: Any = next(remaining)
            if argument.name in ("condition", "mask"):
                value = torch.empty_like(value, dtype=torch.bool).copy_(value != 0)
            if key.startswith(("fill", "masked_fill")) and argument.name == "value":
                value = value.flatten()[0] if value.numel() else torch.tensor(1, dtype=value.dtype)
        elif argument.name in _NUMBERS:
            value = _NUMBERS[argument.name]
        elif kind in ("number", "Scalar") or kind == "Optional[number]":
            if argument.has_default_value() and kind == "number" and not optional:
                continue
            value = number_for(name) if number is None else number
        else:
            continue
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return Sample(args, kwargs)


def outcome(call: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a call returns, or the exception it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(*args, **kwargs)
        except Exception as error:
            return error


def difference(
    expected: Any, found: Any, *, strides: bool = False, like: torch.dtype | None = None
) -> str:
    """What is wrong with the outcome `found`; empty if it is what torch's is.

    `like` is the type both were computed in, where it is not the result's.
    """
    if isinstance(expected, Exception) or isinstance(found, Exception):
        if type(expected) is type(found):
            return ""
        return f"expected {short(expected)}, found {short(found)}"
    if found.dtype.name != str(expected.dtype).removeprefix("torch."):
        return f"expected dtype {expected.dtype}, found {found.dtype}"
    if tuple(found.shape) != tuple(expected.shape):
        return f"expected shape {tuple(expected.shape)}, found {tuple(found.shape)}"
    if strides and expected.numel() > 0 and found.stride() != expected.stride():
        return f"expected strides {expected.stride()}, found {found.stride()}"
    copy = to_torch(found)
    return described(~is_close(expected, copy, like), expected, copy)


def is_close(
    expected: torch.Tensor, found: torch.Tensor, like: torch.dtype | None = None
) -> torch.Tensor:
    """Element by element; complex numbers by the distance, or else each part on its own."""
    relative, absolute = max(
        TOLERANCES.get(expected.dtype, (0, 0)), TOLERANCES.get(like or expected.dtype, (0, 0))
    )
    if expected.dtype not in TOLERANCES:
        return found == expected
    if not expected.dtype.is_complex:
        return torch.isclose(found, expected, relative, absolute, equal_nan=True)
    parts = torch.isclose(
        torch.view_as_real(found), torch.view_as_real(expected), relative, absolute, equal_nan=True
    )
    return parts.all(-1) | ((found - expected).abs() <= absolute + relative * expected.abs())


def described(wrong: torch.Tensor, expected: torch.Tensor, found: torch.Tensor) -> str:
    """The first wrong elements; empty where there are none."""
    if not bool(wrong.any()):
        return ""
    places = wrong.flatten().nonzero()[:4, 0].tolist()
    pairs = [(i, expected.flatten()[i].item(), found.flatten()[i].item()) for i in places]
    return f"{int(wrong.sum())} values differ; (place, expected, found): {pairs}"


def in_float64(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(torch.float64)
    return value


def short(value: Any) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {str(value).splitlines()[0][:120]}"
    return f"a {value.dtype} result" if hasattr(value, "dtype") else repr(value)


def compare(key: str, given: Sample, **options: Any) -> tuple[Any, str]:
    """torch's outcome, and how ours differs."""
    expected = outcome(torch_operator(key), given.args, given.kwargs)
    args, kwargs = given.for_aten()
    found = outcome(operator(key), args, kwargs)
    problem = difference_within(key, given, expected, found, **options)
    shown = [arg for arg in [*given.args, *given.kwargs.items()] if not hasattr(arg, "shape")]
    return expected, f"{problem} with {shown}" if problem and shown else problem


def difference_within(key: str, given: Sample, expected: Any, found: Any, **options: Any) -> str:
    """`difference`, where what torch computes in float64 is right too: its own rounding may be far
    off, or overflow where the result does not."""
    problem = difference(expected, found, **options)
    if "values differ" not in problem or expected.dtype not in TOLERANCES:
        return problem
    wide = outcome(torch_operator(key), [in_float64(one) for one in given.args], given.kwargs)
    copy = to_torch(found)
    like = options.get("like")
    close = is_close(expected, copy, like) | is_close(wide.to(expected.dtype), copy, like)
    return described(~close, expected, copy)


def known(key: str, name: str) -> bool:
    return (key.partition(".")[0], name) in KNOWN_DIFFERENCES


def without_zeros(tensor: torch.Tensor) -> torch.Tensor:
    return torch.where(tensor == 0, torch.ones_like(tensor), tensor)


def value_samples(key: str, name: str) -> Iterator[Sample]:
    tensors = [values(name, seed) for seed in range(3)]
    given = sample(key, name, tensors)
    yield given
    error = outcome(torch_operator(key), given.args, given.kwargs)
    if isinstance(error, RuntimeError) and str(error) == "ZeroDivisionError":
        yield sample(key, name, [without_zeros(tensor) for tensor in tensors])
    if name not in ("int32", "float32"):
        return
    for number in (3, -2, 1.25, True) if has_number(key) else ():
        yield sample(key, name, tensors, number=number, optional=True)


def has_number(key: str) -> bool:
    return any("number" in str(one.type) for one in torch_operator(key)._schema.arguments)


@pytest.mark.parametrize("key", KEYS)
def test_values_and_types(key: str) -> None:
    problems = []
    for name in DTYPES:
        if known(key, name):
            continue
        for given in value_samples(key, name):
            _, problem = compare(key, given)
            if problem:
                problems.append(f"{name}: {problem}")
    assert not problems, "\n" + "\n".join(problems)


def usual_dtype(key: str) -> str:
    """A dtype that torch has the operator for."""
    for name in ("float32", "int64", "bool"):
        tensors = [torch.ones(2, dtype=getattr(torch, name))] * 3
        given = sample(key, name, tensors)
        if not isinstance(outcome(torch_operator(key), given.args, given.kwargs), Exception):
            return name
    raise AssertionError(f"torch runs {key} on none of the dtypes")


@pytest.mark.parametrize("key", ALIASES)
def test_aliases(key: str) -> None:
    """The same function by another name, called once, in each of the places torch has it in."""
    schema, kind, _, _, function, options = OPERATORS[key]
    original = OPERATORS[str(options["alias_of"])]
    assert (kind, function, options.get("promotion")) == (
        original[1],
        original[4],
        original[5].get("promotion"),
    )
    packet = key.partition(".")[0]
    assert schema.replace(packet, original[0].partition("(")[0].partition(".")[0], 1) == original[0]
    for place, theirs in ((FUNCTIONS, torch), (METHODS, torch.Tensor)):
        for name in (packet, f"{packet}_"):
            assert (name in place) == hasattr(theirs, name), name
    _, problem = compare(key, sample(key, "float32", [torch.rand(5) for _ in range(3)]))
    assert not problem


@pytest.mark.parametrize("key", [key for key in KEYS if key not in NOT_LAID_OUT])
def test_layouts(key: str) -> None:
    name = usual_dtype(key)
    problems = []
    for layout, tensors in layouts(name):
        if name == "int64":
            tensors = [without_zeros(tensor) for tensor in tensors]
        _, problem = compare(key, sample(key, name, tensors), strides=key not in OTHER_STRIDES)
        if problem:
            problems.append(f"{layout}: {problem}")
    assert not problems, "\n" + "\n".join(problems)


def first_tensor(given: Sample) -> torch.Tensor:
    return next(arg for arg in given.args if isinstance(arg, torch.Tensor))


def variant_samples(base: str) -> Iterator[Sample]:
    """Operands of one type, of several types, and of a shape that grows by broadcasting."""
    for name in ("float32", "int32", "bfloat16", "bool"):
        tensors = [without_zeros(values(name, seed, 12).reshape(3, 4)) for seed in range(3)]
        yield sample(base, name, tensors)
        yield sample(base, name, [tensors[0].t(), tensors[1][:, :3], tensors[2][:1, :3]])
    wide = [values(name, 3, 12).reshape(3, 4) for name in ("float32", "float64", "float32")]
    yield sample(base, "float32", wide)
    yield sample(base, "float32", [wide[0][:1], wide[2], wide[2]])
    yield sample(base, "float32", [wide[0][:1].expand(3, 4), wide[2], wide[2]])


@pytest.mark.parametrize("key", INPLACE)
def test_in_place(key: str) -> None:
    problems = []
    for given in variant_samples(OPERATORS[key][3]):
        if key in TAKES_OVERLAPS and 0 in given.args[0].stride():
            continue
        args, kwargs = given.for_aten()
        written = to_torch(args[0])
        expected = outcome(torch_operator(key), [written, *given.args[1:]], given.kwargs)
        found = outcome(operator(key), args, kwargs)
        base = OPERATORS[key][3]
        problem = difference_within(base, given, expected, found, strides=True)
        if not problem and not isinstance(found, Exception) and found is not args[0]:
            problem = "the result is not the operand"
        if problem:
            problems.append(f"{[short(one) for one in given.args]}: {problem}")
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("key", OUT)
def test_out(key: str) -> None:
    """Into tensors of each kind of type, and of a shape that has to change.

    Some of torch's operators insist on one type for out; ours convert wherever casting is allowed.
    """
    base = OPERATORS[key][3]
    name = usual_dtype(base)
    tensors = [without_zeros(values(name, seed, 12).reshape(3, 4)) for seed in range(3)]
    given = sample(base, name, tensors)
    fresh = outcome(torch_operator(base), given.args, given.kwargs)
    out_name = torch_operator(key)._schema.arguments[-1].name
    problems = []
    for element in ("float32", "float64", "int64", "bool", "complex64", "bfloat16"):
        wanted = getattr(torch, element)
        for shape, strides in (((3, 4), (1, 3)), ((0,), (1,)), ((5,), (1,))):
            ours = empty_strided(shape, strides, getattr(aten, element), aten.device("cpu"))
            args, kwargs = given.for_aten()
            found = outcome(operator(key), args, {**kwargs, out_name: ours})
            if not torch.can_cast(fresh.dtype, wanted):
                problem = "" if type(found) is RuntimeError else f"took out={wanted}"
            elif found is not ours:
                problem = f"found {short(found)} instead of out"
            else:
                result = (
                    torch.empty(shape, dtype=wanted).resize_(3, 4)
                    if shape != (3, 4)
                    else (torch.empty_strided(shape, strides, dtype=wanted))
                )
                problem = difference_within(
                    base, given, result.copy_(fresh), found, strides=True, like=fresh.dtype
                )
            if problem:
                problems.append(f"out={element}{list(shape)}: {problem}")
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("key", [key for key in KEYS if key.partition(".")[0] in METHODS])
def test_methods(key: str) -> None:
    given = sample(key, usual_dtype(key), [values(usual_dtype(key), s, 4) for s in range(3)])
    args, kwargs = given.for_aten()
    self_place = next(
        place for place, one in enumerate(operator(key)._schema.arguments) if one.name == "self"
    )
    if not isinstance(args[self_place], aten.Tensor):
        pytest.skip("self is a number")
    rest = [arg for place, arg in enumerate(args) if place != self_place]
    found = getattr(args[self_place], key.partition(".")[0])(*rest, **kwargs)
    assert difference(outcome(torch_operator(key), given.args, given.kwargs), found) == ""


@pytest.mark.parametrize("key", KEYS)
def test_meta(key: str) -> None:
    """The meta device: types, shapes and strides without values."""
    name = usual_dtype(key)
    for _, tensors in layouts(name):
        given = sample(key, name, tensors)
        args, kwargs = given.for_aten()
        on_cpu = outcome(operator(key), args, kwargs)
        if isinstance(on_cpu, Exception):
            continue
        args = [on_meta(arg) for arg in args]
        on_meta_device = operator(key)(*args, **{k: on_meta(v) for k, v in kwargs.items()})
        assert on_meta_device.device.type == "meta"
        assert on_meta_device.dtype is on_cpu.dtype
        assert on_meta_device.shape == on_cpu.shape
        assert on_meta_device.stride() == on_cpu.stride()


def on_meta(value: Any) -> Any:
    if not isinstance(value, aten.Tensor):
        return value
    return empty_strided(value.shape, value.stride(), value.dtype, aten.device("meta"))


@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("element", ["float16", "bfloat16", "float32"])
def test_quotients_are_rounded_in_their_type(element: str, mode: str) -> None:
    generator = torch.Generator().manual_seed(2)
    over, under = (
        (torch.randn(4000, generator=generator) * size).to(getattr(torch, element))
        for size in (100, 1)
    )
    expected = torch.div(over, under, rounding_mode=mode)
    found = aten.div(to_aten(over), to_aten(under), rounding_mode=mode)
    assert torch.equal(to_torch(found).nan_to_num(), expected.nan_to_num())
    if mode == "floor":
        found = to_aten(over) // to_aten(under)
        assert torch.equal(to_torch(found).nan_to_num(), (over // under).nan_to_num())
