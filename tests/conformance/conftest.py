"""Fixtures of the tests beside other libraries."""

import os

import pytest

import aten

# SciPy reads it when it is first imported, and scikit-learn asks for it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture
def double():
    """float64 and complex128 as default dtypes, as NumPy and array-api-strict have them."""
    before = aten.get_default_dtype()
    aten.set_default_dtype(aten.float64)
    yield
    aten.set_default_dtype(before)
