from collections.abc import Iterable, Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor

class CallGuard:
    def __init__(self, args: tuple[Any, ...], places: Sequence[tuple[Any, Any, Any]]) -> None: ...
    def tensors(self, args: tuple[Any, ...]) -> list[Tensor] | None: ...

class WriteGuard:
    def __init__(self, tensors: Iterable[Tensor]) -> None: ...
    def holds(self) -> bool: ...

class Replay:
    def __init__(
        self,
        template: list[Any],
        input_slots: Sequence[int],
        steps: Iterable[Any],
        output_slots: Sequence[int],
    ) -> None: ...
    def __call__(self, inputs: Sequence[Any]) -> tuple[Any, ...]: ...

def holds(places: Sequence[tuple[Any, Any, Any]]) -> bool: ...
