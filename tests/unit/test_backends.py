"""One definition, three backends: CPU kernels, metadata only, NumPy; and a device of our own."""

from __future__ import annotations

import itertools
import math
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import aten
from aten import registry
from aten._core.base.keys import DispatchKey
from aten._generated.table import OPERATORS
from aten.backends.decomposition import decomposing_kernel
from aten.backends.structured import define_by, definition_of, install_loops_reduction
from aten.ops.definition import place_of
from aten.ops.folding import extent, fold, spread
from aten.prims import Value

EXAMPLES: dict[str, Any] = {
    "reduction": 1,
    "dim": 1,
    "correction": 1,
    "normalized_shape": (4,),
    "eps": 1e-5,
    "half_to_float": False,
    "p": 2,
    "dtype": aten.float32,
    "keepdim": True,
    "unbiased": True,
    "approximate": "none",
    "decimals": 1,
    "delta": 0.5,
    "beta": 0.5,
    "rounding_mode": "floor",
    "ord": 2,
    "momentum": 0.1,
    "training": False,
    "noise": None,
    "input_dtype": aten.float32,
}
KINDS = ("pointwise", "reduction", "scan")


def structured() -> list[str]:
    """Every functional operator that is made of loops and has a definition."""
    return sorted(
        name
        for name, (_, kind, variant, _, function, options) in OPERATORS.items()
        if kind in KINDS and variant == "functional" and function and "alias_of" not in options
    )


# Where the examples do not fit: by operator.
SPECIAL: dict[str, dict[str, Any]] = {
    "all.dims": {"dim": (1,)},
    "any.dims": {"dim": (1,)},
    "clamp": {"min": 0.25},
    "fill.Tensor": {"value": aten.tensor(2.5)},
    "masked_fill.Tensor": {"value": aten.tensor(2.5)},
}


def argument(name: str, parameter: Any, place: int, device: str) -> Any:
    kind = str(parameter.type)
    if parameter.name in SPECIAL.get(name, {}):
        found = SPECIAL[name][parameter.name]
        return found.to(device) if isinstance(found, aten.Tensor) else found
    if kind.startswith("Tensor"):
        if parameter.name in ("condition", "mask"):
            return aten.tensor([[True, False, True, True]] * 3).to(device)
        vector = parameter.name in ("weight", "bias", "running_mean", "running_var")
        first = 1.1 if name.startswith("acosh") else 0.1
        rows = [[first + 0.17 * (row + column + place) for column in range(4)] for row in range(3)]
        return aten.tensor(rows[0] if vector else rows).to(device)
    if parameter.name in EXAMPLES and (not parameter.has_default or parameter.default is None):
        return EXAMPLES[parameter.name]
    if parameter.has_default:
        return parameter.default
    if kind == "Scalar":
        return 0.75
    if kind in ("bool", "int?"):
        return True if kind == "bool" else None
    raise LookupError(f"no example for {parameter.name}: {kind}")


def call(name: str, device: str) -> tuple[aten.Tensor, ...]:
    op = registry.operator(f"aten::{name}")
    arguments = [argument(name, p, place, device) for place, p in enumerate(op._schema.arguments)]
    if name.startswith(("bitwise", "__", "logical")) or "shift" in name:
        arguments = [
            one.to(aten.int64) if isinstance(one, aten.Tensor) else int(one) for one in arguments
        ]
    positional = sum(not parameter.keyword_only for parameter in op._schema.arguments)
    named = {
        parameter.name: value
        for parameter, value in zip(op._schema.arguments, arguments, strict=True)
        if parameter.keyword_only
    }
    result = op(*arguments[:positional], **named)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", structured())
def test_backends_agree(name: str) -> None:
    on_cpu = call(name, "cpu")
    on_reference = call(name, "reference")
    on_meta = call(name, "meta")
    for cpu, reference, meta in zip(on_cpu, on_reference, on_meta, strict=True):
        assert reference.device.type == "reference"
        assert meta.device.type == "meta"
        assert cpu.dtype is reference.dtype is meta.dtype
        assert tuple(cpu.shape) == tuple(reference.shape) == tuple(meta.shape)
        assert cpu.stride() == meta.stride()
        assert flat(reference.to("cpu")) == pytest.approx(
            flat(cpu), rel=1e-5, abs=1e-6, nan_ok=True
        )


