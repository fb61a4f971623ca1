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


def call(emit: Emitter, kind: str, name: str, argument: str, lanes: Iterable[int]) -> str:
    """A call of `name`, which has a variant `name_N` for each N of `lanes` and gives a `kind`."""
    variants = ",".join(f"_ZGV_LLVM_N{count}v_{name}({name}_{count})" for count in lanes)
    marked = f' {PURE} "{VARIANT}"="{variants}"' if variants else ""
    return emit.let(f"call {kind} @{name}({argument}){marked}")


def widened(value: str, element: str, lanes: int = HALF) -> str:
    """So many lanes as twice as many, of which the second half does not matter."""
    places = ", ".join(f"i32 {lane % lanes}" for lane in range(2 * lanes))
    half = f"<{lanes} x {element}>"
    return f"shufflevector {half} {value}, {half} poison, <{2 * lanes} x i32> <{places}>"


def halved(value: str, element: str, lanes: int = HALF, first: int = 0) -> str:
    """So many of twice as many lanes, from the `first` one on."""
    places = ", ".join(f"i32 {first + lane}" for lane in range(lanes))
    whole = f"<{2 * lanes} x {element}>"
    return f"shufflevector {whole} {value}, {whole} poison, <{lanes} x i32> <{places}>"


def joined(low: str, high: str, element: str, lanes: int) -> str:
    """Two times so many lanes as one vector."""
    places = ", ".join(f"i32 {lane}" for lane in range(2 * lanes))
    half = f"<{lanes} x {element}>"
    return f"shufflevector {half} {low}, {half} {high}, <{2 * lanes} x i32> <{places}>"
