"""What a call costs when there is nothing to compute: a handful of elements, one thread's time."""

from __future__ import annotations

from dataclasses import replace

from operands import Operand, booleans, integers, normal, positive
from timing import Case, Result, geometric_mean, measure

VECTOR = {"a": normal(4), "b": normal(4), "c": normal(4)}
POSITIVE = {"a": positive(4)}
MATRIX = {"a": normal(2, 2), "b": normal(2, 2), "row": normal(2)}
FOURS = {"a": normal(4, 4), "b": normal(4, 4), "bias": normal(4)}
ROWS = {"x": normal(4, 16), "weight": normal(16), "bias": normal(16)}
LINEAR = {"x": normal(1, 16), "weight": normal(16, 16), "bias": normal(16)}
BATCH = {"a": normal(2, 3, 4), "b": normal(2, 4, 5)}
MIXED = {"i": integers(4), "a": normal(4)}
CHOICE = {"a": normal(4), "b": normal(4), "m": booleans(4)}
IMAGES = {"x": normal(1, 3, 8, 8)}
ROWS_OF = {"a": normal(6, 4), "i": Operand((3,), "int64", "integers", 6)}

# The calls that the project promises to be three times as fast, and views six times.
PROMISED = [
    Case("a + b", "a + b", VECTOR, numpy="", limit=200, least_ratio=5),
    Case("a.add_(b)", "a.add_(b)", {"a": normal(4), "b": normal(4)}, checked=False),
    Case("a * 2.5", "a * 2.5", VECTOR, numpy=""),
    Case("broadcast add", "a + row", MATRIX, numpy=""),
    Case("int + float", "i + a", MIXED, numpy=""),
    Case("a.sum()", "a.sum()", VECTOR, numpy=""),
    Case("cat((a, b))", "lib.cat((a, b))", VECTOR, numpy="lib.concatenate((a, b))"),
    Case("mm 4×4", "lib.mm(a, b)", FOURS, numpy="a @ b"),
    Case("softmax 4×16", "lib.softmax(x, 1)", ROWS),
    Case("linear 1×16", "lib.nn.functional.linear(x, weight, bias)", LINEAR),
]

VIEWS = [
    Case("a.t()", "a.t()", MATRIX, numpy="a.T"),
    Case("a.view(2, 2)", "a.view(2, 2)", VECTOR, numpy="a.reshape(2, 2)"),
    Case("a.reshape(2, 2)", "a.reshape(2, 2)", VECTOR, numpy=""),
    Case("a[1:3]", "a[1:3]", VECTOR, numpy=""),
    Case("a[1]", "a[1]", VECTOR),
    Case("m[:, 1]", "a[:, 1]", MATRIX, numpy=""),
    Case("m[1, 0:1]", "a[1, 0:1]", MATRIX, numpy=""),
    Case("a[None]", "a[None]", VECTOR, numpy=""),
    Case("a[..., 1]", "a[..., 1]", MATRIX, numpy=""),
    Case("transpose(0, 1)", "a.transpose(0, 1)", MATRIX, numpy="a.transpose(1, 0)"),
    Case("permute(1, 0)", "a.permute(1, 0)", MATRIX, numpy="a.transpose(1, 0)"),
    Case("unsqueeze(0)", "a.unsqueeze(0)", VECTOR),
    Case("squeeze(0)", "x.squeeze(0)", LINEAR),
    Case("expand(3, 4)", "a.expand(3, 4)", VECTOR, numpy="lib.broadcast_to(a, (3, 4))"),
    Case("flatten()", "a.flatten()", MATRIX),
    Case("detach()", "a.detach()", VECTOR),
    Case("narrow(0, 1, 2)", "a.narrow(0, 1, 2)", VECTOR),
    Case("select(0, 1)", "a.select(0, 1)", MATRIX),
    Case("chunk(2)", "a.chunk(2)", VECTOR, numpy="lib.split(a, 2)"),
    Case("unbind()", "a.unbind()", MATRIX),
]

