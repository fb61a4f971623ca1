"""Folds of many rows with few columns, which threads share by whole vectors."""

from __future__ import annotations

import pytest

import aten

FUNCTIONS = {
    "sum": lambda x: x.sum(0),
    "amax": lambda x: x.amax(0),
    "var": lambda x: x.var(0),
    "softmax": lambda x: x.softmax(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "argmax": lambda x: x.argmax(0),
    "cumsum": lambda x: x.cumsum(0),
}


@pytest.fixture
def threads():
    before = aten.get_num_threads()
    yield aten.set_num_threads
    aten.set_num_threads(before)


# Those that integers have, too.
EXACT = ("sum", "amax", "argmax", "cumsum")
CASES = [
    *((name, element) for name in FUNCTIONS for element in ("float32", "float64", "bfloat16")),
    *((name, "int32") for name in EXACT),
]


@pytest.mark.parametrize("columns", [1, 15, 16, 33, 47, 64, 70, 300])
@pytest.mark.parametrize(("name", "element"), CASES)
def test_columns_have_the_same_bits_for_any_threads(threads, name, columns, element):
    generator = aten.Generator().manual_seed(columns)
    numbers = aten.randn(3001, columns, generator=generator, dtype=aten.float64)
    given = (numbers * (100 if element == "int32" else 1)).to(getattr(aten, element))
    results = []
    for count in (1, 2, 3, 5):
        threads(count)
        results.append(FUNCTIONS[name](given))
    assert all(aten.equal(one, results[0]) for one in results)
    exact = FUNCTIONS[name](given.double())
    if element == "int32" or name in ("amax", "argmax"):
        assert aten.equal(results[0].double(), exact.double())
        return
    # Sums of 3001 numbers of either sign, none of which is larger than 5.
    unit = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8}[element]
    bound = unit * exact.abs() + 3001 * 15 * min(unit, 2.0**-24)
    assert bool(((results[0].double() - exact).abs() <= 4 * bound).all())
