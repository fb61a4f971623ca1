from aten._core.stand_in import StandIn

class DerivedViewKernel(StandIn): ...

NAMES: tuple[str, ...]
