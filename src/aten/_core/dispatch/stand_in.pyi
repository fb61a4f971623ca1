from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload

class CompiledFirst(Kernel):
    def __init__(self, native: str, otherwise: Kernel) -> None: ...
    @property
    def native(self) -> str: ...
    @property
    def otherwise(self) -> Kernel: ...

class StandIn(CompiledFirst):
    def __init__(
        self,
        native: str,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...
    @property
    def replaced(self) -> tuple[str, ...]: ...
