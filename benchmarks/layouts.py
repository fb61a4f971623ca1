"""Operands that lie otherwise: every second element, other orders, rows of few elements; batches
and sizes that threads share badly; and calls that drawing them beside torch found slow."""

from __future__ import annotations

from operands import integers, normal
from timing import Case, Result, geometric_mean, measure

LAYOUTS = {
    "every second": "wide = lib.zeros(301, 1034); wide[:, ::2] = x; x = wide[:, ::2]",
    "transposed": "x = x.T.contiguous().T",
}
FUNCTIONS = {
    "softmax(-1)": "x.softmax(-1)",
    "softmax(0)": "x.softmax(0)",
    "log_softmax(-1)": "x.log_softmax(-1)",
    "logsumexp(-1)": "x.logsumexp(-1)",
    "layer_norm": "lib.nn.functional.layer_norm(x, (517,))",
    "max(-1)": "x.max(-1)",
    "argmax(-1)": "x.argmax(-1)",
    "amax(-1)": "x.amax(-1)",
    "var(-1)": "x.var(-1)",
    "sum(-1)": "x.sum(-1)",
    "exp": "x.exp()",
    "gelu": "lib.nn.functional.gelu(x)",
    "copy": "x.clone(memory_format=lib.contiguous_format)",
    "cumsum(-1)": "x.cumsum(-1)",
    "cat": "lib.cat([x, x], -1)",
    "flip(-1)": "x.flip(-1)",
}


def elements() -> list[Case]:
    operands = {"x": normal(301, 517)}
    image = {"x": normal(2, 33, 45, 51)}
    last = "x = x.to(memory_format=lib.channels_last)"
    tall = {"x": normal(20011, 7)}
    columns = {"x": normal(8192, 64)}
    half = {"x": normal(301, 517, dtype="bfloat16")}
    few = {"x": normal(16384, 4)}
    points = {"x": normal(16384, 3)}
    classes = {"x": normal(4, 4, 128, 128)}
    places = "i = lib.arange(300, -1, -1)"
    return [
        *(
            Case(f"{name}, {layout}", text, operands, setup=setup)
            for layout, setup in LAYOUTS.items()
            for name, text in FUNCTIONS.items()
        ),
        Case("softmax(1), channels last", "x.softmax(1)", image, setup=last),
        Case("log_softmax(1), channels last", "x.log_softmax(1)", image, setup=last),
        Case("argmin(0), 20011×7", "x.argmin(0)", tall),
        Case("max(0), 20011×7", "x.max(0)", tall),
        Case("sum(0), 20011×7", "x.sum(0)", tall),
        Case("softmax(-1), 20011×7", "x.softmax(-1)", tall),
        *(
            Case(f"{call}, 16384×4", f"x.{call}", few)
            for call in ("softmax(-1)", "log_softmax(-1)", "var(-1)", "argmax(-1)", "amax(-1)")
        ),
        Case("sum(-1), 16384×3", "x.sum(-1)", points),
        Case("softmax(1) of four, channels last", "x.softmax(1)", classes, setup=last),
        *(
            Case(f"{call}, 8192×64", f"x.{call}", columns)
            for call in ("sum(0)", "var(0)", "softmax(0)", "logsumexp(0)", "argmax(0)", "cumsum(0)")
        ),
        Case(
            "batch_norm of the batch, channels last",
            "lib.nn.functional.batch_norm(x, None, None, training=True)",
            image,
            setup=last,
        ),
        Case("max_pool2d, channels last", "lib.nn.functional.max_pool2d(x, 2)", image, setup=last),
        Case(
            "avg_pool2d, channels last",
            "lib.nn.functional.avg_pool2d(x, 3, 1, 1)",
            image,
            setup=last,
        ),
        Case("cat of transposed, bfloat16", "lib.cat([x.T, x.T])", half),
        Case("fmod, bfloat16", "lib.fmod(x, x + 1)", half),
        Case("x // 7, int8", "x // 7", {"x": integers(301, 517, dtype="int8")}),
        Case("frexp", "lib.frexp(x)", {"x": normal(301, 517)}),
        Case("index_add, bfloat16", "x.index_add(0, i, x)", half, setup=places),
        Case(
            "scatter_add, bfloat16",
            "x.scatter_add(0, i[:, None].expand(301, 517), x)",
            half,
            setup=places,
        ),
    ]


