"""Functions beside which stands what they are for whole vectors.

The vectorizer puts the one in the place of the other; only after it are both inlined
(`Session.inlined`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

# What a module with such functions has that others do not: the mark by which `Session` knows it.
VARIANT = "vector-function-abi-variant"
PURE = "nounwind willreturn memory(none)"
# Kept out of line until the loops are vectorized.
OUT_OF_LINE = f"{PURE} noinline"
WHOLE, HALF = 16, 8  # lanes of float32 in a register of AVX-512, of AVX2


class Emitter(Protocol):
    """What such functions need of the emitter."""

    declarations: dict[str, str]
    kept: list[str]

    def let(self, text: str) -> str: ...


def call(emit: Emitter, name: str, argument: str, lanes: Iterable[int]) -> str:
    """A call of `name`, which has a variant `name_N` for each N of `lanes`; it gives a float32."""
    variants = ",".join(f"_ZGV_LLVM_N{count}v_{name}({name}_{count})" for count in lanes)
    marked = f' {PURE} "{VARIANT}"="{variants}"' if variants else ""
    return emit.let(f"call float @{name}({argument}){marked}")


def widened(value: str, element: str) -> str:
    """Half a register of AVX-512 as a whole one, whose second half does not matter."""
    places = ", ".join(f"i32 {lane % HALF}" for lane in range(WHOLE))
    half = f"<{HALF} x {element}>"
    return f"shufflevector {half} {value}, {half} poison, <{WHOLE} x i32> <{places}>"


def halved(value: str, element: str) -> str:
    """The first half of a register of AVX-512."""
    places = ", ".join(f"i32 {lane}" for lane in range(HALF))
    whole = f"<{WHOLE} x {element}>"
    return f"shufflevector {whole} {value}, {whole} poison, <{HALF} x i32> <{places}>"
