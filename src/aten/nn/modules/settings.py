"""Modules without parameters, which keep settings and call a function of `nn.functional`."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, dataclass_transform

from aten.nn.modules.module import Module

__all__ = ["SettingsModule"]


@dataclass_transform()
class SettingsModule(Module):
    """A module whose annotated names are what it takes, in their order, and keeps.

    `_shown` is the text for `repr`, with names in braces; a True `inplace` is shown by itself.
    What is annotated `Tensor | None` is a buffer. `_kind` says how settings are given.
    """

    _shown: ClassVar[str] = ""
    _kind: ClassVar[Any] = inspect.Parameter.POSITIONAL_OR_KEYWORD
    _settings: ClassVar[inspect.Signature] = inspect.Signature()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = inspect.get_annotations(cls)
        names = [name for name, kind in own.items() if not str(kind).startswith("ClassVar")]
        known = dict(cls._settings.parameters)
        for name in names:
            default = cls.__dict__.get(name, inspect.Parameter.empty)
            known[name] = inspect.Parameter(name, cls._kind, default=default, annotation=own[name])
            # Each module has its own; a buffer would be hidden by the class's.
            if name in cls.__dict__:
                delattr(cls, name)
        cls._settings = inspect.Signature(list(known.values()))
        cls.__signature__ = cls._settings  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            given = self._settings.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            if self._settings.parameters[name].annotation == "Tensor | None":
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self._check()

    def _check(self) -> None:
        """Complete and check what was given."""

    def extra_repr(self) -> str:
        shown = self._shown.format_map(vars(self))
        if not vars(self).get("inplace") or "inplace" in self._shown:
            return shown
        return f"{shown}, inplace=True" if shown else "inplace=True"
