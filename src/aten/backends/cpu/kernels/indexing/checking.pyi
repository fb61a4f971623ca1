from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath

class CheckedIndexKernel(FastPath):
    def __init__(self, otherwise: Kernel) -> None: ...
