"""Compiled programs of many sizes: one capture serves all that keep its conditions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import aten
from aten.compiler import functions
from aten.nn import functional


def normalized(x: Any, weight: Any) -> Any:
    hidden = functional.gelu(x @ weight)
    return (hidden - hidden.mean(-1, keepdim=True)) / hidden.std(-1, keepdim=True)


def close(found: Any, expected: Any) -> None:
    aten.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_a_thousand_shapes_through_one_function() -> None:
    compiled = aten.compile(normalized)
    drawn = random.Random(0)
    # The same each time: where gelu gives all but zeros, a deviation is what rounding left.
    aten.manual_seed(0)
    weight = aten.randn(6, 5)
    for _ in range(1000):
        sizes = [drawn.randint(1, 40) for _ in range(drawn.choice((1, 2)))]
        x = aten.randn(*sizes, 6)
        close(compiled(x, weight), normalized(x, weight))
    # Two ranks, each once of one size, once of many, and with sizes that are 1.
    assert len(compiled.recompilations) <= 9
    assert len(compiled.programs()) <= 10
    assert len(compiled._bound) <= functions.MAXIMUM_PROGRAMS
    assert "s0 at least 2" in aten.compiler.explain(compiled)


def test_dynamic_from_the_first_call_on() -> None:
    compiled = aten.compile(lambda x: (x + x).relu() * x.shape[0], dynamic=True, fullgraph=True)
    for rows, columns in ((4, 3), (2, 2), (9, 50), (300, 7)):
        x = aten.randn(rows, columns)
        close(compiled(x), (x + x).relu() * rows)
    assert compiled.recompilations == []
    assert "sizes s0 at least 2, s1 at least 2" in aten.compiler.explain(compiled)


def test_each_size_by_itself_where_that_is_wanted() -> None:
    compiled = aten.compile(lambda x: x + 1, dynamic=False)
    for rows in (2, 3, 4):
        compiled(aten.ones(rows))
    assert len(compiled.programs()) == 3
    assert "sizes" not in aten.compiler.explain(compiled)


def test_a_branch_on_a_size_is_a_condition() -> None:
    def either(x: Any) -> Any:
        return x * 2 if x.shape[0] > 8 else x - 1

    compiled = aten.compile(either, dynamic=True)
    for rows in (3, 8, 9, 2, 40, 5):
        x = aten.randn(rows, 2)
        close(compiled(x), either(x))
    assert len(compiled.programs()) == 2
    assert compiled.recompilations == ["s0 is 9, out of 2..8"]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sizes as results": lambda x: (x.shape[0] * x.shape[1], {"half": x.shape[0] / 2}, x.sum()),
    "views": lambda x: x.view(-1).reshape(x.shape[1], -1).transpose(0, 1) + 1,
    "joined": lambda x: aten.cat([x, x[:, : x.shape[1] // 2]], 1) * x.shape[0] ** -0.5,
    "made": lambda x: x + aten.arange(x.shape[1]) * aten.ones(x.shape[0], 1),
    "written": lambda x: x.clone().mul_(2).add_(x)[1:],
    "folds": lambda x: x.softmax(0) + x.cumsum(1) / x.numel(),
    "product": lambda x: x @ x.mT,
    "padded": lambda x: functional.pad(x, (1, x.shape[0])),
    "rows": lambda x: aten.stack([row * 2 for row in x]),
    "numbers": lambda x: x * max(x.shape[0], 5) + min(x.shape),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_results_are_those_of_eager_calls(name: str, dynamic: bool | None) -> None:
    function = FUNCTIONS[name]
    compiled = aten.compile(function, dynamic=dynamic)
    for sizes in ((4, 6), (3, 8), (6, 6), (1, 4), (5, 1), (2, 30), (4, 6), (17, 3)):
        x = aten.randn(*sizes)
        close(compiled(x), function(x))


def test_other_strides_are_another_program() -> None:
    compiled = aten.compile(lambda x: (x * 2).sum(0), dynamic=True)
    for x in (aten.randn(3, 4), aten.randn(4, 3).t(), aten.randn(6, 5)[::2], aten.randn(7, 9)):
        close(compiled(x), (x * 2).sum(0))


def test_what_is_written_to_arguments() -> None:
    compiled = aten.compile(lambda x, y: x.add_(y).sum(), dynamic=True)
    for rows in (3, 5, 8):
        x, y = aten.ones(rows, 2), aten.full((rows, 2), 3.0)
        assert float(compiled(x, y)) == 8 * rows
        assert bool((x == 4).all())


def test_gradients_go_back_at_every_size() -> None:
    weight = aten.randn(4, 4, requires_grad=True)
    compiled = aten.compile(lambda x: functional.gelu(x @ weight).sum(), dynamic=True)
    for rows in (2, 3, 4):
        x = aten.randn(rows, 4)
        (found,) = aten.autograd.grad(compiled(x), weight)
        (expected,) = aten.autograd.grad(functional.gelu(x @ weight).sum(), weight)
        close(found, expected)


def test_captures_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "MAXIMUM_CAPTURES", 4)
    compiled = aten.compile(lambda x, scale: x * scale)
    for scale in range(9):
        assert compiled(aten.ones(2), scale).tolist() == [scale, scale]
    assert len(compiled.programs()) == 4
    assert len(compiled.recompilations) == 3
    assert "more than 4 captures" in aten.compiler.explain(compiled)
    strict = aten.compile(lambda x, scale: x * scale, fullgraph=True)
    for scale in range(4):
        strict(aten.ones(2), scale)
    with pytest.raises(RuntimeError, match="more than 4 captures"):
        strict(aten.ones(2), 4)
    compiled.forget()
    compiled(aten.ones(2), 0)
    assert len(compiled.programs()) == 1
