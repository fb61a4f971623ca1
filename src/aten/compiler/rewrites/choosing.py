"""Which of two ways a stretch of a program is computed, where both are right.

Rewrites know a rule, which says what is faster as a rule. They ask before they follow it: with
`mode="max-autotune"` both ways are measured (`tuning`).
"""

from __future__ import annotations

from collections.abc import Sequence

from aten.graph.ir import Node


class Choices:
    """What rewrites ask; these follow the rules.

    Attributes:
        notes: what there is to say about choices, one text each.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []

    def fuses(self, kind: str, nodes: Sequence[Node], steady: set[Node], rule: bool) -> bool:
        """Whether the rewrite of this kind is done to nodes, in their order, the last of which
        gives what others read.

        `steady` are those of their operands that are the same in every call; `rule` is what the
        rewrite would do.
        """
        return rule
