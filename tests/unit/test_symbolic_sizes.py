"""Symbolic sizes: what operators give for symbols is what they give for sizes, whichever these are.

The expressions are found by asking for a few sizes; here they are compared with others.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import aten
from aten.graph.symbolic import parse
from aten.nn import functional
from aten.transforms import FakeTensorMode, Guard, ShapeEnvironment, SymInt, sym_max, sym_min
from aten.transforms.symbols.polynomials import polynomial

BATCH, ROWS = 8, 12
SIZES = [(batch, rows) for batch in (2, 3, 5, 8, 16, 27) for rows in (2, 3, 4, 7, 12, 25, 60, 101)]


def attention(x: Any, batch: Any, rows: Any) -> Any:
    query, key, value = functional.linear(x, aten.ones(48, 6)).split(16, -1)
    query, key, value = (one.view(batch, rows, 4, 4).transpose(1, 2) for one in (query, key, value))
    mask = aten.ones(rows, rows, dtype=aten.bool).tril()
    weights = (query @ key.mT / 4**0.5).masked_fill(~mask, float("-inf")).softmax(-1)
    return (weights @ value).transpose(1, 2).reshape(batch, rows, 16)


def images(x: Any, batch: Any, rows: Any) -> Any:
    padded = functional.pad(x.unsqueeze(1).expand(batch, 3, rows, 6), (0, 26, 3, 3))
    net = aten.nn.Sequential(
        aten.nn.Conv2d(3, 4, 7, 2, 3),
        aten.nn.BatchNorm2d(4),
        aten.nn.MaxPool2d(3, 2, 1),
        aten.nn.Conv2d(4, 4, 3, 2, 1),
    )
    return net(padded)


# By name, for (x, batch, rows), where x is (batch, rows, 6): what is asked for, and the guards.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "nothing": (lambda x, b, s: x, []),
    "elements": (lambda x, b, s: (x + 1) * x, []),
    "times a size": (lambda x, b, s: x * s, []),
    "matrix product": (lambda x, b, s: x @ x.mT, []),
    "einsum": (lambda x, b, s: aten.einsum("bij,bkj->bik", x, x), []),
    "view -1": (lambda x, b, s: x.view(-1, 6), []),
    "view": (lambda x, b, s: x.view(b * s, 2, 3), []),
    "reshape": (lambda x, b, s: x.mT.reshape(b, 6 * s), []),
    "halves": (lambda x, b, s: x.view(b, 4, s // 4, 6), ["s % 4 == 0"]),
    "flatten": (lambda x, b, s: x.flatten(1), []),
    "select": (lambda x, b, s: x[:, -1], []),
    "far select": (lambda x, b, s: x[:, 5], ["s >= 6"]),
    "slice to": (lambda x, b, s: x[:, :100], []),
    "slice": (lambda x, b, s: x[:, :5], []),
    "every other": (lambda x, b, s: x[:, ::2], []),
    "every third": (lambda x, b, s: x[:, 1::3], []),
    "without last": (lambda x, b, s: x[:, :-1], []),
    "second half": (lambda x, b, s: x[:, s // 2 :], []),
    "last": (lambda x, b, s: x[:, s - 1], []),
    "joined": (lambda x, b, s: aten.cat([x, x[:, :1]], 1), []),
    "stacked": (lambda x, b, s: aten.stack([x, x], 1), []),
    "repeated": (lambda x, b, s: x.repeat(1, 2, 1), []),
    "chunks": (lambda x, b, s: x.chunk(2, 1), []),
    "sum": (lambda x, b, s: x.sum((0, 1)), []),
    "softmax": (lambda x, b, s: x.softmax(1), []),
    "convolution": (
        lambda x, b, s: functional.conv1d(x.mT, aten.ones(4, 6, 3), stride=2, padding=1),
        [],
    ),
    "pooling": (lambda x, b, s: functional.max_pool1d(x.mT, 3, 2), ["s >= 3", "s >= 5"]),
    "far slice": (lambda x, b, s: x[:, : s // 2 - 2], ["s >= 12"]),
    "padding": (lambda x, b, s: functional.pad(x, (1, 2, 3, 4)), []),
    "layer norm": (lambda x, b, s: functional.layer_norm(x, (6,)), []),
    "arange": (lambda x, b, s: aten.arange(0, s, 2), []),
    "triangle": (lambda x, b, s: aten.triu_indices(s, s), []),
    "causal mask": (lambda x, b, s: aten.ones(s, s).tril(), []),
    "a row for all": (lambda x, b, s: x + aten.ones(s, 6), []),
    "in place": (lambda x, b, s: x.clone().transpose_(0, 1).add_(1), []),
    "written": (lambda x, b, s: x.clone().index_fill_(1, aten.tensor([0]), 1), []),
    "unfold": (lambda x, b, s: x.unfold(1, 3, 2), ["s >= 3"]),
    "largest": (lambda x, b, s: x.topk(3, 1), ["s >= 3"]),
    "fourier": (lambda x, b, s: aten.fft.rfft(x, dim=1), []),
    "diagonal": (lambda x, b, s: (x @ x.mT).diagonal(dim1=1, dim2=2), []),
    "narrow": (lambda x, b, s: x.narrow(1, 0, b), ["-b + s >= 0"]),
    "equal": (lambda x, b, s: x[:, 0].mT + aten.ones(b), []),
    "attention": (attention, []),
    "images": (images, []),
}


def traced(program: Callable[..., Any]) -> tuple[Any, ShapeEnvironment]:
    environment = ShapeEnvironment()
    batch, rows = environment.symbol("b", BATCH), environment.symbol("s", ROWS)
    mode = FakeTensorMode()
    x = mode.from_tensor(aten.ones(BATCH, ROWS, 6), (batch, rows, None))
    with mode:
        return program(x, batch, rows), environment


def described(results: Any, bindings: dict[str, int] | None = None) -> list[Any]:
    found: list[Any] = []
    for one in results if isinstance(results, (tuple, list)) else (results,):
        numbers = (*one.shape, *one.stride(), one.storage_offset(), one.numel())
        found.append(
            [
                number.size.evaluate(bindings) if isinstance(number, SymInt) else number
                for number in numbers
            ]
        )
    return found


def holds(guards: list[Guard], bindings: dict[str, int]) -> bool:
    return all(guard.holds(bindings) for guard in guards)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_other_sizes(name: str) -> None:
    program, expected = PROGRAMS[name]
    results, environment = traced(program)
    assert [str(guard) for guard in environment.guards] == expected
    compared = 0
    for batch, rows in SIZES:
        bindings = {"b": batch, "s": rows}
        if not holds(environment.guards, bindings):
            continue
        mode = FakeTensorMode()
        x = mode.from_tensor(aten.empty(batch, rows, 6))
        with mode:
            known = program(x, batch, rows)
        assert described(results, bindings) == described(known)
        compared += 1
    assert compared >= 6


def test_sizes_that_programs_ask_about_are_guarded() -> None:
    _, environment = traced(lambda x, b, s: x if x.shape[1] > 10 else x[0])
    assert [str(guard) for guard in environment.guards] == ["s > 10"]
    assert environment.ranges["s"].lower == 11
    _, environment = traced(lambda x, b, s: aten.stack(list(x)))
    assert [str(guard) for guard in environment.guards] == ["b == 8"]
    _, environment = traced(lambda x, b, s: x[0] + aten.ones(12, 6))
    assert [str(guard) for guard in environment.guards] == ["s == 12"]
    _, environment = traced(lambda x, b, s: (x.is_contiguous(), x.mT.is_contiguous(), len(x.shape)))
    assert environment.guards == []


def test_symbols_that_are_equal_become_one() -> None:
    environment = ShapeEnvironment()
    one, two = environment.symbol("one", 6), environment.symbol("two", 6)
    mode = FakeTensorMode()
    x = mode.from_tensor(aten.ones(6, 3), (one, None))
    y = mode.from_tensor(aten.ones(6, 3), (two, None))
    with mode:
        result = x + y
    assert [str(guard) for guard in environment.guards] == ["one == two"]
    assert str(result.shape) == "aten.Size([one, 3])"
    assert str(y.shape) == "aten.Size([one, 3])"
    assert one == two
    assert len(environment.guards) == 1


def test_arithmetic_and_what_is_known_of_it() -> None:
    environment = ShapeEnvironment()
    size = environment.symbol("n", 12, maximum=100)
    assert str((size + 1) * 2 - size) == "n + 2"
    assert (size * 4) // 4 == size
    assert str((4 * size + 3) // 4) == "n"
    assert str(size // 2 // 3) == "n // 6"
    assert (size * 6) % 3 == 0
    assert size >= 2
    assert size * size <= 10_000
    assert not size < 0
    assert str(sym_max(size, 4)) == "Max(4, n)"
    assert sym_min(size, size + 1) is not None
    assert str(sym_min(size, size + 1)) == "n"
    assert environment.guards == []
    assert str(size / 2) == "n / 2"
    assert (size / 2).hint == 6.0
    assert divmod(size, 5) == (2, 2)
    assert [str(guard) for guard in environment.guards] == ["n // 5 == 2", "n % 5 == 2"]
    assert list(range(3))[: size // 5] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        size // 0


def test_a_number_that_is_asked_for_fixes_the_symbol() -> None:
    environment = ShapeEnvironment()
    size = environment.symbol("n", 3)
    assert list(range(size)) == [0, 1, 2]
    assert [str(guard) for guard in environment.guards] == ["n == 3"]
    assert size + 1 == 4
    assert isinstance(size + 1, int)
    assert environment.guards[0].reason == "a size was asked for as a number"
    # Outside of modes, kernels get numbers.
    other = environment.symbol("m", 2)
    assert aten.ones(2, 3).view(other, 3).shape == (2, 3)
    assert str(environment.guards[-1]) == "m == 2"


def test_canonical_forms_have_the_values_of_the_expressions() -> None:
    chance = random.Random(0)
    texts = ["(a + b) * (a - b) // 3", "4 * a // 2 + b % 4", "-(-a // 2)", "(a // 2 + 1) // 3"]
    texts += ["Max(a, b) - Min(a, b)", "(6 * a + 4) // 8", "a * b // b", "(a * 4 + b * 2) % 2"]
    texts += ["a ** 3 - a * a * a", "(3 * a) % 6", "(a + 5) // 1", "Mod(a * b, 7)"]
    for text in texts:
        expression = parse(text)
        form = polynomial(expression)
        spelled = parse(str(form))
        for _ in range(200):
            sizes = {"a": chance.randrange(1, 500), "b": chance.randrange(1, 500)}
            assert form.evaluate(sizes) == expression.evaluate(sizes), text
            assert spelled.evaluate(sizes) == expression.evaluate(sizes), text


def test_refusals() -> None:
    environment = ShapeEnvironment()
    size = environment.symbol("n", 4)
    mode = FakeTensorMode()
    with pytest.raises(ValueError, match="a symbol n already"):
        environment.symbol("n", 4)
    with pytest.raises(ValueError, match="is not in at least 2"):
        environment.symbol("m", 1)
    with pytest.raises(ValueError, match="n does not stand for a size of 3"):
        mode.from_tensor(aten.ones(3), (size,))
    with pytest.raises(ValueError, match="2 sizes for a tensor of 1 dimensions"):
        mode.from_tensor(aten.ones(4), (size, 4))
    other = ShapeEnvironment().symbol("n", 4)
    x = mode.from_tensor(aten.ones(4), (size,))
    y = mode.from_tensor(aten.ones(4), (other,))
    with mode, pytest.raises(ValueError, match="two environments"):
        x + y
    with mode, pytest.raises(RuntimeError, match="invalid for input of size"):
        x.view(5, 7)
