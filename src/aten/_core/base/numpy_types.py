"""NumPy, where it is there, and its counterpart of each element type."""

from __future__ import annotations

import importlib

from aten._core.base.dtypes import dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ML_DTYPES = frozenset(
    {
        "bfloat16",
        "float8_e5m2",
        "float8_e4m3fn",
        "float8_e5m2fnuz",
        "float8_e4m3fnuz",
        "float8_e8m0fnu",
    }
)
_PLAIN = frozenset(
    [
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "bool",
        "uint16",
        "uint32",
        "uint64",
    ]
)


def numpy_for(what: str, package: str = "numpy") -> Any:
    """The package NumPy, or one beside it, which `what` cannot do without.

    Raises ImportError, with the way to install it, where it is not there.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        name = {"numpy": "NumPy"}.get(package, package)
        raise ImportError(
            f"{what} needs {name}, which is not installed: pip install 'aten[numpy]'", name=package
        ) from None


def numpy_dtype(element: dtype) -> Any:
    """NumPy's dtype for `element`; ml_dtypes provides those NumPy lacks.

    Raises TypeError for types without a counterpart.
    """
    numpy = numpy_for(f"NumPy's dtype for {element}")
    if element.name in _PLAIN:
        return numpy.dtype(element.name)
    if element.name in _ML_DTYPES:
        ml_dtypes = numpy_for(f"NumPy's dtype for {element}", "ml_dtypes")
        return numpy.dtype(getattr(ml_dtypes, element.name))
    raise TypeError(f"Got unsupported ScalarType {element.name}: NumPy has no such dtype")
