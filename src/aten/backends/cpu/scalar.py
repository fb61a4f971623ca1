"""LLVM IR for one instruction on scalars: types, constants, arithmetic, conversions.

LLVM's vectorizer turns the scalar loops into vector code, so nothing here knows about lanes.
Complex values are pairs of SSA names. bfloat16 exists in memory only: it becomes float32 on the
way in, by shifting, and is rounded half to even on the way out.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.float8 import encode
from aten.backends.cpu import estimates, float8, halves, lookups
from aten.backends.cpu.jit import session
from aten.loops.program import Instruction

Operand = Any  # an SSA name or literal; for complex values a pair of them

_INTEGER_BITS = {
    "bool": 1,
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "int32": 32,
    "uint32": 32,
    "int64": 64,
    "uint64": 64,
}
_FLOATS = {"float16": "half", "float32": "float", "float64": "double", "bfloat16": "i16"}
_LIBRARY_FUNCTIONS = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc lgamma tgamma pow atan2 fmod".split()
)
_COMPARISONS = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_INTRINSICS = {
    "abs": "fabs",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "roundeven",
    "copysign": "copysign",
    "fma": "fma",
    "minimum": "minimum",
    "maximum": "maximum",
}


class UnsupportedError(NotImplementedError):
    """The instruction has no meaning for its element type on this backend."""


def register_type(element: dtype) -> str:
    """The LLVM type of a value of `element` (of each part, if complex)."""
    if element.name in _INTEGER_BITS:
        return f"i{_INTEGER_BITS[element.name]}"
    if element.name in _FLOATS:
        return _FLOATS[element.name]
    if element.kind == "float8":
        return "i8"
    if element.is_complex:
        return _FLOATS[element.to_real().name]
    raise UnsupportedError(f'"cpu" not implemented for {element.scalar_type_name!r}')


def memory_type(element: dtype) -> str:
    """The LLVM type `element` has in memory (of each part, if complex)."""
    return "i8" if element.name == "bool" else register_type(element)


def calls_library(instruction: Instruction) -> bool:
    """Whether the instruction becomes a call of a function of the C library."""
    if instruction.operation == "abs":
        return instruction.operands[0].dtype.is_complex
    if instruction.operation not in _LIBRARY_FUNCTIONS:
        return False
    return instruction.operands[0].dtype.kind == "float"


def literal(value: Any, element: dtype) -> Operand:
    """`value` as an LLVM constant of `element`'s register type."""
    if element.is_complex:
        part = element.to_real()
        return (literal(value.real, part), literal(value.imag, part))
    if element.name == "bool":
        return "true" if value else "false"
    if element.name in _INTEGER_BITS:
        return str(int(value))
    if element.name == "bfloat16":
        bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
        return str((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    if element.kind == "float8":
        return str(encode(float(value), element.name))
    if element.name == "float16":
        return f"0xH{struct.unpack('<H', struct.pack('<e', float(value)))[0]:04X}"
    number = float(value)
    if element.name == "float32":
        number = _rounded_to_float(number)
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _rounded_to_float(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


class ScalarEmitter:
    """Writes instructions into a list of lines and declares the functions they call."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        # Functions that nothing calls yet: the vectorizer will.
        self.kept: list[str] = []
        self.narrows_to_half = False
        self._count = 0

    def fresh(self, prefix: str = "v") -> str:
        """A new SSA name."""
        self._count += 1
        return f"%{prefix}{self._count}"

    def let(self, text: str) -> str:
        """A line that computes `text` into a new name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def call(self, function: str, kind: str, *arguments: str, flags: str = "") -> str:
        """A call of a function whose arguments and result all have LLVM type `kind`."""
        self.declarations[function] = (
            f"declare {kind} @{function}({', '.join([kind] * len(arguments))})"
        )
        listed = ", ".join(f"{kind} {argument}" for argument in arguments)
        return self.let(f"call {flags}{kind} @{function}({listed})")

    # Memory

    def load(self, element: dtype, pointer: str, suffix: str = "") -> Operand:
        """The value at `pointer`, in register form."""
        kind, align = memory_type(element), element.itemsize
        if element.is_complex:
            part = element.to_real().itemsize
            imaginary = self.let(f"getelementptr inbounds i8, ptr {pointer}, i64 {part}")
            return (
                self.let(f"load {kind}, ptr {pointer}, align {part}{suffix}"),
                self.let(f"load {kind}, ptr {imaginary}, align {part}{suffix}"),
            )
        value = self.let(f"load {kind}, ptr {pointer}, align {align}{suffix}")
        return self.let(f"icmp ne i8 {value}, 0") if element.name == "bool" else value

    def store(self, element: dtype, value: Operand, pointer: str, suffix: str = "") -> None:
        """Write `value` at `pointer`, in memory form."""
        kind, align = memory_type(element), element.itemsize
        if element.is_complex:
            part = element.to_real().itemsize
            imaginary = self.let(f"getelementptr inbounds i8, ptr {pointer}, i64 {part}")
            self.lines.append(f"  store {kind} {value[0]}, ptr {pointer}, align {part}{suffix}")
            self.lines.append(f"  store {kind} {value[1]}, ptr {imaginary}, align {part}{suffix}")
            return
        if element.name == "bool":
            value = self.let(f"zext i1 {value} to i8")
        self.lines.append(f"  store {kind} {value}, ptr {pointer}, align {align}{suffix}")

    # Arithmetic

    def instruction(self, instruction: Instruction, arguments: list[Operand]) -> Operand:
        """The value of a pure instruction. Raises UnsupportedError where it has none."""
        name = instruction.operation
        if name == "constant":
            return literal(instruction.params["value"], instruction.dtype)
        if name == "where":
            if "rare" in instruction.params:
                return arguments[1]
            return self.where(instruction.dtype, arguments)
        source = instruction.operands[0].dtype
        if name == "convert_element_type":
            return self.convert(arguments[0], source, instruction.dtype)
        if name == "complex":
            return tuple(arguments)
        if source.is_complex:
            return self._complex(name, source, arguments)
        if name == "lookup":
            table = instruction.params["table"]
            literals = [literal(one, instruction.dtype) for one in table]
            return lookups.lookup(self, arguments[0], table, literals, session().vector_bytes)
        if name in estimates.ESTIMATES:
            return estimates.estimate(self, name, instruction.dtype, arguments[0])
        if name == "bitcast":
            target = register_type(instruction.dtype)
            return self.let(f"bitcast {register_type(source)} {arguments[0]} to {target}")
        if source.kind == "float8":
            return self._float8(name, source, arguments)
        if source.kind == "float":
            return self._float(name, source, arguments)
        return self._integer(name, source, arguments)

    def where(self, element: dtype, arguments: list[Operand]) -> Operand:
        """The choice between two values of `element` by a condition."""
        condition, left, right = arguments
        kind = register_type(element)
        if element.is_complex:
            return tuple(
                self.let(f"select i1 {condition}, {kind} {left[part]}, {kind} {right[part]}")
                for part in (0, 1)
            )
        return self.let(f"select i1 {condition}, {kind} {left}, {kind} {right}")

    def _float8(self, name: str, element: dtype, arguments: list[Operand]) -> Operand:
        if name not in ("eq", "ne"):
            raise UnsupportedError(f'"{name}" not implemented for {element.scalar_type_name!r}')
        widened = [float8.widen(self, argument, element) for argument in arguments]
        return self._float(name, DTYPES["float32"], widened)

    def _float(self, name: str, element: dtype, arguments: list[Operand]) -> Operand:
        kind = register_type(element)
        if element.name not in ("float32", "float64"):
            raise UnsupportedError(f'"{name}" not implemented for {element.scalar_type_name!r}')
        if name in ("add", "sub", "mul", "div"):
            return self.let(f"f{name} {kind} {arguments[0]}, {arguments[1]}")
        if name == "neg":
            return self.let(f"fneg {kind} {arguments[0]}")
        if name in _COMPARISONS:
            return self.let(f"fcmp {_COMPARISONS[name]} {kind} {arguments[0]}, {arguments[1]}")
        if name == "copysign" and self.narrows_to_half and kind == "double":
            return self._copysign_by_choice(arguments)
        if name in _INTRINSICS:
            bits = 8 * element.itemsize
            return self.call(f"llvm.{_INTRINSICS[name]}.f{bits}", kind, *arguments)
        if name in _LIBRARY_FUNCTIONS:
            return self.call(name + ("f" if kind == "float" else ""), kind, *arguments)
        raise UnsupportedError(f'"{name}" not implemented for {element.scalar_type_name!r}')

    def _copysign_by_choice(self, arguments: list[Operand]) -> Operand:
        """LLVM narrows both operands of a copysign whose result is narrowed, and for the sign of a
        float64 as float16 it calls a function that is not there."""
        negative = self.let(f"icmp slt i64 {self.let(f'bitcast double {arguments[1]} to i64')}, 0")
        magnitude = self.call("llvm.fabs.f64", "double", arguments[0])
        negated = self.let(f"fneg double {magnitude}")
        return self.let(f"select i1 {negative}, double {negated}, double {magnitude}")

    def _integer(self, name: str, element: dtype, arguments: list[Operand]) -> Operand:
        kind = register_type(element)
        signed = element.kind == "signed"
        if name in ("add", "sub", "mul"):
            if kind == "i1":
                return self._boolean_arithmetic(name, arguments)
            return self.let(f"{name} {kind} {arguments[0]}, {arguments[1]}")
        if name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
            return self.let(f"{name[8:]} {kind} {arguments[0]}, {arguments[1]}")
        if name == "bitwise_not":
            return self.let(f"xor {kind} {arguments[0]}, {'true' if kind == 'i1' else -1}")
        if name in _COMPARISONS:
            sign = "" if name in ("eq", "ne") else ("s" if signed else "u")
            return self.let(f"icmp {sign}{name} {kind} {arguments[0]}, {arguments[1]}")
        if name in ("minimum", "maximum"):
            function = f"llvm.{'s' if signed else 'u'}{name[:3]}.{kind}"
            return self.call(function, kind, *arguments)
        rule = _INTEGER_RULES.get(name)
        if rule is None or kind == "i1":
            raise UnsupportedError(f'"{name}" not implemented for {element.scalar_type_name!r}')
        return rule(self, kind, signed, arguments)

    def _boolean_arithmetic(self, name: str, arguments: list[Operand]) -> Operand:
        operation = {"add": "or", "mul": "and", "sub": "xor"}[name]
        return self.let(f"{operation} i1 {arguments[0]}, {arguments[1]}")

    def _complex(self, name: str, element: dtype, arguments: list[Operand]) -> Operand:
        kind = register_type(element)
        rule = _COMPLEX_RULES.get(name)
        if rule is None or element.name == "complex32":
            raise UnsupportedError(f'"{name}" not implemented for {element.scalar_type_name!r}')
        return rule(self, kind, arguments)

    # Conversions

    def convert(self, value: Operand, source: dtype, target: dtype) -> Operand:
        """`value` as `target`: floats to integers toward zero, anything to bool by `!= 0`."""
        if source is target:
            return value
        if source.is_complex and not target.is_complex:
            if target.name == "bool":
                parts = [self.convert(part, source.to_real(), target) for part in value]
                return self.let(f"or i1 {parts[0]}, {parts[1]}")
            return self.convert(value[0], source.to_real(), target)
        if target.is_complex:
            part = target.to_real()
            if source.is_complex:
                return tuple(self.convert(half, source.to_real(), part) for half in value)
            return (self.convert(value, source, part), literal(0, part))
        if source.kind == "float8":
            return self.convert(float8.widen(self, value, source), DTYPES["float32"], target)
        if target.kind == "float8":
            return float8.narrow(self, self.convert(value, source, DTYPES["float32"]), target)
        if source.name in ("float16", "bfloat16"):
            return self.convert(self._widen_half(value, source), DTYPES["float32"], target)
        if target.name in ("float16", "bfloat16"):
            return self._narrow_half(self.convert(value, source, DTYPES["float32"]), target)
        if source.kind == "float":
            return self._from_float(value, source, target)
        return self._from_integer(value, source, target)

    def _widen_half(self, value: str, source: dtype) -> str:
        if source.name == "float16":
            if not session().has_halves:
                return halves.widen(self, value)
            return self.let(f"fpext half {value} to float")
        wide = self.let(f"zext i16 {value} to i32")
        return self.let(f"bitcast i32 {self.let(f'shl i32 {wide}, 16')} to float")

    def _narrow_half(self, value: str, target: dtype) -> str:
        if target.name == "float16":
            if not session().has_halves:
                return halves.narrow(self, value)
            return self.let(f"fptrunc float {value} to half")
        bits = self.let(f"bitcast float {value} to i32")
        odd = self.let(f"and i32 {self.let(f'lshr i32 {bits}, 16')}, 1")
        rounded = self.let(f"add i32 {self.let(f'add i32 {bits}, {odd}')}, 32767")
        not_a_number = self.let(f"fcmp uno float {value}, {value}")
        chosen = self.let(f"select i1 {not_a_number}, i32 2143289344, i32 {rounded}")
        return self.let(f"trunc i32 {self.let(f'lshr i32 {chosen}, 16')} to i16")

    def _from_float(self, value: str, source: dtype, target: dtype) -> str:
        kind, result = register_type(source), register_type(target)
        if target.name == "bool":
            return self.let(f"fcmp une {kind} {value}, {literal(0, source)}")
        if target.kind == "float":
            direction = "fpext" if target.itemsize > source.itemsize else "fptrunc"
            return self.let(f"{direction} {kind} {value} to {result}")
        # Out of range, LLVM's result is poison; frozen, it is merely some integer.
        wide = "i64" if target.itemsize >= 8 or target.name == "uint32" else "i32"
        number = self.let(f"freeze {wide} {self.let(f'fptosi {kind} {value} to {wide}')}")
        return number if wide == result else self.let(f"trunc {wide} {number} to {result}")

    def _from_integer(self, value: str, source: dtype, target: dtype) -> str:
        kind, result = register_type(source), register_type(target)
        signed = source.kind == "signed"
        if target.name == "bool":
            return self.let(f"icmp ne {kind} {value}, 0")
        if target.kind == "float":
            return self.let(f"{'s' if signed else 'u'}itofp {kind} {value} to {result}")
        if kind == result:
            return value
        if _INTEGER_BITS[target.name] < _INTEGER_BITS[source.name]:
            return self.let(f"trunc {kind} {value} to {result}")
        return self.let(f"{'s' if signed else 'z'}ext {kind} {value} to {result}")


IntegerRule = Callable[[ScalarEmitter, str, bool, list[Operand]], Operand]
ComplexRule = Callable[[ScalarEmitter, str, list[Operand]], Operand]


# Integers whose quotients are exact once they are rounded toward zero, and floats that hold them:
# of two with b bits, a quotient that is not whole is at least 2^-b of itself below the next number
# that is. Processors divide vectors of floats, but integers one after the other.
_QUOTIENTS = {"i8": "float", "i16": "float", "i32": "double"}


def _divide_integers(
    emit: ScalarEmitter, kind: str, signed: bool, left: str, divisor: str, operation: str
) -> str:
    """The quotient or remainder by what is not zero, without an overflow."""
    prefix = "s" if signed else "u"
    if kind not in _QUOTIENTS:
        return emit.let(f"{prefix}{operation} {kind} {left}, {divisor}")
    number = _QUOTIENTS[kind]
    floats = [emit.let(f"{prefix}itofp {kind} {one} to {number}") for one in (left, divisor)]
    quotient = emit.let(f"fdiv {number} {floats[0]}, {floats[1]}")
    # Processors turn floats into integers of 32 bits, or of 64 if these have no sign.
    wide = "i32" if signed or kind != "i32" else "i64"
    result = emit.let(f"fptosi {number} {quotient} to {wide}")
    if wide != kind:
        result = emit.let(f"trunc {wide} {result} to {kind}")
    if operation == "div":
        return result
    product = emit.let(f"mul {kind} {result}, {divisor}")
    return emit.let(f"sub {kind} {left}, {product}")


def _safe_divide(operation: str) -> IntegerRule:
    """Division that no operands can make trap: by zero gives zero, overflow wraps."""

    def rule(emit: ScalarEmitter, kind: str, signed: bool, arguments: list[Operand]) -> Operand:
        left, right = arguments
        by_zero = emit.let(f"icmp eq {kind} {right}, 0")
        divisor = emit.let(f"select i1 {by_zero}, {kind} 1, {kind} {right}")
        overflow = None
        if signed:
            overflow = emit.let(f"icmp eq {kind} {right}, -1")
            divisor = emit.let(f"select i1 {overflow}, {kind} 1, {kind} {divisor}")
        result = _divide_integers(emit, kind, signed, str(left), divisor, operation)
        if overflow is not None:
            wrapped = emit.let(f"sub {kind} 0, {left}") if operation == "div" else "0"
            result = emit.let(f"select i1 {overflow}, {kind} {wrapped}, {kind} {result}")
        return emit.let(f"select i1 {by_zero}, {kind} 0, {kind} {result}")

    return rule


def _shift(operation: str) -> IntegerRule:
    """Shifts by any amount: at or past the width, all bits are gone (or copies of the sign)."""

    def rule(emit: ScalarEmitter, kind: str, signed: bool, arguments: list[Operand]) -> Operand:
        value, amount = arguments
        bits = int(kind[1:])
        actual = "lshr" if operation == "ashr" and not signed else operation
        inside = emit.let(f"icmp ult {kind} {amount}, {bits}")
        limit = bits - 1 if actual == "ashr" else 0
        bounded = emit.let(f"select i1 {inside}, {kind} {amount}, {kind} {limit}")
        shifted = emit.let(f"{actual} {kind} {value}, {bounded}")
        if actual == "ashr":
            return shifted
        return emit.let(f"select i1 {inside}, {kind} {shifted}, {kind} 0")

    return rule


def _negate(emit: ScalarEmitter, kind: str, signed: bool, arguments: list[Operand]) -> Operand:
    return emit.let(f"sub {kind} 0, {arguments[0]}")


def _absolute(emit: ScalarEmitter, kind: str, signed: bool, arguments: list[Operand]) -> Operand:
    if not signed:
        return arguments[0]
    negative = emit.let(f"icmp slt {kind} {arguments[0]}, 0")
    negated = emit.let(f"sub {kind} 0, {arguments[0]}")
    return emit.let(f"select i1 {negative}, {kind} {negated}, {kind} {arguments[0]}")


def _identity(emit: ScalarEmitter, kind: str, signed: bool, arguments: list[Operand]) -> Operand:
    return arguments[0]


_INTEGER_RULES: dict[str, IntegerRule] = {
    "div": _safe_divide("div"),
    "fmod": _safe_divide("rem"),
    "shift_left": _shift("shl"),
    "shift_right_arithmetic": _shift("ashr"),
    "shift_right_logical": _shift("lshr"),
    "neg": _negate,
    "abs": _absolute,
    "floor": _identity,
    "ceil": _identity,
    "trunc": _identity,
    "round": _identity,
}


def _complex_pairwise(operation: str) -> ComplexRule:
    def rule(emit: ScalarEmitter, kind: str, arguments: list[Operand]) -> Operand:
        left, right = arguments
        return tuple(emit.let(f"{operation} {kind} {left[i]}, {right[i]}") for i in (0, 1))

    return rule


def _complex_multiply(emit: ScalarEmitter, kind: str, arguments: list[Operand]) -> Operand:
    (a, b), (c, d) = arguments
    products = [emit.let(f"fmul {kind} {x}, {y}") for x, y in ((a, c), (b, d), (a, d), (b, c))]
    return (
        emit.let(f"fsub {kind} {products[0]}, {products[1]}"),
        emit.let(f"fadd {kind} {products[2]}, {products[3]}"),
    )


_ZERO = "0.0"


def _complex_divide(emit: ScalarEmitter, kind: str, arguments: list[Operand]) -> Operand:
    """Smith's method (CACM 1962) in selects: scale by the larger part of the divisor.

    By zero, the parts are divided by zero.
    """
    (a, b), (c, d) = arguments
    bits = 32 if kind == "float" else 64
    sizes = [emit.call(f"llvm.fabs.f{bits}", kind, part) for part in (c, d)]
    real_larger = emit.let(f"fcmp oge {kind} {sizes[0]}, {sizes[1]}")

    def chosen(first: str, second: str) -> str:
        return emit.let(f"select i1 {real_larger}, {kind} {first}, {kind} {second}")

    large, small = chosen(c, d), chosen(d, c)
    ratio = emit.let(f"fdiv {kind} {small}, {large}")
    scale = emit.let(f"fadd {kind} {large}, {emit.let(f'fmul {kind} {small}, {ratio}')}")
    scaled = [emit.let(f"fmul {kind} {part}, {ratio}") for part in (a, b)]
    real = emit.let(f"fadd {kind} {chosen(a, scaled[0])}, {chosen(scaled[1], b)}")
    imaginary = emit.let(f"fsub {kind} {chosen(b, scaled[1])}, {chosen(scaled[0], a)}")
    # By the sum: the larger part beside NaN is any.
    by_zero = emit.let(
        f"fcmp oeq {kind} {emit.let(f'fadd {kind} {sizes[0]}, {sizes[1]}')}, {_ZERO}"
    )

    def quotient(numerator: str, part: str) -> str:
        parted = emit.let(f"select i1 {by_zero}, {kind} {part}, {kind} {numerator}")
        divisor = emit.let(f"select i1 {by_zero}, {kind} {_ZERO}, {kind} {scale}")
        return emit.let(f"fdiv {kind} {parted}, {divisor}")

    return quotient(real, a), quotient(imaginary, b)


def _complex_negate(emit: ScalarEmitter, kind: str, arguments: list[Operand]) -> Operand:
    return tuple(emit.let(f"fneg {kind} {part}") for part in arguments[0])


def _complex_absolute(emit: ScalarEmitter, kind: str, arguments: list[Operand]) -> Operand:
    real, imaginary = arguments[0]
    return emit.call("hypotf" if kind == "float" else "hypot", kind, real, imaginary)


def _complex_comparison(comparison: str, joined: str) -> ComplexRule:
    def rule(emit: ScalarEmitter, kind: str, arguments: list[Operand]) -> Operand:
        left, right = arguments
        parts = [emit.let(f"fcmp {comparison} {kind} {left[i]}, {right[i]}") for i in (0, 1)]
        return emit.let(f"{joined} i1 {parts[0]}, {parts[1]}")

    return rule


_COMPLEX_RULES: dict[str, ComplexRule] = {
    "add": _complex_pairwise("fadd"),
    "sub": _complex_pairwise("fsub"),
    "mul": _complex_multiply,
    "div": _complex_divide,
    "neg": _complex_negate,
    "abs": _complex_absolute,
    "real": lambda emit, kind, arguments: arguments[0][0],
    "imag": lambda emit, kind, arguments: arguments[0][1],
    "eq": _complex_comparison("oeq", "and"),
    "ne": _complex_comparison("une", "or"),
}
