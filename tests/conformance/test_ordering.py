"""Sorting, ranks, different elements, running extremes and histograms against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from comparison import compare, translated

import aten

TYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"]
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda x: x,
    "permuted": lambda x: x.permute(2, 0, 1),
    "stepped": lambda x: x[::2, 1:, ::3],
    "expanded": lambda x: x[:, :1].expand(4, 5, 9),
    "empty": lambda x: x[:, :0],
    "vector": lambda x: x[0, 0],
    "scalar": lambda x: x[0, 0, 0],
}


def sample(element: str, *, ties: bool = True) -> torch.Tensor:
    """Some elements twice, some NaN, zeros of both signs, where the type has them."""
    generator = torch.Generator().manual_seed(3)
    size = 4 * 6 * 9
    values = torch.randint(-9, 9, (size,), generator=generator).double()
    if not ties:
        values = torch.randperm(size, generator=generator).double() - size / 2
    made = values.to(getattr(torch, element))
    if made.is_floating_point() and ties:
        made[::17] = float("nan")
        made[1::23] = -0.0
    return made.reshape(4, 6, 9)


ALONG: dict[str, Callable[[Any, Any, int], Any]] = {
    "sort": lambda lib, x, dim: lib.sort(x, dim=dim, stable=True),
    "sort descending": lambda lib, x, dim: lib.sort(x, dim=dim, descending=True, stable=True),
    "argsort": lambda lib, x, dim: lib.argsort(x, dim=dim, stable=True),
    "msort": lambda lib, x, dim: lib.msort(x),
    "cummax": lambda lib, x, dim: lib.cummax(x, dim),
    "cummin": lambda lib, x, dim: lib.cummin(x, dim),
    "logcumsumexp": lambda lib, x, dim: lib.logcumsumexp(x, dim),
    "median values": lambda lib, x, dim: lib.median(x, dim)[0],
    "nanmedian values": lambda lib, x, dim: lib.nanmedian(x, dim)[0],
    "median of all": lambda lib, x, dim: lib.median(x),
    "nanmedian of all": lambda lib, x, dim: lib.nanmedian(x),
    "unique": lambda lib, x, dim: lib.unique(x, return_inverse=True, return_counts=True),
    "unique dim": lambda lib, x, dim: lib.unique(
        x, dim=dim, return_inverse=True, return_counts=True
    ),
    "unique_consecutive": lambda lib, x, dim: lib.unique_consecutive(x, return_counts=True),
}


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_along_a_dimension(name: str, element: str, layout: str) -> None:
    # Of several NaNs, which one is which is nobody's business.
    made = sample(element)
    given = LAYOUTS[layout](torch.nan_to_num(made) if name.startswith("unique") else made)
    tolerance = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-6}.get(element, 1e-13)
    if "median" in name and layout == "expanded":
        given = given.contiguous()  # torch selects in place, in memory that elements share
    for dim in (0, 1, -1, *((3,) if layout != "empty" else ())):
        compare(
            lambda lib, x, dim=dim: ALONG[name](lib, x, dim),
            given,
            tolerance=tolerance,
            strides=layout != "empty",
        )


RANKED: dict[str, Callable[[Any, Any, int], Any]] = {
    "topk": lambda lib, x, dim: lib.topk(x, 2, dim),
    "topk smallest": lambda lib, x, dim: lib.topk(x, 3, dim, largest=False),
    "topk as they come": lambda lib, x, dim: lib.topk(x, 2, dim, sorted=False),
    "kthvalue": lambda lib, x, dim: lib.kthvalue(x, 2, dim, True),
    "mode": lambda lib, x, dim: lib.mode(x, dim),
}


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_ranks(name: str, element: str, layout: str) -> None:
    """Positions too: of equal elements, the one that torch's algorithm comes upon."""
    given = LAYOUTS[layout](torch.nan_to_num(sample(element)))
    for dim in (0, 1, -1, 3):
        compare(lambda lib, x, dim=dim: RANKED[name](lib, x, dim), given, strides=layout != "empty")


