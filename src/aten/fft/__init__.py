"""Discrete Fourier transforms: the operators `fft_…` by their short names."""

from aten.names.refusals import names_of
from aten.registry import prefixed_functions

_find, __dir__ = prefixed_functions(__name__, "fft_")
__getattr__ = names_of(__name__, _find)
