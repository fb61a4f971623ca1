"""Calls of a program: what they call, and what comes of that besides results.

Little is imported for it: it is asked before there is anything to compile.
"""

from __future__ import annotations

from aten._core.dispatch.dispatcher import OpOverload
from aten.graph.ir import Node
from aten.registry import USER_DEFINED, find_operator


def operator_of(node: Node) -> OpOverload | None:
    """The operator that a node calls; None for what is no operator of the registry."""
    if node.op != "call_function":
        return None
    namespace, _, name = node.target.partition(".")
    return find_operator(f"{namespace}::{name}")


def has_effect(node: Node) -> bool:
    """Whether a call draws, writes, or is not known: such calls stay in their order."""
    op = operator_of(node)
    if op is None:
        return node.target != "operator.getitem"
    return op.entry.kind == USER_DEFINED or is_drawn(node) or is_written(node)


def is_drawn(node: Node) -> bool:
    """Whether a call draws random numbers: whoever draws next gets others, used or not."""
    op = operator_of(node)
    return op is not None and "nondeterministic_seeded" in op.entry.tags


def is_written(node: Node) -> bool:
    """Whether a call writes to an argument."""
    op = operator_of(node)
    return op is not None and any(one.is_write for one in op._schema.arguments)
