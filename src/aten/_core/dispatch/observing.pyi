from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

class CallObserver:
    def __init__(
        self,
        entered: Callable[[FrameType, CodeType], None],
        called: Callable[[Any], None],
        watches: Callable[[dict[str, Any]], bool],
    ) -> None: ...
    def begin(self) -> None: ...
    def end(self) -> None: ...
