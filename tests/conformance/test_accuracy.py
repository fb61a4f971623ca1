"""A sample of what `benchmarks/accuracy.py` measures on all float32s; all of the half types."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "accuracy.py"
STEP = 4093  # a prime: 10^6 arguments, of all exponents, with all sorts of last bits


def _script() -> Any:
    specification = importlib.util.spec_from_file_location("accuracy", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["accuracy"] = module
    specification.loader.exec_module(module)
    return module


accuracy = _script()


@pytest.mark.parametrize("name", [*accuracy.WITHIN_ONE, *accuracy.OTHERS])
def test_within_one_unit(name: str) -> None:
    ours, _ = accuracy.sweep(name, STEP)
    assert ours.error <= accuracy.BOUNDS.get(name, 1.0), ours


@pytest.mark.parametrize("element", accuracy.HALF_TYPES)
@pytest.mark.parametrize("name", [*accuracy.WITHIN_ONE, *accuracy.OTHERS])
def test_half_types_are_rounded_once(name: str, element: str) -> None:
    """Of every argument there is: the float32 result's own error can only decide near a tie."""
    error = accuracy.half_error(name, element)
    assert error is None or error <= 0.501


def test_errors_are_counted_in_units() -> None:
    one = torch.tensor([1.0, 1.0, 2.0, float("inf"), float("nan"), 1.0])
    exact = torch.tensor([1.0, 1 + 2.0**-23, 2 + 2.0**-23, 2.0**128, float("nan"), float("nan")])
    errors = torch.empty(6, dtype=torch.float64)
    exact = exact.double()
    exact[1], exact[2] = 1 + 2.0**-23, 2 + 2.0**-23
    accuracy.compiled_errors()(one.numpy(), exact.numpy(), errors.numpy())
    assert errors.tolist() == [0, 1, 0.5, 0, 0, float("inf")]
