"""Primitives that work element by element: one line each says type, meaning and name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten.prims.prim import Prim, Shape, broadcast_shapes, numpy_function

_OPERANDS = {
    1: "Tensor self",
    2: "Tensor self, Tensor other",
    3: "Tensor self, Tensor other, Tensor addend",
}


def _same(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0]


def _boolean(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return DTYPES["bool"]


def _real(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0].to_real()


def _complex_of(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0].to_complex()


def elementwise_shape(shapes: Sequence[Shape], params: dict[str, Any]) -> Shape:
    """The operands' common shape."""
    return broadcast_shapes(shapes)


def elementwise(
    name: str,
    arity: int,
    reference: str | Callable[..., Any],
    *,
    result: Callable[[Sequence[dtype], dict[str, Any]], dtype] = _same,
    schema: str = "",
    doc: str = "",
) -> Prim:
    """Define an elementwise primitive. `reference` names NumPy's function, or is one."""
    return Prim(
        name,
        schema=schema or f"{name}({_OPERANDS[arity]}) -> Tensor",
        kind="elementwise",
        result_type=result,
        result_shape=elementwise_shape,
        reference=numpy_function(reference) if isinstance(reference, str) else reference,
        doc=doc,
    )


def _fma(left: Any, right: Any, addend: Any) -> Any:
    """One rounding, by way of a type twice as wide (float64's own falls back to long double)."""
    import numpy

    wide = numpy.longdouble if left.dtype == numpy.float64 else numpy.float64
    return (left.astype(wide) * right.astype(wide) + addend.astype(wide)).astype(left.dtype)


def _divide(left: Any, right: Any) -> Any:
    """Integers divide toward zero, as machines do; by zero gives zero rather than a trap."""
    import numpy

    if left.dtype.kind in "iub":
        safe = numpy.where(right == 0, 1, right).astype(left.dtype)
        quotient = numpy.abs(left) // numpy.abs(safe) * numpy.sign(left) * numpy.sign(safe)
        return numpy.where(right == 0, 0, quotient).astype(left.dtype)
    with numpy.errstate(all="ignore"):
        return numpy.divide(left, right)


def _bitcast(array: Any, *, dtype: dtype) -> Any:
    return array.view(dtype.name)


def _convert(array: Any, *, dtype: dtype) -> Any:
    import numpy

    from aten._core.base.numpy_types import numpy_dtype

    with numpy.errstate(all="ignore"):
        return array.astype(numpy_dtype(dtype))


def _difference(left: Any, right: Any) -> Any:
    """NumPy refuses bool, of which the difference is what differs."""
    return left ^ right if left.dtype.kind == "b" else left - right


def _erf_function(name: str) -> Callable[..., Any]:
    def call(array: Any) -> Any:
        import math

        import numpy

        def one(x: float) -> float:
            try:
                return float(getattr(math, name)(x))
            except ValueError:  # a pole
                return math.inf

        return numpy.vectorize(one, otypes=[array.dtype])(array)

    return call


def _rsqrt(array: Any) -> Any:
    import numpy

    with numpy.errstate(all="ignore"):
        return (1 / numpy.sqrt(array)).astype(array.dtype)


def _sigmoid(array: Any) -> Any:
    import numpy

    with numpy.errstate(all="ignore"):
        return (1 / (1 + numpy.exp(-array))).astype(array.dtype)


def _inverse_erf(array: Any) -> Any:
    """By way of the normal distribution's quantiles."""
    import math
    from statistics import NormalDist

    import numpy

    def one(x: float) -> float:
        if math.fabs(x) < 1:
            return NormalDist().inv_cdf((x + 1) / 2) / 2**0.5
        return x * math.inf if math.fabs(x) == 1 else math.nan

    return numpy.vectorize(one, otypes=[array.dtype])(array)


