"""Functions of the package that take their arguments more freely than one schema says.

They complete and name the arguments, and call operators; they compute nothing.
"""

from aten._core.dispatch.functions import let_override
from aten.functional import contraction, indexing, linear_algebra, losses, shape
from aten.functional.contraction import *
from aten.functional.indexing import *
from aten.functional.linear_algebra import *
from aten.functional.losses import *
from aten.functional.shape import *

__all__ = [
    *contraction.__all__,
    *indexing.__all__,
    *linear_algebra.__all__,
    *losses.__all__,
    *shape.__all__,
]

# Shapes are no operands.
let_override(globals(), set(__all__) - {"broadcast_shapes"})
