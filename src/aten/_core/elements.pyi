from aten._core.stand_in import StandIn

NAMES: tuple[str, ...]

class ElementKernel(StandIn): ...
