from aten._core.stand_in import StandIn

class RearrangeKernel(StandIn): ...

NAMES: tuple[str, ...]
