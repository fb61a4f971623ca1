"""The Python array API standard, 2025.12, on tensors: `x.__array_namespace__()` is this module.

Functions take tensors and give an `Array`: a tensor whose operators follow the standard where torch
differs. See docs/array-api.md.
"""

from __future__ import annotations

import math

from aten.array_api import fft, linalg, operators
from aten.array_api.array import VERSIONS, Array
from aten.array_api.conversion import *
from aten.array_api.creation import *
from aten.array_api.dtypes import *
from aten.array_api.dtypes import STANDARD
from aten.array_api.elementwise import *
from aten.array_api.info import __array_namespace_info__
from aten.array_api.linear_algebra import *
from aten.array_api.manipulation import *
from aten.array_api.searching import *
from aten.array_api.statistics import *

__array_api_version__ = VERSIONS[-1]
e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi
globals().update(STANDARD)
operators.install()
