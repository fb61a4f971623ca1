"""Functions of the package that take their arguments more freely than one schema says.

They complete and name the arguments, and call operators; they compute nothing.
"""

from aten.functional.contraction import *
from aten.functional.indexing import *
from aten.functional.linear_algebra import *
from aten.functional.shape import *
