from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor

def result_type(*operands: Tensor | bool | int | float | complex) -> dtype: ...
