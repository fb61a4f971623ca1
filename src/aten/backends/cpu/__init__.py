"""The CPU: LLVM code for programs, libraries for matrix products."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The vector instructions that kernels use, in torch's words: "AVX512", "AVX2", "DEFAULT"."""
    import llvmlite.binding

    features = llvmlite.binding.get_host_cpu_features()
    if features.get("avx512f"):
        return "AVX512"
    return "AVX2" if features.get("avx2") else "DEFAULT"


def explain(name: str) -> str:
    """What the operator `name` ("gelu", "add.Tensor") becomes for float32 operands, as text.

    The Prims graph, the Loop IR and the machine code. Raises LookupError for unknown operators and
    for those that are not made of loops.
    """
    from aten.backends.cpu.explanation import explanation

    return explanation(name)
