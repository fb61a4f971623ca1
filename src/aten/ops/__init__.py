"""Floor 3: one function per operator, a folder per family. What all share stands beside these.

`aten.ops.aten.add.Tensor` and the other operators are reached through this package too.
"""

from __future__ import annotations

from aten import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(registry.ops, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(registry.ops)})
