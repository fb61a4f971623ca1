from aten._core.stand_in import StandIn

class DrawKernel(StandIn): ...

NAMES: tuple[str, ...]
