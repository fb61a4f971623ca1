"""The CPU: LLVM code for programs, libraries for matrix products."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The vector instructions that kernels use, in torch's words: "AVX512", "AVX2", "DEFAULT"."""
    from aten.backends.cpu.jit import session

    return {64: "AVX512", 32: "AVX2"}.get(session().vector_bytes, "DEFAULT")


def explain(name: str) -> str:
    """What the operator `name` ("gelu", "add.Tensor") becomes for float32 operands, as text.

    The Prims graph, the Loop IR and the machine code. Raises LookupError for unknown operators and
    for those that are not made of loops.
    """
    from aten.backends.cpu.explanation import explanation

    return explanation(name)
