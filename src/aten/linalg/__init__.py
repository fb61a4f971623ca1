"""Linear algebra: the operators `linalg_…` by their short names."""

from aten.ops.matrix_checks import LinAlgError as LinAlgError
from aten.registry import prefixed_functions

__getattr__, __dir__ = prefixed_functions(__name__, "linalg_")
