from typing import Any

from aten.schema import FunctionSchema

class ArgumentParser:
    count: int
    positional_count: int
    keyword_only_names: tuple[str, ...]
    numbers_as_tensors: bool
    def __init__(self, schema: FunctionSchema, numbers_as_tensors: bool = False) -> None: ...
    def bind(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]: ...
    @property
    def reason(self) -> str: ...
