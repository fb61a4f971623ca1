"""Kernels that memory or arithmetic bounds, on all processors the process may use.

`out=` rows leave out the allocation of the result, which costs torch page faults.
"""

from __future__ import annotations

from typing import Any

from timing import Case, Result, measure

ELEMENTS = 1 << 22
ROWS, COLUMNS = 4096, 1024


def elements(lib: Any) -> dict[str, Any]:
    import numpy

    x = numpy.random.default_rng(0).standard_normal(ELEMENTS).astype(numpy.float32)
    return {"x": lib.from_numpy(x), "y": lib.from_numpy(numpy.zeros_like(x))}


def rows(lib: Any) -> dict[str, Any]:
    import numpy

    generator = numpy.random.default_rng(0)
    draw = [generator.standard_normal(shape) for shape in ((ROWS, COLUMNS), COLUMNS, COLUMNS)]
    x, weight, bias = (lib.from_numpy(values.astype(numpy.float32)) for values in draw)
    return {"x": x, "weight": weight, "bias": bias, "shape": [COLUMNS]}


def unary(name: str, least_ratio: float | None) -> list[Case]:
    return [
        Case(f"{name}, 4M float32", f"lib.ops.aten.{name}(x)", elements, least_ratio=least_ratio),
        Case(f"{name}, 4M float32, out=", f"lib.ops.aten.{name}.out(x, out=y)", elements),
    ]


CASES = [
    *unary("exp", 1.5),
    *unary("tanh", 1.5),
    *unary("gelu", 1.5),
    Case("x + x, 4M float32", "x + x", elements),
    Case("x.sum(), 4M float32", "x.sum()", elements),
    Case("softmax, 4096×1024", "lib.softmax(x, 1)", rows, least_ratio=1.0),
    Case("log_softmax, 4096×1024", "lib.log_softmax(x, 1)", rows),
    Case(
        "layer_norm, 4096×1024",
        "lib.layer_norm(x, shape, weight, bias)",
        rows,
        least_ratio=1.0,
    ),
    Case("sum over rows, 4096×1024", "x.sum(1)", rows),
    Case("sum over columns, 4096×1024", "x.sum(0)", rows),
    Case("matmul, 4096×1024 by 1024×4096", "lib.matmul(x, x.t())", rows),
]


def run() -> list[Result]:
    return measure(CASES, "ms", 1e3)
