"""What compiled programs compute once though it is written twice, and what stays as often."""

import math

import pytest
from kept_programs import PARTED

import aten
from aten import nn


def targets(compiled):
    (program,) = compiled.programs()
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


def test_products_of_the_same_operands_are_one():
    def function(x, y):
        return (x @ y).relu() + (x @ y).t() + (y @ x)[0]

    x, y = aten.rand(3, 3), aten.rand(3, 3)
    compiled = aten.compile(function)
    assert aten.equal(compiled(x, y), function(x, y))
    assert sum("mm" in one for one in targets(compiled)) == 2


def test_parts_of_several_results_are_one():
    def function(x):
        return x.topk(2)[0].sort()[0] * x.topk(2)[0].sort()[0] + x.topk(2)[1]

    x = aten.rand(5)
    compiled = aten.compile(function)
    assert aten.equal(compiled(x), function(x))
    assert sum("topk" in one for one in targets(compiled)) == 1
    assert sum("sort" in one for one in targets(compiled)) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x @ x, x @ x),
        lambda x: ((x @ x).view(4), (x @ x).t()),
        lambda x: (x.topk(1)[0], x.topk(1)[0]),
        lambda x: (aten.ones_like(x), aten.ones_like(x)),
        lambda x: (x.clone(), x.clone()),
    ],
)
def test_results_are_as_many(function):
    x = aten.rand(2, 2)
    compiled = aten.compile(function)
    for _ in range(3):
        first, second = compiled(x)
        kept = second.clone()
        first.add_(7)
        assert aten.equal(second, kept)
        assert all(map(aten.equal, compiled(x), function(x)))


def test_draws_are_as_many():
    def function(x):
        drawn = aten.rand_like(x) - aten.rand_like(x)
        return drawn, nn.functional.dropout(x, 0.5) - nn.functional.dropout(x, 0.5)

    x = aten.ones(64)
    compiled = aten.compile(function)
    aten.manual_seed(1)
    expected = function(x)
    aten.manual_seed(1)
    for found, one in zip(compiled(x), expected, strict=True):
        assert aten.equal(found, one)
        assert found.abs().sum() > 0


def test_what_was_written_to_is_something_else():
    def function(x):
        first = (x @ x).sum()
        x.add_(1)
        return first, (x @ x).sum() * 1

    x, other = aten.ones(2, 2), aten.ones(2, 2)
    compiled = aten.compile(function)
    for _ in range(2):
        assert all(map(aten.equal, compiled(x), function(other)))
        assert aten.equal(x, other)


@pytest.mark.parametrize(
    ("one", "other"), [(2, 2.0), (0.0, -0.0), (1, True), (math.nan, math.inf), (1 + 0j, 1.0)]
)
def test_numbers_are_the_same_by_type_and_bits(one, other):
    def function(x):
        return (x * one).unsqueeze(0), (x * other).unsqueeze(0)

    x = aten.tensor([-1, 3])
    compiled = aten.compile(function)
    for found, expected in zip(compiled(x), function(x), strict=True):
        assert found.dtype == expected.dtype
        assert str(found) == str(expected)


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "later"])
def test_kernels_of_others_are_called_as_often_as_before(is_late):
    calls = []

    def triu(self, diagonal=0):
        calls.append(diagonal)
        return self.clone()

    compiled = aten.compile(lambda x: x.triu(2) @ x.triu(2))
    x = aten.ones(2, 2)
    if is_late:
        assert aten.equal(compiled(x), aten.zeros(2, 2))
    library = aten.library.Library("aten", "IMPL")
    library.impl("triu", triu, "AutogradCPU")
    try:
        assert aten.equal(compiled(x), x @ x)
        calls.clear()
        assert aten.equal(compiled(x), x @ x)
        assert calls == [2, 2]
    finally:
        library._destroy()


def test_kernels_of_factories_that_come_later_are_met():
    compiled = aten.compile(lambda x: aten.ones_like(x).triu(1) + x)
    x = aten.zeros(2, 2)
    assert compiled(x).tolist() == [[0, 1], [0, 0]]
    library = aten.library.Library("aten", "IMPL")
    library.impl("ones_like", lambda self, **_: self + 5, "AutogradCPU")
    try:
        assert compiled(x).tolist() == [[0, 5], [0, 0]]
    finally:
        library._destroy()


def test_numbers_that_a_call_decides_are_no_constants():
    compiled = aten.compile(lambda x, y: aten.full_like(y, x.shape[0]) + y, dynamic=True)
    for count in range(2, 6):
        assert aten.equal(compiled(aten.ones(count), aten.ones(2)), aten.full((2,), count + 1.0))


def test_factories_that_ask_for_a_size_are_constants():
    def function(x):
        mask = aten.ones_like(x @ x).triu(1) + aten.full_like(x, 2) + x.new_zeros(2)
        return x.softmax(-1) * mask

    x = aten.rand(2, 2)
    compiled = aten.compile(function)
    for _ in range(3):
        assert aten.equal(compiled(x), function(x))
    assert not any("ones" in one or "triu" in one or "mm" in one for one in targets(compiled))


def test_elements_at_indices_need_no_mask():
    """What follows indices of a known number is compiled, too; a loop is not, nor what follows."""
    kind, arguments = PARTED["picking"]
    model, args = kind(), arguments()
    compiled = aten.compile(aten.export.export(model, args).module())
    with aten.no_grad():
        for _ in range(2):
            assert aten.equal(compiled(*args), model(*args))
    assert "softmax, mul" in aten.compiler.explain(compiled)
