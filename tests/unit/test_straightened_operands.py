"""Operands whose rows have gaps are copied first, and results that lie otherwise are copied last.

Bits depend on a row's length and step alone: a row gives what it gives among others, however many
there are and wherever they lie. Rows of close elements give what rows without gaps do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

import aten

Function = Callable[[aten.Tensor, int], aten.Tensor]
SHAPE = (66, 70, 69)
FUNCTIONS: dict[str, Function] = {
    "softmax": lambda x, dim: x.softmax(dim),
    "log_softmax": lambda x, dim: x.log_softmax(dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim, True),
    "amax": lambda x, dim: x.amax(dim, True),
    "argmax": lambda x, dim: x.argmax(dim, True),
    "max": lambda x, dim: x.max(dim, True).values,
    "var": lambda x, dim: x.var(dim, keepdim=True),
    "norm": lambda x, dim: aten.linalg.vector_norm(x, 3, dim, True),
}


def drawn(dtype: aten.dtype) -> aten.Tensor:
    aten.manual_seed(3)
    return aten.randn(*SHAPE).to(dtype)


def layouts(x: aten.Tensor) -> Iterator[aten.Tensor]:
    """The same elements: with gaps of several sizes, in other orders, in wider rows."""
    for step in (2, 3, 5):
        wide = aten.zeros(*x.shape[:-1], step * x.shape[-1], dtype=x.dtype)
        wide[..., ::step] = x
        yield wide[..., ::step]
    for order in itertools.permutations(range(3)):
        yield x.permute(order).contiguous().permute(*map(order.index, range(3)))
    padded = aten.zeros(*x.shape[:-1], x.shape[-1] + 3, dtype=x.dtype)
    padded[..., :-3] = x
    yield padded[..., :-3]
    high = aten.zeros(x.shape[0], 2 * x.shape[1], x.shape[2], dtype=x.dtype)
    high[:, ::2] = x
    yield high[:, ::2]


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64, aten.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_gives_what_it_gives_among_others(name: str, dtype: aten.dtype) -> None:
    function, x = FUNCTIONS[name], drawn(dtype)
    for given, dim in itertools.product(layouts(x), range(3)):
        whole = function(given, dim)
        assert whole.is_contiguous()
        others = [at for at in range(3) if at != dim]
        some = given.narrow(others[0], 3, 5).narrow(others[1], 60, 1)
        expected = whole.narrow(others[0], 3, 5).narrow(others[1], 60, 1)
        assert aten.equal(function(some, dim), expected)
        alone = given.select(others[1], 7).select(others[0], 2)
        assert aten.equal(
            function(alone, 0).flatten(), whole.select(others[1], 7).select(others[0], 2).flatten()
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_lie_as_they_may(name: str) -> None:
    """Beside operands without gaps; those whose rows are close, bit for bit."""
    function, x = FUNCTIONS[name], drawn(aten.float32)
    for given, dim in itertools.product(layouts(x), range(3)):
        assert aten.equal(given, x)
        made, expected = function(given, dim), function(x, dim)
        assert aten.allclose(made, expected, rtol=1e-5, atol=1e-6)
        is_close = dim == 2 and given.stride(2) in (1, 2, 3)
        if (is_close and name != "norm") or name in ("amax", "argmax", "max"):
            assert aten.equal(made, expected)


@pytest.mark.parametrize("columns", [1, 2, 5, 40])
def test_long_rows_are_cut_alike(columns: int) -> None:
    """Whatever lies beside a row: pieces of it depend on its own step."""
    aten.manual_seed(5)
    wide = 1 + aten.randn(20000, 80) * 0.01
    some = wide[:, : 2 * columns : 2]
    for function in (FUNCTIONS["norm"], lambda x, dim: x.prod(dim, True), FUNCTIONS["var"]):
        assert aten.equal(function(some, 0)[:, :1], function(wide[:, :1], 0))


def test_repeated_elements_and_calls_after_changes() -> None:
    x = drawn(aten.float32)[0]
    for wide in (x[:, :1].expand(70, 69), x[:1].expand(70, 69)):
        expected = wide.contiguous().softmax(-1)
        assert aten.allclose(wide.softmax(-1), expected, rtol=1e-6, atol=0)
    turned = x.T.contiguous().T
    for factor in (1.0, -2.0):
        turned.mul_(factor)
        expected = turned.contiguous().softmax(-1)
        assert aten.allclose(turned.softmax(-1), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(700, 7), (3, 500, 4), (300, 15), (2, 400, 3, 5)])
def test_searches_across_few_neighbours(shape: tuple[int, ...]) -> None:
    """The first of equal numbers is found, and NaN before all."""
    dim = max(range(len(shape)), key=lambda at: shape[at])
    x = aten.randint(0, 40, shape).to(aten.float32)
    x.select(dim, 123).fill_(float("nan"))
    for given in (x, x.nan_to_num(-5.0), x.nan_to_num(-5.0).to(aten.int64)):
        straight = given.movedim(dim, -1).contiguous()
        assert aten.equal(given.argmax(dim), straight.argmax(-1))
        assert aten.equal(given.argmin(dim), straight.argmin(-1))
        made, expected = given.max(dim), straight.max(-1)
        assert aten.equal(made.indices, expected.indices)
        assert aten.equal(made.values.nan_to_num(), expected.values.nan_to_num())
