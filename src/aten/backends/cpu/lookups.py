"""Lookups in tables of constants, for loops that LLVM vectorizes.

A lookup is a call of a function that loads one element, beside which stands what it is for a whole
vector (`variants`): a permutation of registers, where the processor has one (AVX2 and AVX-512),
which takes a fraction of the time of as many loads.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten.backends.cpu import variants
from aten.backends.cpu.variants import HALF, OUT_OF_LINE, PURE, WHOLE, Emitter


def lookup(
    emit: Emitter, index: str, table: Sequence[float], literals: Sequence[str], vector_bytes: int
) -> str:
    """The element of `table` at `index`, of which only as many bits count as the table needs."""
    name = _function_of(emit, table, literals, vector_bytes)
    return variants.call(emit, "float", name, f"i32 {index}", _lanes_of(vector_bytes))


def _lanes_of(vector_bytes: int) -> tuple[int, ...]:
    return {64: (WHOLE, HALF), 32: (HALF,)}.get(vector_bytes, ())


def _function_of(
    emit: Emitter, table: Sequence[float], literals: Sequence[str], vector_bytes: int
) -> str:
    """The name of the function for `table`, which is written where it is new."""
    key = f"table {tuple(table)!r}"
    if key in emit.declarations:
        return emit.declarations[key].partition("\n")[0].removeprefix("; ")
    name = f"lookup{sum(one.startswith('table ') for one in emit.declarations)}"
    vectors = _lanes_of(vector_bytes)
    parts = [f"; {name}", _scalar(name, literals, OUT_OF_LINE if vectors else PURE)]
    for lanes in vectors:
        parts.append(_vector(emit, name, lanes, literals, vector_bytes))
        emit.kept.append(f"@{name}_{lanes}")
    emit.declarations[key] = "\n".join(parts)
    return name


def _scalar(name: str, literals: Sequence[str], attributes: str) -> str:
    count = len(literals)
    listed = ", ".join(f"float {one}" for one in literals)
    return (
        f"@{name}_table = private constant [{count} x float] [{listed}], align 64\n"
        f"define private float @{name}(i32 %index) {attributes} {{\n"
        f"  %place = and i32 %index, {count - 1}\n"
        f"  %address = getelementptr inbounds [{count} x float], ptr @{name}_table, "
        "i32 0, i32 %place\n"
        "  %value = load float, ptr %address, align 4\n"
        "  ret float %value\n}"
    )


def _vector(
    emit: Emitter, name: str, lanes: int, literals: Sequence[str], vector_bytes: int
) -> str:
    """The lookup for as many lanes: of AVX-512 in registers of 16, of AVX2 in registers of 8."""
    if vector_bytes == 64:
        lines, result = _permuted_by_512(emit, lanes, literals)
    else:
        lines, result = _permuted_by_256(emit, literals)
    kind = f"<{lanes} x float>"
    head = f"define private {kind} @{name}_{lanes}(<{lanes} x i32> %index) {OUT_OF_LINE} {{"
    return "\n".join([head, *lines, f"  ret {kind} {result}", "}"])


def _constants(literals: Sequence[str], first: int, lanes: int) -> str:
    """A register of the table; a shorter table begins again."""
    listed = (literals[(first + lane) % len(literals)] for lane in range(lanes))
    return f"<{', '.join(f'float {one}' for one in listed)}>"


def _permuted_by_512(emit: Emitter, lanes: int, literals: Sequence[str]) -> tuple[list[str], str]:
    """Of one or two registers; eight lanes are half of such a permutation."""
    function = "llvm.x86.avx512.vpermi2var.ps.512"
    emit.declarations[function] = (
        f"declare <16 x float> @{function}(<16 x float>, <16 x i32>, <16 x float>)"
    )
    low, high = (_constants(literals, first, WHOLE) for first in (0, WHOLE))
    lines, index = [], "%index"
    if lanes == HALF:
        lines.append(f"  %wide = {variants.widened(index, 'i32')}")
        index = "%wide"
    lines.append(
        f"  %all = call <16 x float> @{function}(<16 x float> {low}, <16 x i32> {index}, "
        f"<16 x float> {high})"
    )
    if lanes == WHOLE:
        return lines, "%all"
    lines.append(f"  %half = {variants.halved('%all', 'float')}")
    return lines, "%half"


def _permuted_by_256(emit: Emitter, literals: Sequence[str]) -> tuple[list[str], str]:
    """Of every eight elements of the table, then of every two results by a further bit."""
    function = "llvm.x86.avx2.permps"
    emit.declarations[function] = f"declare <8 x float> @{function}(<8 x float>, <8 x i32>)"
    lines, found = [], []
    for first in range(0, len(literals), HALF):
        found.append(f"%part{first}")
        lines.append(
            f"  %part{first} = call <8 x float> @{function}(<8 x float> "
            f"{_constants(literals, first, HALF)}, <8 x i32> %index)"
        )
    bit = HALF
    while len(found) > 1:
        splat = ", ".join([f"i32 {bit}"] * HALF)
        zeros = "zeroinitializer"
        lines += [
            f"  %bit{bit} = and <8 x i32> %index, <{splat}>",
            f"  %upper{bit} = icmp ne <8 x i32> %bit{bit}, {zeros}",
        ]
        chosen = []
        for place in range(0, len(found), 2):
            name = f"%of{bit}.{place}"
            lines.append(
                f"  {name} = select <8 x i1> %upper{bit}, <8 x float> {found[place + 1]}, "
                f"<8 x float> {found[place]}"
            )
            chosen.append(name)
        found, bit = chosen, 2 * bit
    return lines, found[0]
