"""The path of a call, one line for each dispatch key it meets.

    python examples/trace_an_op.py

A line names the operator, the key, the kernel, where that was registered, and in parentheses why
it is the one for this key. Calls made by a kernel stand below it, further to the right.
"""

from __future__ import annotations

from collections.abc import Callable

import aten

a = aten.tensor([[1.0, 2.0], [3.0, 4.0]])
b = aten.tensor([[0.5, 0.5], [0.25, 0.75]])
CALLS: dict[str, Callable[[], object]] = {
    "a + b": lambda: a + b,
    "aten.matmul(a, b)": lambda: aten.matmul(a, b),
}


def path(call: Callable[[], object]) -> list[str]:
    """The lines of the calls that `call` makes."""
    lines: list[str] = []
    with aten.trace_dispatch(to=lines):
        call()
    return lines


def main() -> None:
    for text, call in CALLS.items():
        print(text)
        for line in path(call):
            print(f"    {line}")


if __name__ == "__main__":
    main()
