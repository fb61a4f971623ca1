"""Arithmetic and functions of elements: sizes, element types, strides, fresh results and out=."""

from __future__ import annotations

from dataclasses import replace

from operands import Operand, booleans, integers, normal, positive, uniform
from timing import Case, Result, geometric_mean, measure

MILLION = 1 << 20
# 64 MB of float32.
LARGE = 1 << 24

# Each on arguments where it has a value.
FUNCTIONS: dict[str, Operand] = {
    **dict.fromkeys(
        ("exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh",
         "erf", "erfc", "sigmoid"),
        normal(MILLION),
    ),
    **dict.fromkeys(
        ("log", "log2", "log10", "log1p", "lgamma", "digamma", "rsqrt", "sqrt"), positive(MILLION)
    ),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), uniform(MILLION)),
}  # fmt: skip
ACTIVATIONS = {
    "gelu": "lib.nn.functional.gelu(x)",
    "gelu, tanh": "lib.nn.functional.gelu(x, approximate='tanh')",
    "silu": "lib.nn.functional.silu(x)",
    "softplus": "lib.nn.functional.softplus(x)",
    "mish": "lib.nn.functional.mish(x)",
    "elu": "lib.nn.functional.elu(x)",
    "selu": "lib.nn.functional.selu(x)",
    "logsigmoid": "lib.nn.functional.logsigmoid(x)",
}
BINARY_FUNCTIONS = {
    "pow": "lib.pow(p, y)",
    "atan2": "lib.atan2(x, y)",
    "hypot": "lib.hypot(x, y)",
    "logaddexp": "lib.logaddexp(x, y)",
}


def functions() -> list[Case]:
    cases = []
    for label, count in (("16K", 16384), ("1M", MILLION)):
        cases += [
            Case(f"{name}, {label}", f"lib.{name}(x)", {"x": replace(operand, shape=(count,))})
            for name, operand in FUNCTIONS.items()
        ]
        pair = {"x": normal(count), "y": normal(count), "p": positive(count)}
        cases += [
            Case(f"{name}, {label}", text, pair)
            for name, text in {**ACTIVATIONS, **BINARY_FUNCTIONS}.items()
        ]
    cases = [replace(case, numpy=_numpy_function(case)) for case in cases]
    return [replace(case, least_ratio=1.5, group="functions") for case in cases]


def _numpy_function(case: Case) -> str | None:
    import numpy

    name = case.name.partition(",")[0]
    renamed = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
               "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}.get(name, name)  # fmt: skip
    if not hasattr(numpy, renamed):
        return None
    return case.statement.replace(f"lib.{name}", f"lib.{renamed}")


def sizes() -> list[Case]:
    return [
        Case(
            f"{text.removeprefix('lib.')}, {label}",
            text,
            {"x": normal(count), "y": normal(count)},
            numpy="",
        )
        for label, count in (("4", 4), ("64", 64), ("256K", 262144), ("4M", 1 << 22))
        for text in ("x + y", "lib.exp(x)")
    ]


COUNTS = (("1K", 1024), ("64K", 65536), ("1M", MILLION))

ARITHMETIC = {
    **{text: text for text in ("x + y", "x - y", "x * y", "x / y", "x * 2.5", "x ** 2", "x ** 3",
                               "-x", "x < y", "x == y", "x % y", "x // y")},
    **{name: f"lib.{name}(x)" for name in ("abs", "floor", "round", "sign", "isnan", "relu")},
    **{name: f"lib.{name}(x, y)" for name in ("maximum", "fmod")},
    "reciprocal": "lib.reciprocal(y)",
    "clamp": "lib.clamp(x, -1, 1)",
    "where": "lib.where(m, x, y)",
    "masked_fill": "x.masked_fill(m, 0.0)",
    "lerp": "lib.lerp(x, y, 0.3)",
    "addcmul": "lib.addcmul(x, y, z)",
    "addcdiv": "lib.addcdiv(x, z, y)",
    "leaky_relu": "lib.nn.functional.leaky_relu(x)",
    "hardswish": "lib.nn.functional.hardswish(x)",
    "add, out=": "lib.add(x, y, out=z)",
    "exp, out=": "lib.exp(x, out=z)",
    "clone": "x.clone()",
}  # fmt: skip
WITHOUT_NUMPY = ("masked_fill", "lerp", "addcmul", "addcdiv", "leaky_relu", "hardswish", "relu")
NUMPY_NAMES = {"clamp": "lib.clip(x, -1, 1)", "clone": "x.copy()"}
IN_PLACE = {
    "x.add_(y)": "lib.add(x, y, out=x)",
    "x.mul_(1.0)": "lib.multiply(x, 1.0, out=x)",
    "x.fill_(1.5)": "x.fill(1.5)",
    "x.copy_(y)": "lib.copyto(x, y)",
}
FACTORIES = {"zeros": "lib.zeros({})", "full": "lib.full(({},), 2.5)", "arange": "lib.arange({})"}


def arithmetic() -> list[Case]:
    cases = []
    for label, count in COUNTS:
        operands = {
            "x": normal(count),
            "y": positive(count),
            "z": normal(count),
            "m": booleans(count),
        }
        cases += [
            Case(
                f"{name}, {label}",
                text,
                operands,
                numpy=None if name in WITHOUT_NUMPY else NUMPY_NAMES.get(name, ""),
            )
            for name, text in ARITHMETIC.items()
        ]
        cases += [
            Case(
                f"{text}, {label}",
                text,
                {"x": normal(count), "y": normal(count)},
                numpy=numpy,
                checked=False,
            )
            for text, numpy in IN_PLACE.items()
        ]
        cases += [
            Case(f"{name}, {label}", text.format(count), numpy="")
            for name, text in FACTORIES.items()
        ]
    return cases


