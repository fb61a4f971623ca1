"""Moving elements: copies between layouts, joining, picking, placing, ordering, scanning."""

from __future__ import annotations

from operands import Operand, booleans, integers, normal, permutation
from timing import Case, Result, geometric_mean, measure

MILLION = 1 << 20


def copies() -> list[Case]:
    square = {"x": normal(1024, 1024)}
    image = {"x": normal(16, 64, 32, 32)}
    return [
        Case(
            "x.T.contiguous(), 1024×1024",
            "x.T.contiguous()",
            square,
            numpy="lib.ascontiguousarray(x.T)",
        ),
        Case(
            "x.T.contiguous(), 4096×4096",
            "x.T.contiguous()",
            {"x": normal(4096, 4096)},
            numpy="lib.ascontiguousarray(x.T)",
        ),
        Case(
            "x.T.contiguous(), float64",
            "x.T.contiguous()",
            {"x": normal(1024, 1024, dtype="float64")},
            numpy="lib.ascontiguousarray(x.T)",
        ),
        Case(
            "x.T.contiguous(), bfloat16",
            "x.T.contiguous()",
            {"x": normal(1024, 1024, dtype="bfloat16")},
        ),
        Case(
            "x.T.contiguous(), bool",
            "x.T.contiguous()",
            {"x": booleans(1024, 1024)},
            numpy="lib.ascontiguousarray(x.T)",
        ),
        Case(
            "permute(0, 2, 3, 1).contiguous()",
            "x.permute(0, 2, 3, 1).contiguous()",
            image,
            numpy="lib.ascontiguousarray(x.transpose(0, 2, 3, 1))",
        ),
        Case("to channels_last", "x.contiguous(memory_format=lib.channels_last)", image),
        Case(
            "heads: 8×128×8×64 to 8×8×128×64",
            "x.transpose(1, 2).contiguous()",
            {"x": normal(8, 128, 8, 64)},
            numpy="lib.ascontiguousarray(x.swapaxes(1, 2))",
        ),
        Case(
            "x[:, ::2].contiguous()",
            "x[:, ::2].contiguous()",
            square,
            numpy="lib.ascontiguousarray(x[:, ::2])",
        ),
        Case(
            "x.clone(), 1024×1024, then written",
            "x.clone().mul_(1.0)",
            square,
            numpy="lib.multiply(y := x.copy(), 1.0, out=y)",
        ),
        Case(
            "y.copy_(x.T), 1024×1024",
            "y.copy_(x.T)",
            {**square, "y": normal(1024, 1024)},
            numpy="lib.copyto(y, x.T)",
            checked=False,
        ),
        Case(
            "y[:, 1:-1] = x[:, 2:]",
            "y[:, 1:-1] = x[:, 2:]",
            {**square, "y": normal(1024, 1024)},
            numpy="",
            checked=False,
        ),
        Case("reshape that copies", "x.T.reshape(-1)", square, numpy=""),
    ]


def joining() -> list[Case]:
    square = {"x": normal(1024, 1024), "y": normal(1024, 1024)}
    return [
        Case("cat(0), 1024×1024", "lib.cat((x, y), 0)", square, numpy="lib.concatenate((x, y), 0)"),
        Case("cat(1), 1024×1024", "lib.cat((x, y), 1)", square, numpy="lib.concatenate((x, y), 1)"),
        Case(
            "cat of 32, 1K each",
            "lib.cat(z)",
            {"x": normal(32, 1024)},
            "z = list(x)",
            numpy="lib.concatenate(z)",
        ),
        Case("stack(1), 1024×1024", "lib.stack((x, y), 1)", square, numpy=""),
        Case("stack(2), 1024×1024", "lib.stack((x, y), 2)", square, numpy=""),
        Case("flip(1), 1024×1024", "x.flip(1)", square, numpy="lib.flip(x, 1).copy()"),
        Case("flip(0), 1024×1024", "x.flip(0)", square, numpy="lib.flip(x, 0).copy()"),
        Case("roll(3, 1), 1024×1024", "x.roll(3, 1)", square, numpy="lib.roll(x, 3, 1)"),
        Case("repeat(2, 2), 1024×1024", "x.repeat(2, 2)", square, numpy="lib.tile(x, (2, 2))"),
        Case(
            "repeat_interleave(2), 1M",
            "x.repeat_interleave(2)",
            {"x": normal(MILLION)},
            numpy="x.repeat(2)",
        ),
        Case(
            "pad, 1024×1024",
            "lib.nn.functional.pad(x, (1, 1, 1, 1))",
            square,
            numpy="lib.pad(x, 1)",
        ),
        Case("tril, 1024×1024", "x.tril()", square, numpy="lib.tril(x)"),
        Case("diagonal copy", "x.diagonal().clone()", square, numpy="x.diagonal().copy()"),
        Case(
            "one_hot, 4096 of 128",
            "lib.nn.functional.one_hot(i, 128)",
            {"i": Operand((4096,), "int64", "integers", 128)},
            checked=False,
        ),
    ]


