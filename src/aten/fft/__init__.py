"""Discrete Fourier transforms: the operators `fft_…` by their short names."""

from aten.registry import prefixed_functions

__getattr__, __dir__ = prefixed_functions(__name__, "fft_")
