from collections.abc import Callable
from typing import Any

from aten._core.autograd.node import Node
from aten._core.dispatch.dispatcher import Kernel, OpOverload

GRADIENTS: int
RESULTS: int
CONSTANTS: int
NEEDED: int
ALL_GRADIENTS: int
GIVEN: int
SIZES: int

def set_rules(
    rule_of: Callable[[OpOverload], Rule],
    written_view: Callable[..., Any],
    zeros: Callable[..., Any],
) -> None: ...

class Formula:
    positions: tuple[int, ...]
    compute: Any
    sources: tuple[int, ...]
    constants: tuple[Any, ...]
    def __init__(
        self,
        positions: tuple[int, ...],
        compute: Any,
        sources: tuple[int, ...],
        constants: tuple[Any, ...] = (),
    ) -> None: ...

class Rule:
    title: str
    formulas: list[Formula] | None
    through: Kernel | None
    missing: str | None
    in_place: bool
    def __init__(
        self,
        title: str,
        formulas: list[Formula] | None,
        through: Kernel | None = None,
        missing: str | None = None,
        without: frozenset[int] = ...,
        in_place: bool = False,
        refuses: bool = False,
        keeps: frozenset[int] = ...,
    ) -> None: ...

class OperatorNode(Node):
    rule: Rule
    op: OpOverload

class RecordingKernel(Kernel): ...
class InferenceKernel(Kernel): ...

def below_recording(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
def forgotten(node: Node) -> None: ...
def take_edges(node: Node, write: OperatorNode) -> int | None: ...
def applied(node: Node, gradients: list[Any]) -> list[Any]: ...
