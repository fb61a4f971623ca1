"""How names of torch that are not here are refused: with one line that says why.

In modules and for tensors' attributes it is an AttributeError, so that `hasattr` says no; in
imports a ModuleNotFoundError or ImportError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from aten._core.base.namespaces import look_up_at_once
from aten._core.tensor.tensor import Tensor, install_attribute
from aten.names.absent_names import names_in, reason_for
from aten.suggestions import suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def refuse(module: str, name: str) -> NoReturn:
    """Raises AttributeError for a module's name that is not there; ImportError in an import.

    `module` is "aten", "aten.linalg", ….
    """
    space = module.partition(".")[2] or "torch"
    reason = reason_for(space, name)
    text = f"module '{module}' has no attribute '{name}'"
    if reason is None:
        near = "" if name.startswith("_") else suggestion(name, dir(sys.modules[module]))
        raise AttributeError(f"{text}{near}")
    if _imports(sys._getframe(2)):
        raise ImportError(f"cannot import name '{name}' from '{module}': {reason}")
    raise AttributeError(f"{text}: {reason}")


def _imports(frame: Any) -> bool:
    """Whether the frame is at `from … import …`, which makes its own text of an AttributeError."""
    from opcode import opmap

    return bool(frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"])


def names_of(module: str, inner: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """A module's `__getattr__`: what `inner` finds, or a refusal. Names that are there go first."""
    look_up_at_once(sys.modules[module])

    def find(name: str) -> Any:
        if inner is None:
            refuse(module, name)
        try:
            return inner(name)
        except AttributeError:
            refuse(module, name)

    return find


class _Finder:
    """Says why a module of torch cannot be imported here; asked last of all finders."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        if not name.startswith("aten."):
            return
        parent, _, last = name.rpartition(".")
        reason = reason_for(parent.partition(".")[2] or "torch", last)
        if reason is not None:
            raise ModuleNotFoundError(f"there is no {name}: {reason}", name=name)


class _Refused:
    """An attribute that torch's tensors have: asking for it raises AttributeError with a reason."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Tensor | None, owner: type | None = None) -> NoReturn:
        raise AttributeError(
            f"'Tensor' object has no attribute '{self.name}': {reason_for('Tensor', self.name)}"
        )


def install() -> None:
    """Let Tensor and imports refuse what is not here."""
    for name in names_in("Tensor"):
        if not hasattr(Tensor, name):
            install_attribute(name, _Refused(name))
    sys.meta_path.append(_Finder)