OTHERS = [
    Case("a - b", "a - b", VECTOR, numpy=""),
    Case("a * b", "a * b", VECTOR, numpy=""),
    Case("a / b", "a / b", VECTOR, numpy=""),
    Case(
        "a + b, float64",
        "a + b",
        {"a": normal(4, dtype="float64"), "b": normal(4, dtype="float64")},
        numpy="",
    ),
    Case(
        "a + b, bfloat16",
        "a + b",
        {"a": normal(4, dtype="bfloat16"), "b": normal(4, dtype="bfloat16")},
    ),
    Case("i + j, int64", "i + j", {"i": integers(4), "j": integers(4)}, numpy=""),
    Case("m & n, bool", "m & n", {"m": booleans(4), "n": booleans(4)}, numpy=""),
    Case("a + 1", "a + 1", VECTOR, numpy=""),
    Case("1 - a", "1 - a", VECTOR, numpy=""),
    Case("a ** 2", "a ** 2", VECTOR, numpy=""),
    Case("-a", "-a", VECTOR, numpy=""),
    Case("a < b", "a < b", VECTOR, numpy=""),
    Case("a == b", "a == b", VECTOR, numpy=""),
    Case("transposed add", "a.t() + b", MATRIX, numpy="a.T + b"),
    Case("a += b", "a.__iadd__(b)", {"a": normal(4), "b": normal(4)}, numpy="", checked=False),
    Case("a.mul_(0.5)", "a.mul_(0.5)", {"a": normal(4)}, checked=False),
    Case("a.zero_()", "a.zero_()", {"a": normal(4)}),
    Case("a.fill_(1)", "a.fill_(1)", {"a": normal(4)}, numpy="a.fill(1)", checked=False),
    Case("a.copy_(b)", "a.copy_(b)", VECTOR, numpy="lib.copyto(a, b)"),
    Case("add(a, b, out=c)", "lib.add(a, b, out=c)", VECTOR, numpy="lib.add(a, b, out=c)"),
    Case("add(a, b, alpha=2)", "lib.add(a, b, alpha=2)", VECTOR),
    Case("exp", "a.exp()", VECTOR, numpy="lib.exp(a)"),
    Case("relu", "a.relu()", VECTOR),
    Case("functional.relu", "lib.nn.functional.relu(a)", VECTOR),
    Case("functional.gelu", "lib.nn.functional.gelu(a)", VECTOR),
    Case("sigmoid", "lib.sigmoid(a)", VECTOR),
    Case("sqrt", "lib.sqrt(a)", POSITIVE, numpy=""),
    Case("clamp(-1, 1)", "a.clamp(-1, 1)", VECTOR, numpy="lib.clip(a, -1, 1)"),
    Case("max_pool2d 8×8", "lib.nn.functional.max_pool2d(x, 2)", IMAGES),
    Case("avg_pool2d 8×8", "lib.nn.functional.avg_pool2d(x, 2)", IMAGES),
    Case("adaptive_avg_pool2d 8×8", "lib.nn.functional.adaptive_avg_pool2d(x, 2)", IMAGES),
    Case("where", "lib.where(m, a, b)", CHOICE, numpy=""),
    Case("masked_fill", "a.masked_fill(m, 0.0)", CHOICE),
    Case("a.to(float64)", "a.to(lib.float64)", VECTOR, numpy="a.astype(lib.float64)"),
    Case("a.to(float32), no change", "a.to(lib.float32)", VECTOR),
    Case("a.contiguous(), no change", "a.contiguous()", VECTOR),
    Case("a.clone()", "a.clone()", VECTOR, numpy="a.copy()"),
    Case("a.t().contiguous()", "a.t().contiguous()", MATRIX, numpy="lib.ascontiguousarray(a.T)"),
    Case("a.float()", "i.float()", MIXED, numpy="i.astype(lib.float32)"),
    Case("m.sum(dim=1)", "a.sum(dim=1)", MATRIX, numpy="a.sum(axis=1)"),
    Case("mean", "a.mean()", VECTOR, numpy=""),
    Case("m.mean(1, keepdim=True)", "a.mean(1, keepdim=True)", MATRIX),
    Case("max", "a.max()", VECTOR, numpy=""),
    Case("m.max(dim=1)", "a.max(dim=1)", MATRIX),
    Case("argmax", "a.argmax()", VECTOR, numpy=""),
    Case("any", "m.any()", CHOICE, numpy=""),
    Case("var", "a.var()", VECTOR, numpy="a.var(ddof=1)"),
    Case("norm", "a.norm()", VECTOR, numpy="lib.linalg.norm(a)"),
    Case("cumsum", "a.cumsum(0)", VECTOR, numpy=""),
    Case("functional.softmax", "lib.nn.functional.softmax(x, dim=-1)", ROWS),
    Case("log_softmax", "lib.log_softmax(x, 1)", ROWS),
    Case("layer_norm", "lib.nn.functional.layer_norm(x, (16,), weight, bias)", ROWS),
    Case(
        "cross_entropy",
        "lib.nn.functional.cross_entropy(x, t)",
        {"x": normal(4, 16), "t": Operand((4,), "int64", "integers", 16)},
    ),
    Case("mse_loss", "lib.nn.functional.mse_loss(a, b)", VECTOR),
    Case("a @ b", "a @ b", FOURS, numpy=""),
    Case("m @ v", "a @ bias", FOURS, numpy=""),
    Case("a.dot(b)", "a.dot(b)", VECTOR, numpy=""),
    Case("addmm", "lib.addmm(bias, a, b)", FOURS),
    Case("bmm", "lib.bmm(a, b)", BATCH, numpy="lib.matmul(a, b)"),
    Case("matmul of batches", "lib.matmul(a, b)", BATCH, numpy=""),
    Case("linear without bias", "lib.nn.functional.linear(x, weight)", LINEAR),
    Case("stack", "lib.stack((a, b))", VECTOR, numpy=""),
    Case("split(2)", "a.split(2)", VECTOR),
    Case("repeat(2)", "a.repeat(2)", VECTOR, numpy="lib.tile(a, 2)"),
    Case("flip(0)", "a.flip(0)", VECTOR, numpy="lib.flip(a, 0).copy()"),
    Case("a[i]", "a[i]", ROWS_OF, numpy=""),
    Case("a[m]", "a[m]", CHOICE, numpy=""),
    Case("a[1] = 0.5", "a[1] = 0.5", {"a": normal(4)}, numpy="", checked=False),
    Case("a[1:3] = b[0:2]", "a[1:3] = b[0:2]", VECTOR, numpy="", checked=False),
    Case("index_select", "a.index_select(0, i)", ROWS_OF, numpy="lib.take(a, i, 0)"),
    Case("embedding", "lib.nn.functional.embedding(i, a)", ROWS_OF),
    Case(
        "gather",
        "a.gather(0, j)",
        {"a": normal(6, 4), "j": Operand((2, 4), "int64", "integers", 6)},
    ),
    Case("sort", "a.sort()", VECTOR, numpy="lib.sort(a)"),
    Case("topk", "a.topk(2)", VECTOR),
    Case("nonzero", "m.nonzero()", CHOICE),
    Case("tril", "a.tril()", FOURS, numpy="lib.tril(a)"),
    Case("zeros(4)", "lib.zeros(4)", VECTOR, numpy=""),
    Case("ones(2, 2)", "lib.ones(2, 2)", VECTOR, numpy="lib.ones((2, 2))"),
    Case("empty(4)", "lib.empty(4)", VECTOR, numpy="", checked=False),
    Case("full((4,), 1.5)", "lib.full((4,), 1.5)", VECTOR, numpy=""),
    Case("arange(4)", "lib.arange(4)", VECTOR, numpy=""),
    Case("zeros_like", "lib.zeros_like(a)", VECTOR, numpy=""),
    Case("empty_like", "lib.empty_like(a)", VECTOR, numpy="", checked=False),
    Case("tensor([1., 2.])", "lib.tensor([1.0, 2.0])", VECTOR, numpy="lib.array([1.0, 2.0])"),
    Case("randn(4)", "lib.randn(4)", VECTOR, checked=False),
    Case("item()", "s.item()", {"s": normal()}),
    Case("tolist()", "a.tolist()", VECTOR, numpy=""),
    Case("numel()", "a.numel()", VECTOR, numpy="a.size"),
    Case("shape", "a.shape", VECTOR, numpy=""),
    Case("size(0)", "a.size(0)", VECTOR),
]

