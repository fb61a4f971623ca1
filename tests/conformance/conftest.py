"""Fixtures of the tests beside other libraries."""

import pytest

import aten


@pytest.fixture
def double():
    """float64 and complex128 as default dtypes, as NumPy and array-api-strict have them."""
    before = aten.get_default_dtype()
    aten.set_default_dtype(aten.float64)
    yield
    aten.set_default_dtype(before)
