"""Rough inverses and inverse roots, for loops that LLVM vectorizes.

AVX-512 has instructions for them, LLVM no operations. So an estimate is a call of a function,
beside which stands what it is for whole vectors (`variants`). All of them use the one
instruction, so that an element's bits do not depend on its neighbours. Processors without it take
the expansions of `aten.loops.math.estimate`.
"""

from __future__ import annotations

from aten.backends.cpu import variants
from aten.backends.cpu.variants import HALF, OUT_OF_LINE, WHOLE, Emitter

_INSTRUCTIONS = {
    "reciprocal_estimate": "llvm.x86.avx512.rcp14.ps.512",
    "rsqrt_estimate": "llvm.x86.avx512.rsqrt14.ps.512",
}
ESTIMATES = frozenset(_INSTRUCTIONS)


def estimate(emit: Emitter, name: str, x: str) -> str:
    """The primitive `name` of a float32, to 2^-14."""
    if name not in emit.declarations:
        _declare(emit, name, _INSTRUCTIONS[name])
    return variants.call(emit, name, f"float {x}", (WHOLE, HALF))


def _declare(emit: Emitter, name: str, instruction: str) -> None:
    """Functions that put one element, or 8, into a register of 16."""
    whole, half = f"<{WHOLE} x float>", f"<{HALF} x float>"
    emit.declarations[instruction] = f"declare {whole} @{instruction}({whole}, {whole}, i16)"
    widen_and_narrow = {
        ("float", name): (
            f"insertelement {whole} zeroinitializer, float %x, i32 0",
            f"extractelement {whole} %all, i32 0",
        ),
        (half, f"{name}_{HALF}"): (
            variants.widened("%x", "float"),
            variants.halved("%all", "float"),
        ),
        (whole, f"{name}_{WHOLE}"): (
            f"bitcast {whole} %x to {whole}",
            f"bitcast {whole} %all to {whole}",
        ),
    }
    functions = []
    for (kind, symbol), (widen, narrow) in widen_and_narrow.items():
        functions.append(
            f"define private {kind} @{symbol}({kind} %x) {OUT_OF_LINE} {{\n"
            f"  %wide = {widen}\n"
            f"  %all = call {whole} @{instruction}"
            f"({whole} %wide, {whole} zeroinitializer, i16 -1)\n"
            f"  %result = {narrow}\n"
            f"  ret {kind} %result\n}}"
        )
        if kind != "float":
            emit.kept.append(f"@{symbol}")
    emit.declarations[name] = "\n".join(functions)
