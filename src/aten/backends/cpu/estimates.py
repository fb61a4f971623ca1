"""Rough inverses and inverse roots, for loops that LLVM vectorizes.

AVX-512 has instructions for them, LLVM no operations. So an estimate is a call of a function,
beside which stands what it is for whole vectors (`variants`). All of them use the one
instruction, so that an element's bits do not depend on its neighbours. Processors without it take
the expansions of `aten.loops.math.estimate`.
"""

from __future__ import annotations

from dataclasses import dataclass

from aten._core.base.dtypes import dtype
from aten.backends.cpu import variants
from aten.backends.cpu.variants import OUT_OF_LINE, Emitter

_INSTRUCTIONS = {"reciprocal_estimate": "rcp14", "rsqrt_estimate": "rsqrt14"}
ESTIMATES = frozenset(_INSTRUCTIONS)
# Of a loop that has float32 beside what is estimated.
_MOST_LANES = 16


@dataclass(frozen=True)
class _Register:
    """What a register of AVX-512 holds."""

    element: str
    lanes: int
    ending: str

    @property
    def counts(self) -> tuple[int, ...]:
        """Lanes of the vectors that loops have: halves of a register, whole ones, pairs."""
        counts = (2 * self.lanes, self.lanes, self.lanes // 2)
        return tuple(count for count in counts if count <= _MOST_LANES)


_REGISTERS = {
    "float32": _Register("float", 16, "ps"),
    "float64": _Register("double", 8, "pd"),
}


def estimate(emit: Emitter, primitive: str, kind: dtype, x: str) -> str:
    """The primitive of a float32 or float64, to 2^-14."""
    register = _REGISTERS[kind.name]
    name = f"{primitive}_{register.ending}"
    if name not in emit.declarations:
        _declare(emit, name, _INSTRUCTIONS[primitive], register)
    return variants.call(emit, register.element, name, f"{register.element} {x}", register.counts)


def _declare(emit: Emitter, name: str, instruction: str, register: _Register) -> None:
    """Functions for one element, and for as many as a vector may have."""
    element, lanes = register.element, register.lanes
    whole = f"<{lanes} x {element}>"
    function = f"llvm.x86.avx512.{instruction}.{register.ending}.512"
    emit.declarations[function] = f"declare {whole} @{function}({whole}, {whole}, i{lanes})"

    def estimated(x: str) -> str:
        return f"call {whole} @{function}({whole} {x}, {whole} zeroinitializer, i{lanes} -1)"

    half = lanes // 2
    bodies = {
        1: [
            f"%wide = insertelement {whole} zeroinitializer, {element} %x, i32 0",
            f"%all = {estimated('%wide')}",
            f"%result = extractelement {whole} %all, i32 0",
        ],
        half: [
            f"%wide = {variants.widened('%x', element, half)}",
            f"%all = {estimated('%wide')}",
            f"%result = {variants.halved('%all', element, half)}",
        ],
        lanes: [f"%result = {estimated('%x')}"],
        2 * lanes: [
            f"%low = {variants.halved('%x', element, lanes)}",
            f"%high = {variants.halved('%x', element, lanes, lanes)}",
            f"%of_low = {estimated('%low')}",
            f"%of_high = {estimated('%high')}",
            f"%result = {variants.joined('%of_low', '%of_high', element, lanes)}",
        ],
    }
    functions = []
    for count in (1, *register.counts):
        kind = element if count == 1 else f"<{count} x {element}>"
        symbol = name if count == 1 else f"{name}_{count}"
        body = "\n  ".join([*bodies[count], f"ret {kind} %result"])
        functions.append(
            f"define private {kind} @{symbol}({kind} %x) {OUT_OF_LINE} {{\n  {body}\n}}"
        )
        if count > 1:
            emit.kept.append(f"@{symbol}")
    emit.declarations[name] = "\n".join(functions)
