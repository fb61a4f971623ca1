"""LLVM IR that reads and rounds 8-bit floats; `aten._core.base.float8` says what the formats are.

In memory and in registers they are i8. Reading looks the float32 up in a table of 256.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from aten._core.base.dtypes import dtype
from aten._core.base.float8 import EXPONENTS, FORMATS, Float8, decode

if TYPE_CHECKING:
    from aten.backends.cpu.scalar import ScalarEmitter

_SIGNLESS = 0x7FFFFFFF
_INFINITY = 0x7F800000


def widen(emit: ScalarEmitter, code: str, source: dtype) -> str:
    """The float32 that `code` stands for."""
    table = f"aten_{source.name}"
    numbers = ", ".join(f"i32 {_bits_of(decode(number, source.name))}" for number in range(256))
    emit.declarations[table] = (
        f"@{table} = private unnamed_addr constant [256 x i32] [{numbers}], align 4"
    )
    index = emit.let(f"zext i8 {code} to i64")
    place = emit.let(f"getelementptr inbounds i32, ptr @{table}, i64 {index}")
    return emit.let(f"bitcast i32 {emit.let(f'load i32, ptr {place}, align 4')} to float")


def _bits_of(number: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


def narrow(emit: ScalarEmitter, value: str, target: dtype) -> str:
    """A float32 rounded to the nearest number, ties to even."""
    bits = emit.let(f"bitcast float {value} to i32")
    magnitude = emit.let(f"and i32 {bits}, {_SIGNLESS}")
    if target.name == EXPONENTS:
        return emit.let(f"trunc i32 {_exponent(emit, magnitude)} to i8")
    form = FORMATS[target.name]
    code = _rounded(emit, magnitude, form)
    beyond = emit.let(f"icmp ugt i32 {code}, {form.largest}")
    code = emit.let(f"select i1 {beyond}, i32 {form.overflow}, i32 {code}")
    not_a_number = emit.let(f"icmp ugt i32 {magnitude}, {_INFINITY}")
    code = emit.let(f"select i1 {not_a_number}, i32 {form.nan}, i32 {code}")
    sign = emit.let(f"and i32 {emit.let(f'lshr i32 {bits}, 24')}, 128")
    if form.unsigned_zero:
        has_sign = emit.let(f"icmp ult i32 {emit.let(f'sub i32 {code}, 1')}, 127")
        sign = emit.let(f"select i1 {has_sign}, i32 {sign}, i32 0")
    return emit.let(f"trunc i32 {emit.let(f'or i32 {code}, {sign}')} to i8")


def _rounded(emit: ScalarEmitter, magnitude: str, form: Float8) -> str:
    """Normal numbers by dropping bits; below them, float32's own addition rounds.

    Added to a number so large that its last bit is worth the smallest code, others leave just their
    code in its last bits.
    """
    dropped = 23 - form.mantissa
    odd = emit.let(f"and i32 {emit.let(f'lshr i32 {magnitude}, {dropped}')}, 1")
    raised = emit.let(f"add i32 {magnitude}, {(1 << dropped - 1) - 1}")
    shifted = emit.let(f"lshr i32 {emit.let(f'add i32 {raised}, {odd}')}, {dropped}")
    normal = emit.let(f"sub i32 {shifted}, {127 - form.bias << form.mantissa}")
    large = 127 + 1 - form.bias - form.mantissa + 23 << 23
    large_float = emit.let(f"bitcast i32 {large} to float")
    number = emit.let(f"bitcast i32 {magnitude} to float")
    total = emit.let(f"fadd float {number}, {large_float}")
    small = emit.let(f"sub i32 {emit.let(f'bitcast float {total} to i32')}, {large}")
    is_small = emit.let(f"icmp ult i32 {magnitude}, {128 - form.bias << 23}")
    return emit.let(f"select i1 {is_small}, i32 {small}, i32 {normal}")


def _exponent(emit: ScalarEmitter, magnitude: str) -> str:
    """The middle between two powers goes up, but for the one between the two smallest."""
    exponent = emit.let(f"lshr i32 {magnitude}, 23")
    fraction = emit.let(f"and i32 {magnitude}, {0x7FFFFF}")
    normal = emit.let(f"icmp ne i32 {exponent}, 0")
    limit = emit.let(f"select i1 {normal}, i32 {0x3FFFFF}, i32 {0x400000}")
    up = emit.let(f"zext i1 {emit.let(f'icmp ugt i32 {fraction}, {limit}')} to i32")
    code = emit.let(f"add i32 {exponent}, {up}")
    infinite = emit.let(f"icmp uge i32 {magnitude}, {_INFINITY}")
    return emit.let(f"select i1 {infinite}, i32 255, i32 {code}")
