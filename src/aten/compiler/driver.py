"""The function of a shared library, as LLVM IR: launches one after the other.

A kernel walks two dimensions; what has more is a loop around its calls. Kernels get an address for
each operand, and read sizes and strides from constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from aten.compiler.tracing_device import Buffer, Traced

_WEIGHTS = "aten_weights"
_WALKED = 2


class Place(NamedTuple):
    """Where a buffer is: an argument's name, `workspace` or `aten_weights`, and bytes behind it."""

    base: str
    offset: int


def driver(
    name: str,
    launches: Sequence[Traced],
    places: Mapping[Buffer, Place],
    arguments: Sequence[str],
    symbols: Mapping[str, str],
) -> str:
    """A module with `NAME_run`, whose arguments are pointers: these, and the workspace."""
    constants: dict[tuple[int, ...], str] = {}
    functions, calls = [], []
    given = ", ".join(f"ptr %{one}" for one in (*arguments, "workspace"))
    for number, launch in enumerate(launches):
        if 0 in launch.sizes:
            continue
        functions.append(
            f"define internal void @step_{number}({given}) noinline {{\n"
            + _step(
                launch,
                [(places[one], offset) for one, offset in launch.places],
                constants,
                symbols[launch.program],
            )
            + "}\n"
        )
        calls.append(f"  call void @step_{number}({given})\n")
    kernels = sorted({symbols[one.program] for one in launches})
    declared = [f"declare hidden void @{one}(ptr, i64, ptr, i64, ptr, ptr)\n" for one in kernels]
    arrays = [
        f"@{word} = private unnamed_addr constant [{len(numbers)} x i64] "
        f"[{', '.join(f'i64 {one}' for one in numbers)}], align 8\n"
        for numbers, word in constants.items()
    ]
    entry = f"define void @{name}_run({given}) {{\n{''.join(calls)}  ret void\n}}\n"
    weights = f"@{_WEIGHTS} = external hidden global i8\n"
    return "".join([weights, *arrays, *declared, *functions, entry])


def _step(
    launch: Traced,
    operands: Sequence[tuple[Place, int]],
    constants: dict[tuple[int, ...], str],
    kernel: str,
) -> str:
    count = len(operands)
    sizes = [*launch.sizes, *[1] * (_WALKED - len(launch.sizes))]
    strides = [tuple(one) for one in launch.strides]
    strides += [(0,) * count] * (_WALKED - len(strides))
    outer = prod(sizes[_WALKED:])

    def constant(numbers: Sequence[int]) -> str:
        key = tuple(numbers) or (0,)
        return f"@{constants.setdefault(key, f'numbers_{len(constants)}')}"

    lines = [f"  %data = alloca [{count} x ptr], align 16"]
    for at, (place, offset) in enumerate(operands):
        base = f"@{place.base}" if place.base == _WEIGHTS else f"%{place.base}"
        begin = place.offset + offset
        lines.append(f"  %begin_{at} = getelementptr i8, ptr {base}, i64 {begin}")
        lines.append(f"  %slot_{at} = getelementptr ptr, ptr %data, i64 {at}")
    lines += ["  br label %walk", "walk:"]
    lines.append("  %point = phi i64 [ 0, %0 ], [ %next, %walk ]")
    total = {at: f"%begin_{at}" for at in range(count)}
    before = 1
    for dim in range(_WALKED, len(sizes)):
        lines.append(f"  %whole_{dim} = udiv i64 %point, {before}")
        lines.append(f"  %index_{dim} = urem i64 %whole_{dim}, {sizes[dim]}")
        before *= sizes[dim]
        for at in range(count):
            lines.append(f"  %step_{dim}_{at} = mul i64 %index_{dim}, {strides[dim][at]}")
            lines.append(
                f"  %at_{dim}_{at} = getelementptr i8, ptr {total[at]}, i64 %step_{dim}_{at}"
            )
            total[at] = f"%at_{dim}_{at}"
    lines += [f"  store ptr {total[at]}, ptr %slot_{at}" for at in range(count)]
    lines.append(
        f"  call void @{kernel}(ptr %data, i64 {sizes[0]}, ptr {constant(strides[0])}, "
        f"i64 {sizes[1]}, ptr {constant(strides[1])}, ptr {constant(launch.reduced)})"
    )
    lines += [
        "  %next = add i64 %point, 1",
        f"  %more = icmp ult i64 %next, {outer}",
        "  br i1 %more, label %walk, label %done",
        "done:",
        "  ret void",
        "",
    ]
    return "\n".join(lines)
