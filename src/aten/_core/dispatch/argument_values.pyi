from typing import Any, Literal, overload

from aten._core.base.dtypes import dtype

@overload
def dtype_argument(function: str, value: Any, nullable: Literal[False]) -> dtype: ...
@overload
def dtype_argument(function: str, value: Any, nullable: bool = True) -> dtype | None: ...