def _ndtr(array: Any) -> Any:
    import math

    import numpy

    def one(x: float) -> float:
        return math.erfc(-x * 0.5**0.5) / 2

    return numpy.vectorize(one, otypes=[array.dtype])(array)


def _digamma(array: Any) -> Any:
    """The recurrence up to 6, the asymptotic series from there, reflection below 0."""
    import math

    import numpy

    def one(x: float) -> float:
        if x == 0 or math.isinf(x):
            return math.copysign(math.inf, -x) if x == 0 else (x if x > 0 else math.nan)
        if x < 0:
            return math.nan if x == int(x) else one(1 - x) - math.pi / math.tan(math.pi * x)
        total = 0.0
        while x < 6:
            total -= 1 / x
            x += 1
        z = 1 / (x * x)
        series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
        return total + math.log(x) - 0.5 / x - series

    return numpy.vectorize(one, otypes=[array.dtype])(array)


def _complex(real: Any, imaginary: Any) -> Any:
    """Part by part: times the imaginary unit, an infinity would make the other part NaN."""
    import numpy

    made = numpy.empty(real.shape, numpy.result_type(real.dtype, numpy.complex64))
    made.real, made.imag = real, imaginary
    return made


def _where(condition: Any, left: Any, right: Any, *, rare: str = "") -> Any:
    import numpy

    return numpy.where(condition, left, right)


def _shift_right_logical(left: Any, right: Any) -> Any:
    unsigned = left.view(f"u{left.dtype.itemsize}")
    return (unsigned >> right.view(unsigned.dtype)).view(left.dtype)


