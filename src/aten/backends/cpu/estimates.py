"""Rough inverse roots, for loops that LLVM vectorizes.

AVX-512 has an instruction for them, LLVM no operation. So an estimate is a call of a function,
beside which stands what it is for whole vectors, as with `lookups`. All of them use the one
instruction, so that an element's bits do not depend on its neighbours. Processors without it take
the expansion of `aten.loops.math.estimate`.
"""

from __future__ import annotations

from aten.backends.cpu.lookups import VARIANT, Emitter

_INSTRUCTION = "llvm.x86.avx512.rsqrt14.ps.512"
_PURE = "nounwind willreturn memory(none)"
_LANES = (16, 8)


def rsqrt_estimate(emit: Emitter, x: str) -> str:
    """An inverse root of a positive normal float32, to 2^-14."""
    name = "rsqrt_estimate"
    if name not in emit.declarations:
        _declare(emit, name)
    variants = ",".join(f"_ZGV_LLVM_N{lanes}v_{name}({name}_{lanes})" for lanes in _LANES)
    return emit.let(f'call float @{name}(float {x}) {_PURE} "{VARIANT}"="{variants}"')


def _declare(emit: Emitter, name: str) -> None:
    """Functions that put an element, or 8, into a register of 16."""
    kind = "<16 x float>"
    emit.declarations[_INSTRUCTION] = f"declare {kind} @{_INSTRUCTION}({kind}, {kind}, i16)"
    call = f"call {kind} @{_INSTRUCTION}({kind} %wide, {kind} zeroinitializer, i16 -1)"
    widened = ", ".join(f"i32 {lane % 8}" for lane in range(16))
    halved = ", ".join(f"i32 {lane}" for lane in range(8))
    bodies = {
        "float": (
            f"  %wide = insertelement {kind} zeroinitializer, float %x, i32 0\n"
            f"  %all = {call}\n  %result = extractelement {kind} %all, i32 0"
        ),
        "<8 x float>": (
            f"  %wide = shufflevector <8 x float> %x, <8 x float> poison, <16 x i32> <{widened}>\n"
            f"  %all = {call}\n"
            f"  %result = shufflevector {kind} %all, {kind} poison, <8 x i32> <{halved}>"
        ),
        kind: f"  %result = {call.replace('%wide', '%x')}",
    }
    symbols = {"float": name, "<8 x float>": f"{name}_8", kind: f"{name}_16"}
    emit.declarations[name] = "\n".join(
        f"define private {one} @{symbols[one]}({one} %x) {_PURE} noinline {{\n"
        f"{body}\n  ret {one} %result\n}}"
        for one, body in bodies.items()
    )
    emit.kept += [f"@{symbol}" for one, symbol in symbols.items() if one != "float"]
