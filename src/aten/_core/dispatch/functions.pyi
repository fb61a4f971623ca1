from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

def forwards(
    call: str,
    *given: str,
    alike: tuple[str, str] | tuple[()] = (),
    several: str | None = None,
) -> Callable[[_Function], _Function]: ...

class CompletingFunction:
    __wrapped__: Callable[..., Any]
    __name__: str
    __qualname__: str
    def __init__(self, function: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class OverridableFunction(CompletingFunction): ...

def let_override(namespace: dict[str, Any], names: Iterable[str]) -> None: ...
