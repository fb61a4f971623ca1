"""What a call of an operator made of a Python function costs, beside torch's."""

from __future__ import annotations

from typing import Any

from timing import Result

ROUNDS = 15
CALLS = 20_000
# What a call may take beyond the function's own time, in nanoseconds.
LIMIT = 1000


def operators(lib: Any) -> dict[str, Any]:
    """Operators that give what they were given before, so that calls are all they cost."""
    kept = lib.ones(4)

    def unary(x: Any) -> Any:
        return kept

    def numbered(x: Any, by: Any, times: Any) -> Any:
        return kept

    unary.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    numbered.__annotations__ = {
        "x": lib.Tensor, "by": float, "times": int, "return": lib.Tensor,
    }  # fmt: skip
    custom_op = lib.library.custom_op
    return {
        "custom_op(x)": custom_op("benchmarks::unary", unary, mutates_args=()),
        "custom_op(x, 2.0, 3)": custom_op("benchmarks::numbered", numbered, mutates_args=()),
    }


def nanoseconds(name: str, operator: Any, lib: Any) -> float:
    """The least that a call takes."""
    from timeit import repeat

    call = name.replace("custom_op", "operator")
    names = {"operator": operator, "x": lib.zeros(4)}
    return min(repeat(call, globals=names, number=CALLS, repeat=ROUNDS)) / CALLS * 1e9


def run() -> list[Result]:
    """A result for each operator."""
    import torch

    import aten

    ours, theirs = operators(aten), operators(torch)
    results = []
    for name, operator in ours.items():
        own = nanoseconds(name, operator, aten)
        other = nanoseconds(name, theirs[name], torch)
        results.append(Result(name, "ns", own, other, ratio=other / own, limit=LIMIT))
    return results
