"""The lanes of a vector folded into one number, in the same order on every processor.

LLVM leaves the order of a fold that may be reordered to each processor: x86 adds the upper half of
a register to the lower one until one lane is left, others add neighbours, and sums differ in their
last bit. Elsewhere than on x86 the halves are written out.
"""

from __future__ import annotations

import re

_FOLD = re.compile(
    r"^  (?P<name>%\S+) = (?:tail )?call reassoc \w+ @llvm\.vector\.reduce\.(?P<fold>fadd|fmul)\."
    r"v(?P<count>\d+)\w+\((?P<kind>\w+) \S+, <\d+ x \w+> (?P<vector>%\S+)\)",
    re.MULTILINE,
)


def folded_by_halves(text: str) -> str:
    """LLVM IR with lanes i and i + n/2 combined first, then those n/4 apart, down to neighbours."""
    return _FOLD.sub(_halves, text)


def _halves(found: re.Match[str]) -> str:
    name, fold, kind, vector = found["name"], found["fold"], found["kind"], found["vector"]
    stem = f"%halves.{name[1:]}"
    lines = []
    count = int(found["count"])
    while count > 1:
        half = count // 2
        for part, first in ("low", 0), ("high", half):
            lanes = ", ".join(f"i32 {lane}" for lane in range(first, first + half))
            lines.append(
                f"{stem}.{part}{half} = shufflevector <{count} x {kind}> {vector}, "
                f"<{count} x {kind}> poison, <{half} x i32> <{lanes}>"
            )
        made = f"{stem}.{half}"
        lines.append(f"{made} = {fold} <{half} x {kind}> {stem}.low{half}, {stem}.high{half}")
        vector, count = made, half
    lines.append(f"{name} = extractelement <1 x {kind}> {vector}, i32 0")
    return "\n".join(f"  {line}" for line in lines)