def flat(value: aten.Tensor) -> list[float]:
    return value.reshape(-1).to(aten.float64).tolist()  # type: ignore[no-any-return]


spaces = (f"defined_here_{number}" for number in itertools.count())


@pytest.fixture
def defined() -> Iterator[Callable[..., Any]]:
    """Makes a reduction of one's own from its function, for every backend."""
    made = []
    space = next(spaces)

    def define(function: Callable[..., Any]) -> Any:
        schema = f"{function.__name__}(Tensor self, int dim, bool keepdim=False) -> Tensor"
        op = registry.define(space, schema, kind="fused")
        made.append(op)
        define_by(op, function, place_of(function))
        install_loops_reduction(op)
        definition = definition_of(op)
        op.register(DispatchKey.Structured, decomposing_kernel(op, definition), definition.place)
        return op

    yield define
    for op in made:
        registry.undefine(op)


DEVICES = ("cpu", "meta", "reference")


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (5, 1), (1, 4), (2, 70)])
@pytest.mark.parametrize("transposed", [False, True])
def test_definitions_of_one_s_own_fill_their_results(
    defined: Callable[..., Any], shape: tuple[int, int], transposed: bool
) -> None:
    def mean_square(self: Value, dim: int, keepdim: bool) -> Value:
        return fold("sum", self * self, dim, keepdim) / extent(self, dim)

    def total_everywhere(self: Value, dim: int, keepdim: bool) -> Value:
        return spread(fold("sum", self, dim), self, dim)

    mean, total = defined(mean_square), defined(total_everywhere)
    rows, columns = shape
    x = aten.tensor(
        [[float(row * columns + column) for column in range(columns)] for row in range(rows)]
    )
    if transposed:
        x = x.t().contiguous().t()
    lists = x.tolist()
    means = [sum(one * one for one in row) / columns for row in lists]
    sums = [[sum(row)] * columns for row in lists]
    for device in DEVICES:
        moved = x.to(device) if device != "cpu" else x
        kept, dropped, spread_out = mean(moved, 1, True), mean(moved, 1), total(moved, 1)
        assert (kept.shape, dropped.shape, spread_out.shape) == ((rows, 1), (rows,), shape)
        if device != "meta":
            assert flat(kept.to("cpu")) == pytest.approx(means, rel=1e-6)
            assert flat(dropped.to("cpu")) == pytest.approx(means, rel=1e-6)
            assert spread_out.to("cpu").tolist() == sums


@pytest.mark.parametrize("device", DEVICES)
def test_definitions_whose_result_no_walk_fills_are_refused_on_all_backends(
    defined: Callable[..., Any], device: str
) -> None:
    def beside_itself(self: Value, dim: int, keepdim: bool) -> Value:
        return fold("sum", self, dim, keepdim) + fold("amax", self, dim)

    def along_another(self: Value, dim: int, keepdim: bool) -> Value:
        return self - fold("sum", self, dim)

    def two_folds(self: Value, dim: int, keepdim: bool) -> Value:
        return fold("sum", fold("sum", self, dim), 0)

    x = aten.ones(3, 3).to(device)
    for function in (beside_itself, along_another, two_folds):
        line = function.__code__.co_firstlineno
        where = rf"{function.__name__}: .*defined at .*tests/unit/test_backends\.py:{line}"
        op = defined(function)
        for _ in range(2):
            with pytest.raises(NotImplementedError, match=where):
                op(x, 1, True)


def test_a_device_that_registers_primitives_only(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "examples" / "private_backend.py"
    module = runpy.run_path(str(example))
    module["main"]()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "[[2.0, 4.0, 6.0], [8.0, 10.0, 14.0]]"
    assert printed[1] == "[[1.5, 2.5, 3.5], [4.5, 5.5, 7.5]]"
    x = aten.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]).to("privateuseone")
    rows = aten.softmax(x, dim=-1).to("cpu").tolist()
    expected = [math.exp(value) for value in (1, 2, 3)]
    assert rows[0] == pytest.approx([value / sum(expected) for value in expected], rel=1e-6)
    x += 1
    assert x.to("cpu").tolist() == [[2.0, 3.0, 4.0], [5.0, 6.0, 8.0]]
    assert x.device.type == "privateuseone"
    with pytest.raises(NotImplementedError, match="prims::floor"):
        aten.floor(x)


