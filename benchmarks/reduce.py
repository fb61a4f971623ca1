"""Folds, and what is made of folds: all dimensions, rows, columns, middles, strides and types."""

from __future__ import annotations

from operands import booleans, integers, normal, uniform
from timing import Case, Result, geometric_mean, measure

MILLION = 1 << 20


def everything() -> list[Case]:
    cases = []
    for count, label in ((1024, "1K"), (32768, "32K"), (MILLION, "1M"), (1 << 24, "64 MB")):
        operands = {"x": normal(count)}
        cases += [
            Case(f"sum, {label}", "x.sum()", operands, numpy=""),
            Case(f"max, {label}", "x.max()", operands, numpy=""),
        ]
    operands = {"x": normal(MILLION)}
    cases += [
        Case(f"{name}, 1M", text, operands, numpy=numpy)
        for name, text, numpy in (
            ("mean", "x.mean()", ""),
            ("min", "x.min()", ""),
            ("var", "x.var()", "x.var(ddof=1)"),
            ("std", "x.std()", "x.std(ddof=1)"),
            ("norm", "x.norm()", "lib.linalg.norm(x)"),
            ("argmax", "x.argmax()", ""),
            ("aminmax", "x.aminmax()", None),
            ("logsumexp", "x.logsumexp(0)", None),
            ("count_nonzero", "lib.count_nonzero(x)", ""),
        )
    ]
    return [
        *cases,
        Case("prod, 1M", "x.prod()", {"x": uniform(MILLION)}, numpy=""),
        Case("any, bool, 1M", "m.any()", {"m": booleans(MILLION)}, setup="m = m & ~m", numpy=""),
        Case("all, bool, 1M", "m.all()", {"m": booleans(MILLION)}, setup="m = m | ~m", numpy=""),
        Case("sum, bool, 1M", "m.sum()", {"m": booleans(MILLION)}, numpy=""),
        Case("sum, int64, 1M", "i.sum()", {"i": integers(MILLION)}, numpy=""),
        Case("max, int64, 1M", "i.max()", {"i": integers(MILLION)}, numpy=""),
        Case("sum, float64, 1M", "x.sum()", {"x": normal(MILLION, dtype="float64")}, numpy=""),
        Case("sum, bfloat16, 1M", "x.sum()", {"x": normal(MILLION, dtype="bfloat16")}),
        Case("max, bfloat16, 1M", "x.max()", {"x": normal(MILLION, dtype="bfloat16")}),
    ]


def dimensions() -> list[Case]:
    square = {"x": normal(1024, 1024)}
    cube = {"x": normal(64, 128, 128)}
    image = {"x": normal(16, 64, 32, 32)}
    return [
        *(
            Case(f"{name}({dim}), 1024×1024", f"x.{name}({dim})", square, numpy=numpy)
            for dim in (0, 1)
            for name, numpy in (
                ("sum", ""),
                ("mean", ""),
                ("amax", f"x.max({dim})"),
                ("argmax", ""),
                ("var", f"x.var({dim}, ddof=1)"),
                ("logsumexp", None),
                ("norm", f"lib.linalg.norm(x, axis={dim})"),
            )
        ),
        Case("norm(dim=1), 1024×1024", "x.norm(dim=1)", square, numpy="lib.linalg.norm(x, axis=1)"),
        Case("max(1), 1024×1024", "x.max(1)", square),
        Case("max(0), 1024×1024", "x.max(0)", square),
        Case("sum(0), bfloat16", "x.sum(0)", {"x": normal(1024, 1024, dtype="bfloat16")}),
        Case("sum(1), bfloat16", "x.sum(1)", {"x": normal(1024, 1024, dtype="bfloat16")}),
        Case("sum(1), int64", "x.sum(1)", {"x": integers(1024, 1024)}, numpy=""),
        Case("sum(1), 64×128×128", "x.sum(1)", cube, numpy=""),
        Case("sum((0, 2)), 64×128×128", "x.sum((0, 2))", cube, numpy=""),
        Case("mean((2, 3)), 16×64×32×32", "x.mean((2, 3))", image, numpy=""),
        Case("mean((0, 2, 3)), 16×64×32×32", "x.mean((0, 2, 3))", image, numpy=""),
        Case("x.T.sum(0), 1024×1024", "x.T.sum(0)", square, numpy=""),
        Case("x[:, ::2].sum()", "x[:, ::2].sum()", square, numpy=""),
        Case("x[::2].sum(1)", "x[::2].sum(1)", square, numpy=""),
        Case("x.T.sum(), 1024×1024", "x.T.sum()", square, numpy=""),
        Case("sum(1), 100000×8", "x.sum(1)", {"x": normal(100000, 8)}, numpy=""),
        Case("sum(0), 100000×8", "x.sum(0)", {"x": normal(100000, 8)}, numpy=""),
        Case("sum(1), 16×65536", "x.sum(1)", {"x": normal(16, 65536)}, numpy=""),
        Case("sum(1), 64×64", "x.sum(1)", {"x": normal(64, 64)}, numpy=""),
    ]


def normalizations() -> list[Case]:
    rows = {"x": normal(4096, 1024), "weight": normal(1024), "bias": normal(1024)}
    small = {"x": normal(128, 256), "weight": normal(256), "bias": normal(256)}
    image = {
        "x": normal(16, 64, 32, 32),
        "mean": normal(64),
        "var": uniform(64),
        "weight": normal(64),
        "bias": normal(64),
    }
    functional = "lib.nn.functional"
    return [
        Case("softmax, 4096×1024", "lib.softmax(x, 1)", rows),
        Case("softmax, 128×256", "lib.softmax(x, 1)", small),
        Case("softmax(0), 1024×1024", "lib.softmax(x, 0)", {"x": normal(1024, 1024)}),
        Case(
            "softmax, 2048×128, bfloat16",
            "lib.softmax(x, 1)",
            {"x": normal(2048, 128, dtype="bfloat16")},
        ),
        Case("log_softmax, 4096×1024", "lib.log_softmax(x, 1)", rows),
        Case("layer_norm, 4096×1024", f"{functional}.layer_norm(x, (1024,), weight, bias)", rows),
        Case("layer_norm, 128×256", f"{functional}.layer_norm(x, (256,), weight, bias)", small),
        Case("rms_norm, 4096×1024", f"{functional}.rms_norm(x, (1024,), weight)", rows),
        Case("group_norm, 16×64×32×32", f"{functional}.group_norm(x, 8, weight, bias)", image),
        Case(
            "batch_norm, 16×64×32×32", f"{functional}.batch_norm(x, mean, var, weight, bias)", image
        ),
        Case(
            "cross_entropy, 1024×1024",
            f"{functional}.cross_entropy(x, t)",
            {"x": normal(1024, 1024), "t": integers(1024, below=1024)},
        ),
        Case(
            "mse_loss, 1M",
            f"{functional}.mse_loss(x, y)",
            {"x": normal(MILLION), "y": normal(MILLION)},
        ),
    ]


def cases() -> list[Case]:
    return [*everything(), *dimensions(), *normalizations()]


def run() -> list[Result]:
    results = measure(cases())
    return [*results, geometric_mean(f"reduce: mean of {len(results)} cases", results, 1.3)]
