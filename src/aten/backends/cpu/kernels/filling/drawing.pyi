from aten._core.dispatch.fast_path import FastPath

class DrawKernel(FastPath): ...

NAMES: tuple[str, ...]
