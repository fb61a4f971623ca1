from collections.abc import Callable
from typing import Any

from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.registrations import RegistrationHandle, Registrations

class PythonKernel(Kernel):
    def __init__(
        self, function: Callable[..., Any], with_keyset: bool = False, with_op: bool = False
    ) -> None: ...
    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def with_keyset(self) -> bool: ...
    @property
    def with_op(self) -> bool: ...
    @property
    def device_type(self) -> int: ...

def register_kernel(
    registrations: Registrations,
    key: DispatchKey,
    kernel: Kernel | Callable[..., Any],
    provenance: str | None = None,
) -> RegistrationHandle: ...
def register_fallback(
    key: DispatchKey, kernel: Kernel | Callable[..., Any], provenance: str | None = None
) -> RegistrationHandle: ...
