from aten._core.dispatch.fast_path import FastPath

NAMES: tuple[str, ...]

class DivisorKernel(FastPath): ...
