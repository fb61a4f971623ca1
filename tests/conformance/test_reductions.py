"""Reductions, softmax, layer norm and scans against torch: types, dimensions, layouts, errors."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import aten
from aten._core.tensor.making import tensor_from_buffer

SHAPE = (5, 7, 9)
DIMS = [None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2)]
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda x: x,
    "permuted": lambda x: x.permute(2, 0, 1),
    "stepped": lambda x: x[::2, 1:, ::3],
    "expanded": lambda x: x[:, :1].expand(5, 4, 9),
    "empty row": lambda x: x[:, :0],
    "vector": lambda x: x[0, 0],
    "scalar": lambda x: x[0, 0, 0],
}
# Relative and absolute, by element type: a few roundings of the type.
TOLERANCE = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}


def to_aten(value: torch.Tensor) -> aten.Tensor:
    """A copy of the tensor's storage as an aten tensor with torch's strides and offset."""
    raw = bytearray(numpy.asarray(value.untyped_storage(), dtype=numpy.uint8))
    element = getattr(aten, str(value.dtype).removeprefix("torch."))
    offset = value.storage_offset() * value.element_size()
    return tensor_from_buffer(raw, element, tuple(value.shape), value.stride(), offset)


def check(result: Any, expected: Any) -> None:
    """Shape, type and values agree."""
    if isinstance(expected, tuple):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            check(one, other)
        return
    assert tuple(result.shape) == tuple(expected.shape)
    name = str(expected.dtype).removeprefix("torch.")
    assert result.dtype.name == name
    tolerance = TOLERANCE.get(name, 0.0)
    found = numpy.array(result.tolist(), dtype=numpy.float64).reshape(tuple(expected.shape))
    numpy.testing.assert_allclose(
        found, expected.double().numpy(), rtol=tolerance, atol=tolerance * 10
    )


def sample(name: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    element = getattr(torch, name)
    if element.is_floating_point:
        return torch.randn(SHAPE, generator=generator, dtype=torch.float64).to(element)
    if element is torch.bool:
        return torch.randint(0, 4, SHAPE, generator=generator) > 0
    return torch.randint(0, 9, SHAPE, generator=generator).to(element)


def outcome(function: Callable[[], Any]) -> Any:
    """The result, or the type of the exception."""
    try:
        with warnings.catch_warnings():
            # torch warns of moments of too few elements; the values are compared all the same.
            warnings.simplefilter("ignore", UserWarning)
            return function()
    except Exception as error:
        return type(error)


def compare(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    expected = outcome(theirs)
    result = outcome(ours)
    if isinstance(expected, type):
        assert isinstance(result, type), f"torch raises {expected.__name__}"
        assert issubclass(result, expected) or issubclass(expected, result)
        return
    assert not isinstance(result, type), f"raises {result}, torch gives {expected.dtype}"
    if isinstance(expected, tuple):
        expected = tuple(expected)
    check(result, expected)


FOLDS = ["sum", "mean", "amax", "amin", "any", "all", "var", "std", "logsumexp", "count_nonzero"]
TYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_folds(name: str, element: str, layout: str) -> None:
    theirs = LAYOUTS[layout](sample(element))
    ours = to_aten(theirs)
    for dim, keepdim in itertools.product(DIMS, (False, True)):
        if dim is None and name in ("logsumexp", "amax", "amin"):
            continue
        named: dict[str, Any] = {} if dim is None else {"dim": dim}
        if dim is not None and name != "count_nonzero":
            named["keepdim"] = keepdim
        compare(
            lambda: getattr(aten, name)(ours, **named),
            lambda: getattr(torch, name)(theirs, **named),
        )


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_along_one_dimension(name: str, element: str, layout: str) -> None:
    theirs = LAYOUTS[layout](sample(element))
    ours = to_aten(theirs)
    for dim in (0, 1, 2, -1, 3):
        compare(lambda: getattr(aten, name)(ours, dim), lambda: getattr(torch, name)(theirs, dim))
    if not name.startswith("cum"):
        compare(lambda: getattr(aten, name)(ours), lambda: getattr(torch, name)(theirs))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_softmax(name: str, element: str, layout: str) -> None:
    theirs = LAYOUTS[layout](sample(element))
    ours = to_aten(theirs)
    for dim in (0, 1, -1):
        compare(lambda: getattr(aten, name)(ours, dim), lambda: getattr(torch, name)(theirs, dim))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, float("inf"), float("-inf")])
@pytest.mark.parametrize("dim", [None, 0, (0, 2)])
def test_norms(order: float, dim: Any) -> None:
    theirs = sample("float32")
    ours = to_aten(theirs)
    compare(
        lambda: aten.ops.aten.linalg_vector_norm(ours, order, dim),
        lambda: torch.linalg.vector_norm(theirs, order, dim),
    )


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("layout", ["contiguous", "permuted", "stepped"])
def test_layer_norm(rank: int, affine: bool, layout: str) -> None:
    theirs = LAYOUTS[layout](sample("float32"))
    shape = tuple(theirs.shape[-rank:])
    weight = torch.randn(shape) if affine else None
    bias = torch.randn(shape) if affine else None
    ours = to_aten(theirs)
    check(
        aten.native_layer_norm(
            ours,
            shape,
            None if weight is None else to_aten(weight),
            None if bias is None else to_aten(bias),
            1e-5,
        ),
        torch.native_layer_norm(theirs, shape, weight, bias, 1e-5),
    )


@pytest.mark.parametrize("name", ["sum", "amax", "argmax", "mean", "cumsum"])
def test_special_values(name: str) -> None:
    values = [1.0, float("nan"), -float("inf"), float("inf"), -0.0, 3e38, 3e38, 1e-45]
    rows = torch.tensor([values, values[2:] + values[:2], [-0.0] * 8, [float("inf")] * 8])
    for dim in (0, 1):
        compare(
            lambda: getattr(aten, name)(to_aten(rows), dim),
            lambda: getattr(torch, name)(rows, dim),
        )


@pytest.mark.parametrize("size", [65_537, 300_001, 1_000_003])
def test_large_sums_are_nearly_exact(size: int) -> None:
    values = torch.randn(3, size)
    exact = values.double().sum(1)
    scale = values.double().abs().sum(1)
    ours = to_aten(values)
    for result in (ours.sum(1), ours.mean(1) * size):
        error = (torch.tensor(result.tolist(), dtype=torch.float64) - exact).abs() / scale
        assert error.max() < 1e-7
    assert ours.amax().item() == values.amax().item()
    assert ours.argmin().item() == values.argmin().item()


def test_threads_do_not_change_bits() -> None:
    values = to_aten(torch.randn(7, 400_000))
    before = aten.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            aten.set_num_threads(threads)
            found.append((values.sum().item(), values.sum(1).tolist(), values.var(1).tolist()))
    finally:
        aten.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_a_row_does_not_depend_on_the_batch() -> None:
    values = to_aten(torch.randn(64, 777))
    alone = aten.softmax(values.narrow(0, 5, 1) if hasattr(values, "narrow") else values, 1)
    together = aten.softmax(values, 1)
    assert together.tolist()[5] == alone.tolist()[0]


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "norm", "logsumexp", "nansum"])
@pytest.mark.parametrize("layout", ["vector", "rows", "columns"])
def test_ten_million_floats(name: str, layout: str) -> None:
    """No farther from the float64 result than torch's cascades are, or than one rounding."""
    generator = torch.Generator().manual_seed(7)
    values = torch.rand(10_000_000, generator=generator) + 0.1
    if layout != "vector":
        values = values.reshape((4, -1) if layout == "rows" else (-1, 4))
    dim = 1 if layout == "rows" else 0
    given = (2, dim) if name == "norm" else (dim,)
    exact = getattr(torch, name)(values.double(), *given)
    result = getattr(aten, name)(aten.from_numpy(values.numpy()), *given)
    ours = torch.tensor(result.tolist(), dtype=torch.float64)
    theirs = getattr(torch, name)(values, *given).double()
    bound = torch.maximum((theirs - exact).abs(), exact.abs() * 2**-24 * 1.5)
    assert bool(((ours - exact).abs() <= bound).all())


@pytest.mark.parametrize("element", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_moments_of_complex_numbers(name: str, element: str) -> None:
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(SHAPE, generator=generator, dtype=getattr(torch, element))
    for layout, dim, correction in itertools.product(LAYOUTS.values(), (None, 0, -1), (0, 1, 2)):
        given = layout(values)
        if given.dim() == 0 and dim is not None:
            continue
        options = {"dim": dim, "correction": correction, "keepdim": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(torch, name)(given, **options)
            found = getattr(aten, name)(to_aten(given), **options)
        for ours, theirs in zip(
            found if isinstance(found, tuple) else (found,),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        ):
            assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
            made = torch.tensor(ours.tolist(), dtype=theirs.dtype).reshape(theirs.shape)
            torch.testing.assert_close(made, theirs, equal_nan=True)