PLACES = {"a": normal(6, 4), "b": normal(3, 4), "i": Operand((3,), "int64", "integers", 6)}
SPREAD = {"a": normal(6, 4), "b": normal(6, 4), "j": Operand((2, 4), "int64", "integers", 6)}
POINTS = {"x": normal(1, 3, 8, 8), "grid": normal(1, 4, 4, 2)}
SAMPLE = "lib.nn.functional.grid_sample(x, grid, align_corners=False)"
NUMBERS = {"i": Operand((4,), "int64", "integers", 5)}
THREES = {"a": normal(4, 3), "b": normal(4, 3)}
CHANNELS = {**IMAGES, "weight": normal(3), "bias": normal(3), "mean": normal(3), "var": positive(3)}
SPREADING = {**IMAGES, "weight": normal(3, 2, 3, 3)}
BATCH_NORM = "lib.nn.functional.batch_norm(x, mean, var, weight, bias, True)"
COLUMNS = {"x": normal(1, 12, 49)}
WHOLE = {"i": Operand((4,), "int64", "integers", 50), "j": Operand((4,), "int64", "integers", 50)}

# What moves, samples and pools elements, where other libraries do more per call, too.
HEAVIER = [
    Case("index_add_", "a.index_add_(0, i, b)", PLACES, checked=False),
    Case("index_copy_", "a.index_copy_(0, i, b)", PLACES, checked=False),
    Case("index_fill_", "a.index_fill_(0, i, 0.5)", PLACES, checked=False),
    Case("scatter_", "a.scatter_(0, j, 0.5)", SPREAD, checked=False),
    Case("scatter_add", "a.scatter_add(0, j, b)", SPREAD),
    Case("one_hot", "lib.nn.functional.one_hot(i, 5)", NUMBERS),
    Case(
        "max_pool2d 8×8, with places",
        "lib.nn.functional.max_pool2d(x, 2, return_indices=True)",
        IMAGES,
    ),
    Case("grid_sample 8×8", SAMPLE, POINTS),
    Case("unfold 8×8", "lib.nn.functional.unfold(x, 2)", IMAGES),
    Case("pixel_unshuffle 8×8", "lib.nn.functional.pixel_unshuffle(x, 2)", IMAGES),
    Case("batch_norm in training", BATCH_NORM, CHANNELS, checked=False),
    Case("instance_norm", "lib.nn.functional.instance_norm(x)", IMAGES),
    Case("conv_transpose2d 8×8", "lib.nn.functional.conv_transpose2d(x, weight)", SPREADING),
    Case("interpolate, nearest", "lib.nn.functional.interpolate(x, scale_factor=2)", IMAGES),
    Case(
        "interpolate, bilinear",
        "lib.nn.functional.interpolate(x, (16, 16), mode='bilinear')",
        IMAGES,
    ),
    Case("fold 8×8", "lib.nn.functional.fold(x, (8, 8), 2)", COLUMNS),
    Case("scatter_reduce, mean", "a.scatter_reduce(0, j, b, 'mean')", SPREAD),
    Case("histc", "lib.histc(a, 10)", VECTOR),
    Case("bucketize", "lib.bucketize(a, b)", VECTOR, checked=False),
    Case("lcm", "lib.lcm(i, j)", WHOLE),
    Case("cross", "lib.linalg.cross(a, b)", THREES),
    Case("triu_indices", "lib.triu_indices(4, 4)", THREES),
]


