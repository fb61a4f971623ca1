from aten._core.stand_in import CompiledFirst

NAMES: tuple[str, ...]

class ElementKernel(CompiledFirst): ...
