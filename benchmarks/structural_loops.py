"""Structural primitives over generated loops, beside the CPU's own kernels.

    python benchmarks/structural_loops.py

One thread; medians of rounds in turn. What a device that has a code generator and no kernels runs
is on the right: `aten/loops/structural.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import aten
from aten import registry
from aten._core.base.keys import DispatchKey
from aten.backends import structural_loops, structured

_ROUNDS = 15


def cases() -> dict[str, tuple[str, tuple[Any, ...]]]:
    """Primitive and operands of each case."""
    x, index = aten.rand(1000, 1000), aten.randint(0, 1000, (1000, 1000))
    rows = aten.randint(0, 30000, (4096, 1)).expand(4096, 256)
    left, right = aten.rand(256, 256), aten.rand(256, 256)
    image, weight = aten.rand(4, 16, 32, 32), aten.rand(16, 16, 3, 3)
    ones = (1, 1)
    return {
        "gather along columns": ("gather", (x, index, 0)),
        "gather along rows": ("gather", (x, index, 1)),
        "rows of a table": ("gather", (aten.rand(30000, 256), rows, 0)),
        "scatter along columns": ("scatter", (x, index, x, 0, "replace")),
        "scatter along rows": ("scatter", (x, index, x, 1, "replace")),
        "sums along columns": ("scatter", (x, index, x, 0, "sum")),
        "sums along rows": ("scatter", (x, index, x, 1, "sum")),
        "pad": ("pad", (x, 0, ones, ones, (0, 0))),
        "rev of rows": ("rev", (x, (0,))),
        "rev of columns": ("rev", (x, (1,))),
        "product 256³": ("dot_general", (left, right, (1,), (0,), (), ())),
        "product of rows 256³": ("dot_general", (left, right, (1,), (1,), (), ())),
        "convolution 3×3": ("conv_general", (image, weight, ones, ones, ones, ones, ones, 1)),
    }


def _seconds(function: Callable[..., Any], operands: tuple[Any, ...]) -> float:
    started = perf_counter()
    function(*operands)
    return perf_counter() - started


def main() -> None:
    aten.set_num_threads(1)
    backend = structured.loop_backend(DispatchKey.CPU)
    print(f"{'':24}{'kernel':>12}{'loops':>12}{'ratio':>8}")
    for label, (name, operands) in cases().items():
        kernel = registry.operator(f"prims::{name}")
        loops = structural_loops.kernel_over_loops(name, backend)
        pairs = [(_seconds(kernel, operands), _seconds(loops, operands)) for _ in range(_ROUNDS)]
        ours, theirs = (median(one) for one in zip(*pairs[1:], strict=True))
        ratio = median(one / other for one, other in pairs[1:])
        print(f"{label:24}{ours * 1e3:9.3f} ms{theirs * 1e3:9.3f} ms{ratio:8.2f}")


if __name__ == "__main__":
    main()
