from aten._core.dispatch.fast_path import FastPath

class RearrangeKernel(FastPath): ...

NAMES: tuple[str, ...]
