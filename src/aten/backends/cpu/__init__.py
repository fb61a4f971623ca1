"""The CPU: LLVM code for programs, libraries for matrix products."""

from __future__ import annotations


def explain(name: str) -> str:
    """What the operator `name` ("gelu", "add.Tensor") becomes for float32 operands, as text.

    The Prims graph, the Loop IR and the machine code. Raises LookupError for unknown operators and
    for those that are not made of loops.
    """
    from aten.backends.cpu.explanation import explanation

    return explanation(name)