def _type_of_lookup(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    """Float32; raises where the index or the length of the table is not as documented."""
    count = len(params["table"])
    if types[0] is not DTYPES["int32"]:
        raise TypeError(f"prims.lookup: expected an int32 index, got {types[0].name}")
    if count not in (16, 32):
        raise ValueError(f"prims.lookup: expected a table of 16 or 32 numbers, got {count}")
    return DTYPES["float32"]


def _of_registers(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    """Float32 or float64; raises for anything else."""
    if types[0].name not in ("float32", "float64"):
        raise TypeError(f"estimates are of float32 and float64, got {types[0].name}")
    return types[0]


def _lookup(index: Any, *, table: Sequence[float]) -> Any:
    import numpy

    return numpy.array(table, numpy.float32)[index & (len(table) - 1)]


# Arithmetic
add = elementwise("add", 2, "add")
sub = elementwise("sub", 2, _difference)
mul = elementwise("mul", 2, "multiply")
div = elementwise("div", 2, _divide, doc="Integers divide toward zero.")
fma = elementwise("fma", 3, _fma, doc="self * other + addend, rounded once.")
neg = elementwise("neg", 1, "negative")
abs = elementwise("abs", 1, "abs", result=_real)
sqrt = elementwise("sqrt", 1, "sqrt")
fmod = elementwise("fmod", 2, "fmod", doc="The remainder with the sign of the dividend.")
copysign = elementwise("copysign", 2, "copysign")
minimum = elementwise("minimum", 2, "minimum", doc="NaN if either operand is.")
maximum = elementwise("maximum", 2, "maximum", doc="NaN if either operand is.")

# Rounding
floor = elementwise("floor", 1, "floor")
ceil = elementwise("ceil", 1, "ceil")
trunc = elementwise("trunc", 1, "trunc")
round = elementwise("round", 1, "rint", doc="Half to even.")

# Comparison
eq = elementwise("eq", 2, "equal", result=_boolean)
ne = elementwise("ne", 2, "not_equal", result=_boolean)
lt = elementwise("lt", 2, "less", result=_boolean)
le = elementwise("le", 2, "less_equal", result=_boolean)
gt = elementwise("gt", 2, "greater", result=_boolean)
ge = elementwise("ge", 2, "greater_equal", result=_boolean)

# Bits
bitwise_and = elementwise("bitwise_and", 2, "bitwise_and")
bitwise_or = elementwise("bitwise_or", 2, "bitwise_or")
bitwise_xor = elementwise("bitwise_xor", 2, "bitwise_xor")
bitwise_not = elementwise("bitwise_not", 1, "invert")
shift_left = elementwise("shift_left", 2, "left_shift")
shift_right_arithmetic = elementwise("shift_right_arithmetic", 2, "right_shift")
shift_right_logical = elementwise("shift_right_logical", 2, _shift_right_logical)

# Functions that are expanded into arithmetic before code is made (see loops/math)
exp = elementwise("exp", 1, "exp")
exp2 = elementwise("exp2", 1, "exp2")
expm1 = elementwise("expm1", 1, "expm1")
log = elementwise("log", 1, "log")
log2 = elementwise("log2", 1, "log2")
log10 = elementwise("log10", 1, "log10")
log1p = elementwise("log1p", 1, "log1p")
sin = elementwise("sin", 1, "sin")
cos = elementwise("cos", 1, "cos")
tan = elementwise("tan", 1, "tan")
asin = elementwise("asin", 1, "arcsin")
acos = elementwise("acos", 1, "arccos")
atan = elementwise("atan", 1, "arctan")
atan2 = elementwise("atan2", 2, "arctan2")
sinh = elementwise("sinh", 1, "sinh")
cosh = elementwise("cosh", 1, "cosh")
tanh = elementwise("tanh", 1, "tanh")
asinh = elementwise("asinh", 1, "arcsinh")
acosh = elementwise("acosh", 1, "arccosh")
atanh = elementwise("atanh", 1, "arctanh")
erf = elementwise("erf", 1, _erf_function("erf"))
erfc = elementwise("erfc", 1, _erf_function("erfc"))
ndtr = elementwise("ndtr", 1, _ndtr, doc="The share of a normal distribution below self.")
erfinv = elementwise("erfinv", 1, _inverse_erf)
digamma = elementwise("digamma", 1, _digamma)
lgamma = elementwise("lgamma", 1, _erf_function("lgamma"))
pow = elementwise("pow", 2, "power")
rsqrt = elementwise("rsqrt", 1, _rsqrt)
sigmoid = elementwise("sigmoid", 1, _sigmoid)

# Parts of complex numbers
real = elementwise("real", 1, "real", result=_real)
imag = elementwise("imag", 1, "imag", result=_real)
complex = elementwise("complex", 2, _complex, result=_complex_of)

# Selection and conversion
where = elementwise(
    "where",
    3,
    _where,
    schema="where(Tensor pred, Tensor a, Tensor b) -> Tensor",
    result=lambda types, params: types[1],
    doc="With `rare`, the condition seldom holds: a hint to compilers, see prims/arithmetic.py.",
)
convert_element_type = elementwise(
    "convert_element_type",
    1,
    _convert,
    schema="convert_element_type(Tensor a, ScalarType dtype) -> Tensor",
    result=lambda types, params: params["dtype"],
)
bitcast = elementwise(
    "bitcast",
    1,
    _bitcast,
    schema="bitcast(Tensor a, ScalarType dtype) -> Tensor",
    result=lambda types, params: params["dtype"],
    doc="The same bits read as another type of the same size.",
)
lookup = elementwise(
    "lookup",
    1,
    _lookup,
    schema="lookup(Tensor index, float[] table) -> Tensor",
    result=_type_of_lookup,
    doc="The element of the table, 16 or 32 float32s, at an int32 taken modulo their number.",
)
reciprocal_estimate = elementwise(
    "reciprocal_estimate",
    1,
    "reciprocal",
    result=_of_registers,
    doc="1 / self to 2^-14 where both are normal numbers; of others anything.",
)
rsqrt_estimate = elementwise(
    "rsqrt_estimate",
    1,
    _rsqrt,
    result=_of_registers,
    doc="1 / sqrt(self) to 2^-14 of a positive normal number; of others anything.",
)
