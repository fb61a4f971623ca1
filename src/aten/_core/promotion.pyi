from aten._core.dtypes import dtype
from aten._core.tensor import Tensor

def result_type(*operands: Tensor | bool | int | float | complex) -> dtype: ...
