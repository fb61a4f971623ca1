from aten._core.dispatch.stand_in import StandIn

class DerivedViewKernel(StandIn): ...

NAMES: tuple[str, ...]
