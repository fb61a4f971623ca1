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


def test_arguments_that_are_also_around_the_function():
    around = aten.zeros(6)

    def read(x):
        x.add_(1)
        return around.sum() + x

    def write(x):
        around.add_(1)
        return x * 1

    for function in (read, write):
        compiled = aten.compile(function)
        for given in (aten.zeros(2), around[:2], around[2:4], around, aten.zeros(2)):
            copy, before = given.clone(), around.clone()
            found = compiled(given)
            now = around.clone()
            around.copy_(before)
            if given.untyped_storage() is not around.untyped_storage():
                given.copy_(copy)
            assert aten.equal(found, function(given))
            assert aten.equal(now, around)
        assert not compiled.breaks


MAKERS = [
    lambda x: aten.tensor([1.0, 2.0]),
    lambda x: aten.as_tensor([1.0, 2.0]),
    lambda x: aten.asarray([1, 2]),
    lambda x: x.new_tensor([1, 2]),
    lambda x: aten.tensor([1.0, 2.0]).view(2, 1),
    lambda x: aten.tensor([1.0, 2.0]).add_(1),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("needs_gradients", [False, True])
def test_each_call_has_its_own_tensors_of_numbers(make, needs_gradients):
    compiled = aten.compile(lambda x: (make(x), x * 2), fullgraph=True)
    x = aten.ones(2, requires_grad=needs_gradients)
    expected = str(make(x))
    for _ in range(3):
        made, _ = compiled(x)
        assert str(made) == expected
        made.add_(5)


def test_writes_to_tensors_of_numbers_begin_anew():
    def function(x):
        made = aten.tensor([1.0, 2.0])
        made.mul_(x)
        made[0] = 7
        return made.sum() + x

    compiled = aten.compile(function, fullgraph=True)
    for _ in range(3):
        assert compiled(aten.ones(2)).tolist() == [10, 10]


def test_tensors_around_that_are_returned_stay_those():
    around = aten.zeros(3)
    compiled = aten.compile(lambda x: (around[1:], x + 1), fullgraph=True)
    for count in range(3):
        view, _ = compiled(aten.ones(2))
        view.add_(1)
        assert around.tolist() == [0, count + 1, count + 1]


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.storage_offset(),
        lambda x: x.untyped_storage().nbytes(),
        lambda x: x.nbytes,
    ],
)
def test_where_in_memory_arguments_are(ask):
    compiled = aten.compile(lambda x: x + ask(x))
    memory = aten.zeros(30)
    for given in (memory[2:4], memory[5:7], memory[5:8], memory[4:9], aten.zeros(5), aten.zeros(6)):
        assert compiled(given).tolist() == (given + ask(given)).tolist()
