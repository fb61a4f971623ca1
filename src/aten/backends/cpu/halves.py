"""float16 to float32 and back in integer operations, for processors without instructions for it."""

from __future__ import annotations

from typing import Protocol

# As bits of float32: infinity, the exponents' difference as a factor (2^112), the least number that
# float16 has no room for, its least normal number, and a half, whose last place is float16's
# smallest number.
_INFINITY = 0x7F800000
_SCALE = "0x46F0000000000000"
_TOO_LARGE = 0x47800000
_LEAST_NORMAL = 0x38800000
_HALF = 0x3F000000
# Takes the exponents' difference away and adds what rounds up behind an even place.
_REBIASED = (0xFFF - (112 << 23)) % (1 << 32)


class Emitter(Protocol):
    """What this needs of the emitter."""

    def let(self, text: str) -> str: ...


def widen(emit: Emitter, value: str) -> str:
    """The float32 that a float16 is. A number's bits, moved, are it but for the exponents' bias."""
    let = emit.let
    bits = let(f"zext i16 {let(f'bitcast half {value} to i16')} to i32")
    moved = let(f"shl i32 {let(f'and i32 {bits}, 32767')}, 13")
    scaled = let(f"fmul float {let(f'bitcast i32 {moved} to float')}, {_SCALE}")
    number = let(f"bitcast float {scaled} to i32")
    is_number = let(f"icmp ult i32 {let(f'and i32 {bits}, 32767')}, 31744")
    # One that is no number is a quiet one.
    quiet = let(f"select i1 {let(f'icmp eq i32 {moved}, {31744 << 13}')}, i32 0, i32 {1 << 22}")
    extreme = let(f"or i32 {let(f'or i32 {moved}, {_INFINITY}')}, {quiet}")
    chosen = let(f"select i1 {is_number}, i32 {number}, i32 {extreme}")
    sign = let(f"shl i32 {let(f'and i32 {bits}, 32768')}, 16")
    return let(f"bitcast i32 {let(f'or i32 {chosen}, {sign}')} to float")


def narrow(emit: Emitter, value: str) -> str:
    """The float16 next to a float32, the even one of two."""
    let = emit.let
    bits = let(f"bitcast float {value} to i32")
    size = let(f"and i32 {bits}, 2147483647")
    odd = let(f"and i32 {let(f'lshr i32 {size}, 13')}, 1")
    rebiased = let(f"add i32 {size}, {_REBIASED}")
    normal = let(f"lshr i32 {let(f'add i32 {rebiased}, {odd}')}, 13")
    added = let(f"fadd float {let(f'bitcast i32 {size} to float')}, 5.000000e-01")
    small = let(f"sub i32 {let(f'bitcast float {added} to i32')}, {_HALF}")
    payload = let(f"and i32 {let(f'lshr i32 {size}, 13')}, 1023")
    is_number = let(f"icmp ule i32 {size}, {_INFINITY}")
    extreme = let(f"select i1 {is_number}, i32 31744, i32 {let(f'or i32 {payload}, 32256')}")
    is_small = let(f"icmp ult i32 {size}, {_LEAST_NORMAL}")
    chosen = let(f"select i1 {is_small}, i32 {small}, i32 {normal}")
    is_large = let(f"icmp uge i32 {size}, {_TOO_LARGE}")
    rounded = let(f"select i1 {is_large}, i32 {extreme}, i32 {chosen}")
    sign = let(f"and i32 {let(f'lshr i32 {bits}, 16')}, 32768")
    short = let(f"trunc i32 {let(f'or i32 {rounded}, {sign}')} to i16")
    return let(f"bitcast i16 {short} to half")
