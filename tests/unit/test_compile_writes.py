"""Compiled programs that write: to what others of their calls read, and to what callers have."""

import pytest

import aten
from aten.library import custom_op


@pytest.fixture(scope="module")
def accumulate():
    @custom_op("compiled_writes::accumulate", mutates_args={"x"})
    def accumulate(x: aten.Tensor, y: aten.Tensor) -> None:
        x.add_(y)

    return accumulate


around = aten.ones(3)


def read_after(accumulate, x, y):
    accumulate(x, y)
    return x * 2


def read_before_and_after(accumulate, x, y):
    before = x * 3
    accumulate(x, y)
    between = x * 3
    accumulate(x, y)
    return before, between, x * 3


def written_copies(accumulate, x, y):
    first, second = x.clone(), x.clone()
    accumulate(first, y)
    accumulate(second, y)
    accumulate(second, y)
    return first * 2, second * 2, x * 5


def written_copy_of_a_constant(accumulate, x, y):
    copy = around.clone()
    accumulate(copy, y)
    return copy * 2 + x


def written_view(accumulate, x, y):
    flat = x.view(-1)
    accumulate(flat[:2], y[:2])
    return x * 2, flat.sin()


@pytest.mark.parametrize(
    "program",
    [
        read_after,
        read_before_and_after,
        written_copies,
        written_copy_of_a_constant,
        written_view,
    ],
)
def test_operators_that_write_stay_between_reads(accumulate, program):
    def function(x, y):
        return program(accumulate, x, y)

    compiled = aten.compile(function, fullgraph=True)
    for _ in range(3):
        x, expected, y = aten.ones(3), aten.ones(3), aten.arange(3.0)
        assert str(compiled(x, y)) == str(function(expected, y))
        assert aten.equal(x, expected)