def test_unknown_opsets_are_refused() -> None:
    with pytest.raises(ValueError, match="opset"):
        aten.backends.register_backend("PrivateUse2", opset="some")
    with pytest.raises(ValueError, match="unknown backend"):
        aten.backends.register_backend("Nowhere", opset="prims")


def test_primitives_are_operators() -> None:
    left, right = aten.tensor([1.0, 2.0]), aten.tensor([3.0, 4.0])
    assert aten.ops.prims.add(left, right).tolist() == [4.0, 6.0]
    assert aten.ops.prims.sum(aten.tensor([[1.0, 2.0], [3.0, 4.0]]), (0,)).tolist() == [4.0, 6.0]
    assert aten.ops.prims.convert_element_type(left, aten.int32).dtype is aten.int32
    spread = aten.ops.prims.broadcast_in_dim(left, (2, 3), (0,))
    assert spread.tolist() == [[1.0] * 3, [2.0] * 3]
    assert spread.data_ptr() == left.data_ptr()


def test_a_result_that_the_call_leaves_out_cannot_be_written() -> None:
    image, weight, out = aten.ones(1, 2, 4, 4), aten.ones(2, 2, 3, 3), aten.ones(2)
    given = (image, image, weight, [2], [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    backward = aten.ops.aten.convolution_backward.out
    with pytest.raises(RuntimeError, match="convolution_backward: out1 was given, but the call"):
        backward(*given, [True, False, True], out0=aten.empty(0), out1=out, out2=aten.empty(0))
    assert out.tolist() == [1.0, 1.0]


@pytest.fixture
def abacus() -> Iterator[Callable[..., Any]]:
    """Registers one primitive of a device that multiplies by one, and takes both back."""
    aten.backends.register_backend("PrivateUse2", opset="prims")
    with aten.library.Library("prims", "IMPL", "PrivateUse2") as library:
        library.impl("mul", lambda left, right: left)

        def register(name: str, function: Callable[..., Any]) -> None:
            library.impl(name, function, allow_override=True)

        yield register


@pytest.mark.parametrize(
    ("made", "given"),
    [
        (lambda x: aten.zeros(2, 3), r"a aten\.float32 tensor of shape \[2, 3\] on cpu"),
        (lambda x: aten.zeros(5).to(x.device), r"a aten\.float32 tensor of shape \[5\] on priva"),
        (lambda x: x.to("cpu").to(aten.int64).to(x.device), r"a aten\.int64 tensor of shape"),
        (lambda x: None, "None"),
        (lambda x: [x], "a list of 1"),
    ],
    ids=["of the host", "of another shape", "of another type", "none", "a list"],
)
@pytest.mark.parametrize("call", [lambda x: x + x, lambda x: x.add_(x), lambda x: x + 2])
def test_what_a_device_s_primitive_returns_is_compared_with_what_it_is(
    abacus: Callable[..., Any], made: Callable[..., Any], given: str, call: Callable[..., Any]
) -> None:
    abacus("add", lambda left, right: made(left))
    x = aten.ones(2, 3).to("privateusetwo")
    where = r"registered at .*test_backends\.py:\d+"
    with pytest.raises(
        (TypeError, RuntimeError), match=rf"prims::add: expected .*{where}.*returned {given}"
    ):
        call(x)
    assert x.to("cpu").tolist() == [[1.0] * 3] * 2


def test_what_a_device_makes_of_numbers_and_folds_is_compared_too(
    abacus: Callable[..., Any],
) -> None:
    x = aten.ones(2, 3).to("privateusetwo")
    abacus("sum", lambda inp, dims, *, output_dtype: inp)
    with pytest.raises(RuntimeError, match=r"prims::sum: expected a .* of shape \[2\] on priv"):
        x.sum(1)
    abacus("scalar_tensor", lambda s, *, dtype, device: x)
    with pytest.raises(RuntimeError, match=r"prims::scalar_tensor: expected a .* of shape \[\]"):
        x + 2


def test_numbers_beyond_a_dtype_wrap_as_on_the_cpu() -> None:
    for element, number in ((aten.uint8, 300), (aten.int8, 200), (aten.int32, 1 << 31)):
        x = aten.ones(2, dtype=element)
        assert (x.to("reference") + number).tolist() == (x + number).tolist()
