"""Special functions: the operators `special_…` by their short names."""

from aten.names.refusals import names_of
from aten.registry import prefixed_functions

_find, __dir__ = prefixed_functions(__name__, "special_")
__getattr__ = names_of(__name__, _find)