def cases() -> list[Case]:
    promised = [
        replace(
            case, least_ratio=case.least_ratio if case.limit else 3, group="promised", headline=True
        )
        for case in PROMISED
    ]
    views = [replace(case, least_ratio=6, group="views") for case in VIEWS]
    others = [replace(case, group="others") for case in OTHERS]
    return [replace(case, unit="ns") for case in (*promised, *views, *others)]


def heavier_cases() -> list[Case]:
    return [replace(case, unit="ns", group="heavier") for case in HEAVIER]


def beside_numpy(results: list[Result]) -> Result:
    """`a + b` against NumPy's own, in the place of torch."""
    added = next(result for result in results if result.name == "a + b")
    compared = Result("a + b, NumPy in torch's place", "ns", added.aten, added.numpy, least_ratio=1)
    if added.aten is None or added.numpy is None:
        compared.problem = "no number"
    else:
        compared.ratio = added.numpy / added.aten
    return compared


def run() -> list[Result]:
    results = measure(cases())
    heavier = measure(heavier_cases())
    in_inference = measure(replace(case, numpy=None, inference=True) for case in cases())
    return [
        *results,
        beside_numpy(results),
        *_means(results, "", 9, 9),
        *_means(in_inference, ", both in inference mode", 4, 5),
        *heavier,
        geometric_mean(f"overhead: mean of {len(heavier)} heavier calls", heavier, 1.1),
    ]


def _means(
    results: list[Result], where: str, least_of_views: float, least_of_all: float
) -> list[Result]:
    views = [result for result in results if result.group == "views"]
    of_views = f"overhead: mean of {len(views)} views{where}"
    of_all = f"overhead: mean of all {len(results)} calls{where}"
    return [
        geometric_mean(of_views, views, least_of_views),
        geometric_mean(of_all, results, least_of_all),
    ]