@pytest.mark.parametrize("length", [1, 16, 17, 100, 1000, 20_000])
@pytest.mark.parametrize("spread", [2, 50, 10**6])
def test_positions_of_equal_elements(length: int, spread: int) -> None:
    generator = torch.Generator().manual_seed(length + spread)
    row = torch.randint(0, spread, (length,), generator=generator)
    some = max(1, length // 3)
    compare(lambda lib, x: lib.topk(x, some), row)
    compare(lambda lib, x: lib.topk(x, max(1, length // 100)), row)
    compare(lambda lib, x: lib.topk(x, some, largest=False, sorted=False), row)
    compare(lambda lib, x: lib.kthvalue(x, some), row)
    compare(lambda lib, x: lib.mode(x), row)
    compare(lambda lib, x: lib.sort(x), (row % 2).bool())
    compare(lambda lib, x: lib.sort(x, descending=True), row.to(torch.float16))


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("element", ["float32", "float64"])
def test_quantiles(name: str, interpolation: str, element: str) -> None:
    given = sample(element, ties=name == "nanquantile")
    for q in (0.0, 0.3, 1.0, torch.tensor([0.1, 0.75], dtype=given.dtype)):
        for dim in (None, 0, -1):
            compare(
                lambda lib, x, q, dim=dim: getattr(lib, name)(
                    x, q, dim, keepdim=dim == 0, interpolation=interpolation
                ),
                given,
                q,
                tolerance=1e-6,
                strides=False,
            )


HISTOGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "histc": lambda lib, x: lib.histc(x, 7),
    "histc within": lambda lib, x: lib.histc(x, 5, -3, 4),
    "histc backwards": lambda lib, x: lib.histc(x, 5, 4, -3),
    "histogram": lambda lib, x: lib.histogram(x, 5),
    "histogram within": lambda lib, x: lib.histogram(x, 6, range=(-2.0, 3.0), density=True),
    "histogram of edges": lambda lib, x: lib.histogram(x, x.flatten()[:5].sort()[0]),
    "histogram weighted": lambda lib, x: lib.histogram(x, 3, weight=x * x),
    "histogramdd": lambda lib, x: lib.histogramdd(x[..., :2], [3, 4]),
    "histogramdd of too few bins": lambda lib, x: lib.histogramdd(x[..., :2], [3]),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
@pytest.mark.parametrize("element", ["float32", "float64", "float16", "int64"])
def test_histograms(name: str, element: str) -> None:
    tolerance = 2e-3 if element == "float16" else 2e-6
    compare(HISTOGRAMS[name], sample(element, ties=False), tolerance=tolerance)


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "sort complex": lambda lib, x: lib.sort(x.to(lib.complex64)),
    "topk of too many": lambda lib, x: lib.topk(x, 10),
    "topk of fewer than none": lambda lib, x: lib.topk(x, -1),
    "topk of bool": lambda lib, x: lib.topk(x > 0, 1),
    "kthvalue 0": lambda lib, x: lib.kthvalue(x, 0),
    "kthvalue of nothing": lambda lib, x: lib.kthvalue(x[:0], 1, 0),
    "kthvalue into itself": lambda lib, x: lib.kthvalue(
        x.flatten(), 1, out=(x.flatten(), lib.empty((), dtype=lib.int64))
    ),
    "median of nothing": lambda lib, x: lib.median(x[:0], 0),
    "mode of nothing": lambda lib, x: lib.mode(x[:0], 0),
    "quantile out of range": lambda lib, x: lib.quantile(x, 1.5),
    "quantile of integers": lambda lib, x: lib.quantile(x.long(), 0.5),
    "unique slices of nothing": lambda lib, x: lib.unique(x[:0], dim=1),
    "sort into other types": lambda lib, x: lib.sort(
        x, out=(lib.empty_like(x, dtype=lib.float64), lib.empty_like(x, dtype=lib.int64))
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(name: str) -> None:
    given = sample("float32", ties=False)
    try:
        WRONG[name](torch, given)
    except Exception:
        compare(WRONG[name], given)
        return
    pytest.fail("torch takes it")


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("count", [3, 90, 1000])
def test_isin_beside_nan(dtype: torch.dtype, count: int) -> None:
    """No number is lost behind NaN in what is looked up, and NaN is in nothing."""
    tests = torch.arange(count).to(dtype)
    tests[::3] = float("nan")
    given = torch.cat(
        [torch.arange(-2, count + 2).to(dtype), torch.tensor([float("nan")]).to(dtype)]
    )
    expected = (given[:, None] == tests).any(1)
    for invert in (False, True):
        found = aten.isin(translated(given), translated(tests), invert=invert)
        assert found.tolist() == (expected ^ invert).tolist()
    assert not aten.isin(translated(given), translated(tests[::3].repeat(40))).any()


def test_results_have_names() -> None:
    values = aten.tensor([[3.0, 1.0], [2.0, 5.0]])
    assert values.max(1).values.tolist() == [3.0, 5.0]
    assert aten.sort(values, 1).indices.tolist() == [[1, 0], [0, 1]]
    assert aten.aminmax(values).max.item() == 5.0
