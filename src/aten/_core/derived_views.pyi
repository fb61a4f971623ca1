from collections.abc import Sequence

from aten._core.dispatcher import Kernel, OpOverload

class DerivedViewKernel(Kernel):
    place: str
    def __init__(self, native: str, views: Sequence[OpOverload], otherwise: Kernel) -> None: ...

def views_of(native: str) -> tuple[str, ...]: ...