TYPED = ("x + y", "x * y", "x < y", "lib.exp(x)", "lib.tanh(x)", "lib.log(y)")
CONVERSIONS = (
    ("int64", "float32"),
    ("float32", "int64"),
    ("float32", "float64"),
    ("float64", "float32"),
    ("float32", "bfloat16"),
    ("bfloat16", "float32"),
    ("bool", "float32"),
)


def operand_of(dtype: str, count: int) -> Operand:
    if dtype == "bool":
        return booleans(count)
    return integers(count) if dtype == "int64" else normal(count, dtype=dtype)


def types() -> list[Case]:
    cases = []
    for label, count in (("64K", 65536), ("1M", MILLION)):
        for dtype in ("float64", "bfloat16"):
            pair = {"x": normal(count, dtype=dtype), "y": positive(count, dtype=dtype)}
            numpy = None if dtype == "bfloat16" else ""
            cases += [
                Case(f"{text.removeprefix('lib.')}, {dtype}, {label}", text, pair, numpy=numpy)
                for text in TYPED
            ]
        pair = {"x": integers(count), "y": integers(count)}
        cases += [
            Case(f"{text}, int64, {label}", text, pair, numpy="")
            for text in ("x + y", "x * y", "x < y")
        ]
        cases += [
            Case(
                f"{source} to {target}, {label}",
                f"x.to(lib.{target})",
                {"x": operand_of(source, count)},
                numpy=None if "bfloat16" in (source, target) else f"x.astype(lib.{target})",
            )
            for source, target in CONVERSIONS
        ]
        half = {"x": normal(count, dtype="bfloat16")}
        cases += [
            Case(
                f"m & n, bool, {label}",
                "m & n",
                {"m": booleans(count), "n": booleans(count)},
                numpy="",
            ),
            Case(f"~m, bool, {label}", "~m", {"m": booleans(count)}, numpy=""),
            Case(f"gelu, bfloat16, {label}", "lib.nn.functional.gelu(x)", half),
            Case(f"int64 + float32, {label}", "i + x", {"i": integers(count), "x": normal(count)}),
        ]
    return cases


def strides() -> list[Case]:
    square = {
        "x": normal(1024, 1024),
        "y": normal(1024, 1024),
        "row": normal(1024),
        "column": normal(1024, 1),
    }
    return [
        Case("x + row, 1024×1024", "x + row", square, numpy=""),
        Case("x + column, 1024×1024", "x + column", square, numpy=""),
        Case("column + row, 1024×1024", "column + row", square, numpy=""),
        Case("x.T + y, 1024×1024", "x.T + y", square, numpy=""),
        Case("x.T + y.T, 1024×1024", "x.T + y.T", square, numpy=""),
        Case("exp(x.T), 1024×1024", "lib.exp(x.T)", square, numpy=""),
        Case("x[:, ::2] + y[:, ::2]", "x[:, ::2] + y[:, ::2]", square, numpy=""),
        Case("x[::2] * 2.0", "x[::2] * 2.0", square, numpy=""),
        Case("exp(x[:, ::2])", "lib.exp(x[:, ::2])", square, numpy=""),
        Case("x[1:, 1:] + y[:-1, :-1]", "x[1:, 1:] + y[:-1, :-1]", square, numpy=""),
        Case(
            "channels: x + bias, 8×64×32×32",
            "x + bias",
            {"x": normal(8, 64, 32, 32), "bias": normal(64, 1, 1)},
            numpy="",
        ),
        Case(
            "last channels: x * y.permute",
            "x * y.permute(0, 3, 1, 2)",
            {"x": normal(4, 64, 32, 32), "y": normal(4, 32, 32, 64)},
            numpy="x * y.transpose(0, 3, 1, 2)",
        ),
    ]


def fresh() -> list[Case]:
    """Results of 64 MB: pages that are new each time cost more than what is computed."""
    pair = {"x": normal(LARGE), "y": normal(LARGE)}
    cases = [
        Case("x + y, 64 MB", "x + y", pair, numpy=""),
        Case("x * 2.0, 64 MB", "x * 2.0", {"x": normal(LARGE)}, numpy=""),
        Case("exp, 64 MB", "lib.exp(x)", {"x": normal(LARGE)}, numpy=""),
        Case("relu, 64 MB", "lib.relu(x)", {"x": normal(LARGE)}),
        Case("tanh, 64 MB", "lib.tanh(x)", {"x": normal(LARGE)}, numpy=""),
        Case("clone, 64 MB", "x.clone()", {"x": normal(LARGE)}, numpy="x.copy()"),
    ]
    cases = [replace(case, least_ratio=4, group="fresh", headline=True) for case in cases]
    # The operands have 64 MB, the result a quarter of it.
    cases.append(Case("x < y, 64 MB", "x < y", pair, numpy=""))
    return [replace(case, unit="ms") for case in cases]


def cases() -> list[Case]:
    return [*functions(), *sizes(), *types(), *arithmetic(), *strides(), *fresh()]


def run() -> list[Result]:
    results = measure(cases())
    return [*results, geometric_mean(f"pointwise: mean of {len(results)} cases", results, 2)]
