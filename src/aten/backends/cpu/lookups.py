"""LLVM IR for lookups in small tables.

Where vectors have 64 bytes, a table of 16 or 32 float32 is one or two registers, and one
instruction permutes it by a vector of indices. The vectorizer does not know how to get there from
loads. So the loops call a function that is declared only, with variants for vectors, and the
definitions of those it chose are linked after the passes and inlined. Elsewhere a lookup is a
load.
"""

from __future__ import annotations

from aten.backends.cpu.jit import LINKED, session

# From so many bytes of a vector on tables are permuted.
_PERMUTING = 64
# Declarations without a use are dropped before the vectorizer looks for them, but for these.
_KEPT = (
    '@llvm.compiler.used = appending global [{count} x ptr] [{names}], section "llvm.metadata"\n'
)
_PERMUTE = {
    16: "llvm.x86.avx512.permvar.sf.512",
    32: "llvm.x86.avx512.vpermi2var.ps.512",
}
_LANES = (8, 16)


class Lookups:
    """The tables of one module, and the text that defines them."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, ...], str] = {}

    def call(self, entries: tuple[str, ...]) -> tuple[str, str]:
        """What to write before the index and after it, for an entry of a table of literals."""
        name = self.tables.setdefault(entries, f"kernel_lookup{len(self.tables)}")
        variants = ",".join(f"_ZGV_LLVM_N{lanes}v_{name}({name}.{lanes})" for lanes in _LANES)
        return (
            f"call float @{name}(i32 ",
            f') nounwind willreturn memory(none) "vector-function-abi-variant"="{variants}"',
        )

    def place(self, entries: tuple[str, ...]) -> str:
        """The type and the address of a table in memory."""
        name = self.tables.setdefault(entries, f"kernel_lookup{len(self.tables)}")
        return f"[{len(entries)} x float], ptr @{name}"

    def declarations(self) -> str:
        """What goes into the module, and what is linked to it later, if anything."""
        if not self.tables:
            return ""
        if not permutes():
            return "".join(_table(name, entries) for entries, name in self.tables.items())
        names = [f"{name}.{lanes}" for name in self.tables.values() for lanes in _LANES]
        used = ", ".join(f"ptr @{name}" for name in names)
        lines = [_KEPT.format(count=len(names), names=used)]
        definitions = []
        for entries, name in self.tables.items():
            lines.append(f"declare float @{name}(i32) nounwind willreturn memory(none)\n")
            lines += [f"declare <{n} x float> @{name}.{n}(<{n} x i32>)\n" for n in _LANES]
            definitions.append(_definitions(name, entries))
        return "".join([*lines, LINKED, *definitions, *_PERMUTING_DECLARATIONS])


def permutes() -> bool:
    """Whether this processor permutes tables."""
    return session().vector_bytes >= _PERMUTING and "x86" in session().triple


def _table(name: str, entries: tuple[str, ...]) -> str:
    listed = ", ".join(f"float {entry}" for entry in entries)
    return f"@{name} = private unnamed_addr constant [{len(entries)} x float] [{listed}]\n"


def _definitions(name: str, entries: tuple[str, ...]) -> str:
    """The function for one index, and those for vectors of them."""
    count = len(entries)
    halves = [
        "<16 x float> <" + ", ".join(f"float {one}" for one in entries[i : i + 16]) + ">"
        for i in range(0, count, 16)
    ]
    index = "<16 x i32> %i"
    arguments = f"{halves[0]}, {index}" + (f", {halves[1]}" if count > 16 else "")
    widened = ", ".join(f"i32 {min(lane, 8)}" for lane in range(16))
    lower = ", ".join(f"i32 {lane}" for lane in range(8))
    return f"""{_table(name + ".table", entries)}
define linkonce_odr float @{name}(i32 %i) alwaysinline {{
  %low = and i32 %i, {count - 1}
  %place = getelementptr [{count} x float], ptr @{name}.table, i32 0, i32 %low
  %entry = load float, ptr %place
  ret float %entry
}}
define linkonce_odr <16 x float> @{name}.16(<16 x i32> %i) alwaysinline {{
  %entries = call <16 x float> @{_PERMUTE[count]}({arguments})
  ret <16 x float> %entries
}}
define linkonce_odr <8 x float> @{name}.8(<8 x i32> %half) alwaysinline {{
  %i = shufflevector <8 x i32> %half, <8 x i32> zeroinitializer, <16 x i32> <{widened}>
  %wide = call <16 x float> @{_PERMUTE[count]}({arguments})
  %entries = shufflevector <16 x float> %wide, <16 x float> poison, <8 x i32> <{lower}>
  ret <8 x float> %entries
}}
"""


_PERMUTING_DECLARATIONS = [
    f"declare <16 x float> @{_PERMUTE[16]}(<16 x float>, <16 x i32>)\n",
    f"declare <16 x float> @{_PERMUTE[32]}(<16 x float>, <16 x i32>, <16 x float>)\n",
]