def surveyed() -> list[Case]:
    lines = {"x": normal(16, 64, 500)}
    image = {"x": normal(2, 64, 112, 112)}
    last = "x = x[:, :, :32, :32].to(memory_format=lib.channels_last)"
    bags = "x = x.to(lib.bfloat16); i = lib.arange(2000).remainder(301).view(100, 20)"
    larger = "lib.nn.functional.interpolate(x, scale_factor=2, mode={!r})"
    last_of_all = "x = x.to(memory_format=lib.channels_last)"
    return [
        Case("add, 1.84 MB", "x + x", {"x": normal(677, 680)}),
        Case("arange, float32", "lib.arange(100000, dtype=lib.float32)", {}),
        Case(
            "index_select(0) of transposed",
            "x.index_select(0, i)",
            {"x": normal(517, 301)},
            setup="x = x.T; i = lib.arange(2000).remainder(301)",
        ),
        Case("max_pool1d", "lib.nn.functional.max_pool1d(x, 3)", lines),
        Case("max_pool1d, float64", "lib.nn.functional.max_pool1d(x.double(), 3)", lines),
        Case("max_pool2d, 3×3 s2", "lib.nn.functional.max_pool2d(x, 3, 2, 1)", image),
        Case(
            "embedding_bag, bfloat16",
            "lib.nn.functional.embedding_bag(i, x)",
            {"x": normal(301, 517)},
            setup=bags,
        ),
        Case("nearest", larger.format("nearest"), {"x": normal(8, 32, 32, 32)}),
        Case("nearest, channels last", larger.format("nearest"), image, setup=last),
        Case("bilinear, channels last", larger.format("bilinear"), image, setup=last),
        Case("unique, uint8", "lib.unique(x)", {"x": integers(301, 517, dtype="uint8")}),
        Case(
            "gcd, int64",
            "lib.gcd(x, y)",
            {name: integers(301, 517, dtype="int64") for name in "xy"},
        ),
        Case("igamma", "lib.igamma(x.abs() + 1, y.abs() + 1)", {n: normal(301, 517) for n in "xy"}),
        Case("erf, float64", "lib.erf(x.double())", {"x": normal(301, 517)}),
        *(
            Case(
                f"conv2d, {kernel}×{kernel}, bfloat16, channels last",
                f"lib.nn.functional.conv2d(x, w, padding={kernel // 2})",
                {"x": normal(8, 64, 28, 28), "w": normal(64, 64, kernel, kernel)},
                setup=f"x, w = (one.to(lib.bfloat16) for one in (x, w)); {last_of_all}",
            )
            for kernel in (1, 3)
        ),
    ]


def products() -> list[Case]:
    sizes = ((1500, 384, 384), (700, 300, 300), (1100, 700, 700), (77, 512, 2048))
    batches = ((3, 300, 300, 300), (5, 128, 128, 128), (3, 64, 512, 512))
    image = {"x": normal(1, 384, 14, 14), "w": normal(768, 384, 2, 2)}
    depthwise = {"x": normal(1, 384, 14, 14), "w": normal(384, 1, 7, 7)}
    last = "x = x.to(memory_format=lib.channels_last)"
    return [
        *(
            Case(
                f"linear, {rows}×{depth} by {depth}×{columns}",
                "lib.nn.functional.linear(x, w)",
                {"x": normal(rows, depth), "w": normal(columns, depth)},
            )
            for rows, depth, columns in sizes
        ),
        *(
            Case(
                f"bmm, {batch}×{rows}×{depth} by {depth}×{columns}",
                "x @ y",
                {"x": normal(batch, rows, depth), "y": normal(batch, depth, columns)},
            )
            for batch, rows, depth, columns in batches
        ),
        Case(
            "conv2d, 384→768 14×14 2×2 s2, image with channels last",
            "lib.nn.functional.conv2d(x, w, stride=2)",
            image,
            setup=last,
        ),
        Case(
            "conv2d, 384→384 14×14 7×7 g384, image with channels last",
            "lib.nn.functional.conv2d(x, w, padding=3, groups=384)",
            depthwise,
            setup=last,
        ),
    ]


def cases() -> list[Case]:
    return [*elements(), *surveyed(), *products()]


def run() -> list[Result]:
    results = measure(cases())
    return [*results, geometric_mean(f"layouts: mean of {len(results)} cases", results, 1.0)]
