"""Numbers of several traces as expressions of sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aten.export.solving import Solver, UnsolvedError, chosen_points

LIMITS = {"a": (2, None), "b": (2, 100), "c": (4, None)}


def solver(names: str) -> Solver:
    examples = dict.fromkeys(names, 5)
    limits = {name: LIMITS[name] for name in names}
    return Solver(chosen_points(examples, limits, Solver.points_needed(len(names)) + 4))


@pytest.mark.parametrize(
    ("names", "function", "text"),
    [
        ("a", lambda a: 7, "7"),
        ("a", lambda a: a, "a"),
        ("a", lambda a: 3 * a + 4, "3 * a + 4"),
        ("a", lambda a: a * a, "a * a"),
        ("ab", lambda a, b: 6 * a * b, "6 * a * b"),
        ("ab", lambda a, b: a * b + a + 1, "a + a * b + 1"),
        ("a", lambda a: (a + 1) // 2, "(a + 1) // 2"),
        ("c", lambda c: (c - 4) // 3 + 1, "(c - 1) // 3"),
        ("abc", lambda a, b, c: a * b * c, "a * b * c"),
        ("abc", lambda a, b, c: a * (b + 3) * 8 + 2 * c, "24 * a + 2 * c + 8 * a * b"),
    ],
)
def test_integers(names: str, function: Callable[..., int], text: str) -> None:
    own = solver(names)
    made = own.integer(tuple(function(**point) for point in own.points))
    assert str(made) == text
    for value in (2, 9, 31):
        point = dict.fromkeys(names, value)
        held = made if isinstance(made, int) else made.evaluate(point)
        assert held == function(**point)


def test_what_was_found_is_used_again() -> None:
    own = solver("ab")
    halves = [(point["a"] + 1) // 2 for point in own.points]
    own.integer(tuple(halves))
    wide = tuple(4 * half * point["b"] for half, point in zip(halves, own.points, strict=True))
    assert str(own.integer(wide)) in (
        "4 * b * (a + 1) // 2",
        "b * 4 * (a + 1) // 2",
        "b * (4 * ((a + 1) // 2))",
        "b * 4 * ((a + 1) // 2)",
    )
    quarter = tuple((half + 1) // 2 for half in halves)
    assert str(own.integer(quarter)) == "((a + 1) // 2 + 1) // 2"


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda a: float(a), 9.0),
        (lambda a: 1 / a, 1 / 9),
        (lambda a: a**-0.5, 9**-0.5),
        (lambda a: a**0.5, 3.0),
        (lambda a: 0.1 * a / (a - 1), 0.1 * 9 / 8),
    ],
)
def test_floats(function: Callable[[int], float], value: float) -> None:
    own = solver("a")
    made = own.real([function(**point) for point in own.points])
    assert not isinstance(made, float)
    assert made.evaluate({"a": 9}) == pytest.approx(value, rel=1e-15)


def test_what_is_no_expression() -> None:
    own = solver("a")
    with pytest.raises(UnsolvedError):
        own.integer(tuple(pow(point["a"] + 11, 5, 1009) for point in own.points))
    with pytest.raises(UnsolvedError):
        own.real([float(pow(point["a"] + 11, 5, 1009)) for point in own.points])


def test_points_are_within_their_limits() -> None:
    points = chosen_points({"x": 3, "y": 2}, {"x": (0, 4), "y": (2, 2)}, 9)
    assert points[0] == {"x": 3, "y": 2}
    assert {point["x"] for point in points} == {2, 3, 4}
    assert {point["y"] for point in points} == {2}
