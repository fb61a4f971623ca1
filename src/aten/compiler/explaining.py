"""What was fused, what was not and why, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aten.compiler.programs import CompiledProgram


def explained(
    programs: Sequence[CompiledProgram], breaks: Sequence[str], recompilations: Sequence[str]
) -> str:
    """Programs, eager calls and recompilations, a paragraph each."""
    lines: list[str] = []
    for number, program in enumerate(programs, 1):
        lines += _program(number, program)
    lines += [f"run eagerly: {reason}" for reason in breaks]
    lines += [f"compiled again: {reason}" for reason in recompilations]
    return "\n".join(lines)


def _program(number: int, program: CompiledProgram) -> Iterator[str]:
    def count(nodes: Sequence[object], noun: str) -> str:
        return f"{len(nodes)} {noun}{'' if len(nodes) == 1 else 's'}"

    operators = [node for node in program.recorded.nodes if _is_call(node)]
    calls = [node for node in program.graph.nodes if _is_call(node)]
    yield f"program {number}: {count(operators, 'operator')} in {count(calls, 'call')}"
    if program.sizes:
        yield f"  {program.sizes}"
    for note in program.notes:
        yield f"  {note}"
    for nodes in program.partition.groups:
        names = [node.target.split(".")[1] for node in nodes if _is_call(node)]
        if nodes[0] in program.partition.fused:
            yield f"  one kernel for {', '.join(names)}"
        for node in nodes:
            reason = program.partition.refusals.get(node)
            if reason:
                yield f"  {node.name} is not fused with what it reads: {reason}"


def _is_call(node: object) -> bool:
    op, target = getattr(node, "op", ""), getattr(node, "target", "")
    return op == "call_function" and target != "operator.getitem"
