from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload

class FastPath(Kernel):
    def __init__(
        self,
        native: str,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload] | None,
        otherwise: Kernel,
    ) -> None: ...
    @property
    def native(self) -> str: ...
    @property
    def replaced(self) -> tuple[str, ...]: ...
    @property
    def otherwise(self) -> Kernel: ...
