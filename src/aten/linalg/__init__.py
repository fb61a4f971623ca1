"""Linear algebra: the operators `linalg_…` by their short names."""

from aten.names.refusals import names_of
from aten.ops.linear_algebra.matrix_checks import LinAlgError as LinAlgError
from aten.registry import prefixed_functions

_find, __dir__ = prefixed_functions(__name__, "linalg_", ("matmul",))
__getattr__ = names_of(__name__, _find)
