from aten._core.dispatch.stand_in import StandIn

NAMES: tuple[str, ...]

class SpectrumKernel(StandIn): ...
