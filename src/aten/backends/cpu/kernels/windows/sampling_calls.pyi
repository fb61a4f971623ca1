from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

NAMES: tuple[str, ...]

class SamplerKernel(FastPath):
    def __init__(
        self,
        of_planes: OpOverload,
        of_volumes: OpOverload,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

class SampleKernel(FastPath): ...
