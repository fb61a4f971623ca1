"""Values and kernels of programs as files keep them: `aten.compiler.files.frozen` reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten._core.base.keys import DispatchKey
from aten.backends.cpu import brought
from aten.backends.plans import Parts
from aten.backends.structured import loop_backend
from aten.backends.terms import LaunchTerms
from aten.compiler.files.frozen import require_inside
from aten.compiler.fusing import FusedGroup
from aten.compiler.rewrites.rewriting import described
from aten.loops.program import Program

Written = dict[str, Any]


class UnwritableProgramError(RuntimeError):
    """The program has something in it that files do not keep."""


def written_tensor(element: dtype, sizes: Sequence[int], strides: Sequence[int]) -> list[Any]:
    return [element.name, list(sizes), list(strides)]


def written_group(group: FusedGroup) -> Written:
    """A group with its plan, and each of its kernels by the hash of its program's text."""
    backend = loop_backend(DispatchKey.CPU)
    programs: list[Program] = []

    def generate(program: Program) -> tuple[Any, Any]:
        backend.generate(program)
        programs.append(program)
        return brought.digest(str(program)).hex(), None

    def launch(terms: LaunchTerms, kernel: str, owner: None) -> Written:
        program = programs[-1]
        rank = program.reduced_rank
        first = 1 + rank * (1 + len(terms.sources)) if rank else 0
        elements = _elements(program)
        return {
            "kernel": kernel,
            "sizes": list(terms.sizes),
            "strides": [list(one) for one in terms.strides],
            "reduced": list(terms.reduced[:first]),
            "numbers": list(terms.reduced[first:]) if elements else [],
            "elements": elements,
            "rank": rank,
            "sources": list(terms.sources),
            "offsets": list(terms.offsets),
            "work": terms.work,
        }

    tensors = [described(one.meta["val"]) for one in group.inputs]

    def plan(
        launches: list[Written],
        outputs: Sequence[Any],
        temporaries: Sequence[Any],
        inputs: int,
        single: bool,
        *_: Any,
    ) -> Written:
        operands = [(one.dtype, tuple(one.shape), one.stride()) for one in tensors]
        for one in launches:
            require_inside(one, [*operands, *outputs, *temporaries])
        return {
            "label": group.label,
            "operands": [written_tensor(*one) for one in operands],
            "outputs": [written_tensor(*one) for one in outputs],
            "temporaries": [written_tensor(*one) for one in temporaries],
            "single": single,
            "launches": launches,
        }

    try:
        return group.planned(tensors, generate, Parts(plan, launch))  # type: ignore[no-any-return]
    except (ValueError, IndexError) as error:
        raise UnwritableProgramError(f"{group.label}: {error}") from None


def _elements(program: Program) -> list[list[int]]:
    """The operands that are met at computed addresses, each with the places of the numbers that
    say how many there are, and how far apart."""
    places = {one.name: place for place, one in enumerate(program.operands)}
    return [[places[name], *numbers] for name, numbers in program.elements.items()]


def encoded(value: Any) -> Any:
    """A value for JSON. Raises UnwritableProgramError for one that `decoded` does not know."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, tuple):
        return {"tuple": [encoded(one) for one in value]}
    if isinstance(value, list):
        return [encoded(one) for one in value]
    for kind, word in ((dtype, "dtype"), (layout, "layout"), (memory_format, "memory_format")):
        if isinstance(value, kind):
            return {word: str(value).removeprefix("aten.")}
    if isinstance(value, device):
        return {"device": str(value)}
    raise UnwritableProgramError(f"an argument that is a {type(value).__name__}")
