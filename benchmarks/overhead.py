"""What a call costs when there is nothing to compute: four elements, one thread's time."""

from __future__ import annotations

from typing import Any

from timing import Case, Result, measure


def vectors(lib: Any) -> dict[str, Any]:
    return {"a": lib.tensor([1.0, 2.0, 3.0, 4.0]), "b": lib.tensor([4.0, 3.0, 2.0, 1.0])}


def with_result(lib: Any) -> dict[str, Any]:
    return {**vectors(lib), "c": lib.tensor([0.0, 0.0, 0.0, 0.0])}


def matrices(lib: Any) -> dict[str, Any]:
    return {"a": lib.tensor([[1.0, 2.0], [3.0, 4.0]]), "b": lib.tensor([[4.0, 3.0], [2.0, 1.0]])}


CASES = [
    Case("a + b", "a + b", vectors, limit=250, least_ratio=5),
    Case("a.t()", "a.t()", matrices, limit=200),
    Case("a.view(2, 2)", "a.view(2, 2)", vectors, limit=200),
    Case("a[1:3]", "a[1:3]", vectors, limit=200),
    Case("a[1]", "a[1]", vectors),
    Case("a + 1", "a + 1", vectors),
    Case("a.add_(b)", "a.add_(b)", vectors),
    Case("add(a, b, out=c)", "lib.add(a, b, out=c)", with_result),
    Case("a.exp()", "a.exp()", vectors),
    Case("a.sum()", "a.sum()", vectors),
    Case("a.sum(dim=1)", "a.sum(dim=1)", matrices),
    Case("softmax(a, 1)", "lib.softmax(a, 1)", matrices),
    Case("a @ b", "a @ b", matrices),
    Case("zeros(4)", "lib.zeros(4)", vectors),
    Case("a.numel()", "a.numel()", vectors),
]


def run() -> list[Result]:
    in_place = [case for case in CASES if case.name == "a.add_(b)"]
    others = [case for case in CASES if case not in in_place]
    return measure(others, "ns", 1e9) + measure(in_place, "ns", 1e9, check=False)
