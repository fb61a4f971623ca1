"""Numbers with names, and what the library was built with, as torch's names ask."""

from __future__ import annotations

from math import e, inf, nan, pi

from aten._core.base.device import MEMORY_FORMATS

__all__ = [
    "e",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "inf",
    "legacy_contiguous_format",
    "nan",
    "newaxis",
    "pi",
]

newaxis = None
legacy_contiguous_format = MEMORY_FORMATS["contiguous_format"]
has_lapack = True
has_spectral = True
has_mkl = False
has_openmp = False
