from aten._core.dispatch.stand_in import StandIn

class DrawKernel(StandIn): ...

NAMES: tuple[str, ...]
