"""Matrix products: squares, thin ones, batches, transposed operands, added terms."""

from __future__ import annotations

from dataclasses import replace

from operands import normal
from timing import Case, Result, geometric_mean, measure


def cases_of(dtype: str) -> list[Case]:
    def product(left: tuple[int, ...], right: tuple[int, ...], text: str = "a @ b") -> Case:
        name = f"{'×'.join(map(str, left))} by {'×'.join(map(str, right))}"
        operands = {"a": normal(*left, dtype=dtype), "b": normal(*right, dtype=dtype)}
        return Case(f"{text}: {name}, {dtype}", text, operands, numpy="")

    def linear(rows: int, inner: int, outer: int) -> Case:
        operands = {
            "x": normal(rows, inner, dtype=dtype),
            "weight": normal(outer, inner, dtype=dtype),
            "bias": normal(outer, dtype=dtype),
        }
        statement = "lib.nn.functional.linear(x, weight, bias)"
        return Case(
            f"linear: {rows}×{inner} to {outer}, {dtype}",
            statement,
            operands,
            numpy="x @ weight.T + bias",
        )

    squares = [product((n, n), (n, n)) for n in (8, 16, 32, 64, 128, 256, 512, 1024)]
    added = {name: normal(256, 256, dtype=dtype) for name in "abc"}
    return [
        *squares,
        product((2048, 2048), (2048, 2048)),
        product((1, 1024), (1024, 1024)),
        product((4096, 64), (64, 64)),
        product((64, 4096), (4096, 64)),
        product((1000, 3), (3, 1000)),
        product((512, 512), (512, 512), "a.T @ b"),
        product((512, 512), (512, 512), "a @ b.T"),
        product((1024, 1024), (1024,)),
        product((1024,), (1024,)),
        product((1 << 20,), (1 << 20,)),
        product((8, 64, 64), (8, 64, 64)),
        product((64, 32, 64), (64, 64, 32)),
        product((1000, 8, 8), (1000, 8, 8)),
        product((16, 256, 256), (16, 256, 256)),
        product((32, 128, 64), (64, 64)),
        Case(f"addmm: 256×256, {dtype}", "lib.addmm(c, a, b)", added, numpy="a @ b + c"),
        linear(64, 784, 256),
        linear(1, 512, 512),
        linear(32, 64, 64),
        linear(512, 512, 2048),
        linear(128, 768, 3072),
        linear(128, 3072, 768),
    ]


def cases() -> list[Case]:
    return [
        replace(case, group=dtype) for dtype in ("float32", "float64") for case in cases_of(dtype)
    ]


def run() -> list[Result]:
    results = measure(cases())
    means = []
    for dtype in ("float32", "float64"):
        of_dtype = [result for result in results if result.group == dtype]
        means.append(geometric_mean(f"gemm: mean of {len(of_dtype)} in {dtype}", of_dtype, 1))
    return [*results, *means]
