from aten._core.dispatch.stand_in import StandIn

class RearrangeKernel(StandIn): ...

NAMES: tuple[str, ...]
