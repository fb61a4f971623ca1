"""Derivatives, integrals, covariances, masked and further folds against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from comparison import compare

Case = Callable[[Any, Any], Any]
TYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "complex64"]


def sample(element: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    values = torch.randint(0, 9, (4, 5, 6), generator=generator).double() / 2
    made = values.to(getattr(torch, element))
    return made * (1 - 2j) + 1j if made.is_complex() else made


CASES: dict[str, Case] = {
    "gradient": lambda lib, x: lib.gradient(x),
    "gradient along": lambda lib, x: lib.gradient(x, dim=1, spacing=0.5, edge_order=2),
    "gradient of each": lambda lib, x: lib.gradient(x, dim=(0, 2), spacing=(2.0, 0.25)),
    "gradient at": lambda lib, x: lib.gradient(
        x, dim=(0,), spacing=(lib.tensor([0.0, 1.0, 3.0, 3.5]),), edge_order=2
    ),
    "gradient without steps": lambda lib, x: lib.gradient(x, dim=1, spacing=0, edge_order=2),
    "gradient too short": lambda lib, x: lib.gradient(x[:1], dim=0),
    "gradient twice": lambda lib, x: lib.gradient(x, dim=(1, 1)),
    "gradient of order 3": lambda lib, x: lib.gradient(x, edge_order=3),
    "trapezoid": lambda lib, x: lib.trapezoid(x, dx=0.5, dim=1),
    "trapezoid at": lambda lib, x: lib.trapezoid(x, lib.tensor([0.0, 1, 3, 4, 9]), dim=1),
    "trapezoid at too few": lambda lib, x: lib.trapezoid(x, lib.tensor([0.0, 1]), dim=1),
    "trapezoid of nothing": lambda lib, x: lib.trapezoid(x[:, :0], dim=1),
    "trapz": lambda lib, x: lib.trapz(x),
    "cumulative_trapezoid": lambda lib, x: lib.cumulative_trapezoid(x, dim=0),
    "cumulative_trapezoid at": lambda lib, x: lib.cumulative_trapezoid(
        x, lib.tensor([0.0, 1, 3, 4]), dim=0
    ),
    "diff": lambda lib, x: lib.diff(x, 2, 1),
    "diff with more": lambda lib, x: lib.diff(x, 1, 0, x[:1], x[:2]),
    "cov": lambda lib, x: lib.cov(x[0]),
    "cov of a vector": lambda lib, x: lib.cov(x[0, 0], correction=0),
    "cov weighted": lambda lib, x: lib.cov(
        x[0], fweights=lib.tensor([1, 2, 0, 1, 3, 1]), aweights=lib.tensor([0.5, 1, 2, 1, 1, 3])
    ),
    "cov of too many dims": lambda lib, x: lib.cov(x),
    "cov of negative weights": lambda lib, x: lib.cov(x[0, 0, :2], fweights=lib.tensor([1, -1])),
    "corrcoef": lambda lib, x: lib.corrcoef(x[1]),
    "trace": lambda lib, x: lib.trace(x[0]),
    "trace of too many dims": lambda lib, x: lib.trace(x),
    "aminmax": lambda lib, x: lib.aminmax(x, dim=1, keepdim=True),
    "aminmax of nothing": lambda lib, x: lib.aminmax(x[:, :0], dim=1),
    "nansum": lambda lib, x: lib.nansum(x / x, 1),
    "nanmean": lambda lib, x: lib.nanmean(x / x, (0, 2), True),
    "hash_tensor": lambda lib, x: lib.hash_tensor(x, (0, 1)),
    "allclose": lambda lib, x: lib.allclose(x, x),
    "logcumsumexp": lambda lib, x: lib.logcumsumexp(x, 1),
    "softmin": lambda lib, x: lib.nn.functional.softmin(x, 1),
    "logsumexp": lambda lib, x: lib.special.logsumexp(x, (0, 1)),
}
MASKED = [
    *("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm"),
    *("var", "std", "logsumexp", "cumsum", "cumprod", "softmax", "log_softmax", "softmin"),
]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("layout", ["contiguous", "permuted"])
def test_cases(name: str, element: str, layout: str) -> None:
    given = sample(element)
    if layout == "permuted":
        given = given.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    tolerance = 1e-12 if element == "float64" else 4e-6
    compare(CASES[name], given, tolerance=tolerance, absolute=1e-6, strides=False)


# torch warns of the median of complex numbers before it drops their imaginary parts.
PAIRS = [(n, e) for n in MASKED for e in TYPES if (n, e) != ("median", "complex64")]


@pytest.mark.parametrize(("name", "element"), PAIRS)
@pytest.mark.parametrize("shape", [(4, 5, 6), (5, 1), (1,), (1, 4, 5, 6), None], ids=str)
def test_masked(name: str, element: str, shape: tuple[int, ...] | None) -> None:
    """A mask of every shape that broadcasts, one of too many dimensions, and none."""
    generator = torch.Generator().manual_seed(6)
    mask = None if shape is None else torch.rand(shape, generator=generator) > 0.4
    for dim in (1, -1):
        compare(
            lambda lib, x, m, dim=dim: getattr(lib.masked, name)(x, dim=dim, mask=m),
            sample(element),
            mask,
            tolerance=4e-6,
            absolute=1e-6,
            strides=False,
        )