def picking() -> list[Case]:
    table = {"x": normal(10000, 128), "i": integers(4096, below=10000)}
    square = {
        "x": normal(1024, 1024),
        "rows": integers(1024, 1024, below=1024),
        "y": normal(1024, 1024),
    }
    line = {
        "x": normal(MILLION),
        "p": permutation(MILLION),
        "m": booleans(MILLION),
        "y": normal(MILLION),
    }
    return [
        Case(
            "embedding, 4096 rows of 128", "lib.nn.functional.embedding(i, x)", table, numpy="x[i]"
        ),
        Case(
            "index_select(0), 4096 of 128", "x.index_select(0, i)", table, numpy="lib.take(x, i, 0)"
        ),
        Case("x[i], 4096 rows of 128", "x[i]", table, numpy=""),
        Case(
            "index_select(1), 1024×1024",
            "x.index_select(1, i)",
            {"x": normal(1024, 1024), "i": integers(512, below=1024)},
            numpy="lib.take(x, i, 1)",
        ),
        Case(
            "x[:, i], 1024×1024",
            "x[:, i]",
            {"x": normal(1024, 1024), "i": integers(512, below=1024)},
            numpy="",
        ),
        Case(
            "x[i, j], 64K of 1024×1024",
            "x[i, j]",
            {
                "x": normal(1024, 1024),
                "i": integers(65536, below=1024),
                "j": integers(65536, below=1024),
            },
            numpy="",
        ),
        Case("x[p], 1M", "x[p]", line, numpy=""),
        Case("take, 1M", "x.take(p)", line, numpy=""),
        Case(
            "gather(0), 1024×1024",
            "x.gather(0, rows)",
            square,
            numpy="lib.take_along_axis(x, rows, 0)",
        ),
        Case(
            "gather(1), 1024×1024",
            "x.gather(1, rows)",
            square,
            numpy="lib.take_along_axis(x, rows, 1)",
        ),
        Case("x[m], 1M", "x[m]", line, numpy=""),
        Case("masked_select, 1M", "x.masked_select(m)", line),
        Case("nonzero, bool, 1M", "m.nonzero()", line),
        Case("where(m), 1M", "lib.where(m)", line, numpy=""),
        Case(
            "embedding_bag, 512 bags of 8",
            "lib.nn.functional.embedding_bag(i, x)",
            {"x": normal(10000, 64), "i": integers(512, 8, below=10000)},
        ),
        Case(
            "x[i], small: 64 of 1024",
            "x[i]",
            {"x": normal(1024), "i": integers(64, below=1024)},
            numpy="",
        ),
    ]


def placing() -> list[Case]:
    square = {
        "x": normal(1024, 1024),
        "rows": integers(1024, 1024, below=1024),
        "y": normal(1024, 1024),
    }
    table = {"x": normal(10000, 128), "i": integers(4096, below=10000), "y": normal(4096, 128)}
    line = {
        "x": normal(MILLION),
        "p": permutation(MILLION),
        "m": booleans(MILLION),
        "y": normal(MILLION),
    }
    return [
        Case("scatter(1), 1024×1024", "x.scatter(1, rows, 1.5)", square),
        Case("scatter_add(0), 1024×1024", "x.scatter_add(0, rows, y)", square),
        Case("scatter_add(1), 1024×1024", "x.scatter_add(1, rows, y)", square),
        Case("index_add(0), 4096 of 128", "x.index_add(0, i, y)", table),
        Case("index_copy(0)", "x.index_copy(0, i, y)", {**table, "i": permutation(4096)}),
        Case("x[p] = y, 1M", "x[p] = y", line, numpy="", checked=False),
        Case(
            "index_put_, accumulate, 1M",
            "x.index_put_((p,), y, accumulate=True)",
            line,
            checked=False,
        ),
        Case("x[m] = 0, 1M", "x[m] = 0", line, numpy="", checked=False),
        Case("masked_scatter, 1M", "x.masked_scatter(m, y)", line),
        Case(
            "bincount, 1M of 1000",
            "lib.bincount(i)",
            {"i": integers(MILLION, below=1000)},
            numpy="",
        ),
    ]


def ordering() -> list[Case]:
    line = {"x": normal(MILLION)}
    # No two alike: in which order equals come is nobody's promise.
    apart = {"x": permutation(MILLION, dtype="float32")}
    apart_rows = {"x": permutation(1024, 1024, dtype="float32")}
    rows = {"x": normal(1024, 1024)}
    return [
        Case("sort, 1M", "x.sort()", apart, numpy="lib.sort(x)"),
        Case("sort, int64, 1M", "i.sort()", {"i": permutation(MILLION)}, numpy="lib.sort(i)"),
        Case("argsort, 1M", "x.argsort()", apart, numpy=""),
        Case("sort(1), 1024×1024", "x.sort(1)", apart_rows, numpy="lib.sort(x, 1)"),
        Case("sort(0), 1024×1024", "x.sort(0)", apart_rows, numpy="lib.sort(x, 0)"),
        Case("topk(10), 1M", "x.topk(10)", apart),
        Case("topk(10), 1024×1024", "x.topk(10)", apart_rows),
        Case("kthvalue(500), 1024×1024", "x.kthvalue(500)", apart_rows),
        Case("median, 1M", "x.median()", apart),
        Case("unique, 1M of 1000", "lib.unique(i)", {"i": integers(MILLION, below=1000)}, numpy=""),
        Case(
            "searchsorted, 64K in 64K",
            "lib.searchsorted(s, x)",
            {"s": normal(65536), "x": normal(65536)},
            "s = lib.sort(s)[0]",
            numpy="",
            numpy_setup="s = lib.sort(s)",
        ),
        Case("cumsum, 1M", "x.cumsum(0)", line, numpy=""),
        Case("cumsum(0), 1024×1024", "x.cumsum(0)", rows, numpy=""),
        Case("cumsum(1), 1024×1024", "x.cumsum(1)", rows, numpy=""),
        Case("cumprod(1), 1024×1024", "x.cumprod(1)", rows, numpy=""),
        Case("cummax(1), 1024×1024", "x.cummax(1)", rows),
        Case("logcumsumexp(1), 1024×1024", "x.logcumsumexp(1)", rows),
    ]


def cases() -> list[Case]:
    return [*copies(), *joining(), *picking(), *placing(), *ordering()]


def run() -> list[Result]:
    results = measure(cases())
    return [*results, geometric_mean(f"index: mean of {len(results)} cases", results, 1.5)]
