from collections.abc import Callable
from typing import Any

from aten._core.autograd.node import Node
from aten._core.autograd.rules import Rule
from aten._core.dispatch.dispatcher import OpOverload

def set_zeros(zeros: Callable[..., Any]) -> None: ...

class OperatorNode(Node):
    @property
    def rule(self) -> Rule: ...
    @property
    def op(self) -> OpOverload: ...
