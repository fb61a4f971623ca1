"""Where in a program an operator was called: file, line, and the modules it was called in."""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LAYERS = os.path.join(_PACKAGE, "nn", "modules") + os.sep


def _is_own(file: str) -> bool:
    """Whether a file is this package's; compiled modules are called by their sources' names."""
    return file.startswith(_PACKAGE) or file.endswith((".pyx", ".pxd"))


class Place(NamedTuple):
    """A line of a program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.line).strip()


class Provenance(NamedTuple):
    """Where a call came from: the lines, outermost first, and the modules it went through."""

    places: tuple[Place, ...]
    modules: tuple[tuple[str, str], ...]  # path and type's name

    @property
    def place(self) -> Place | None:
        """The innermost line of the user's; of a layer's where there is none."""
        own = [one for one in self.places if not _is_own(one.file)]
        chosen = own or list(self.places)
        return chosen[-1] if chosen else None

    def metadata(self) -> dict[str, str]:
        """In the form in which programs keep it."""
        lines = [
            f'  File "{one.file}", line {one.line}, in {one.function}\n    {one.source}'
            for one in self.places
        ]
        made = {"stack_trace": "\n".join(lines)} if lines else {}
        if self.modules:
            made["nn_module_stack"] = ";".join(
                f"L__self__{'_' * bool(path)}{path.replace('.', '_')},{path},{kind}"
                for path, kind in self.modules
            )
        return made


def provenance(frame: FrameType | None, until: CodeType, modules: Mapping[int, str]) -> Provenance:
    """Where a frame was called from, up to the function of the code `until`.

    `modules` has the paths of modules by identity.
    """
    places: list[Place] = []
    found: list[tuple[str, str]] = []
    while frame is not None and frame.f_code is not until:
        code = frame.f_code
        is_layer = code.co_filename.startswith(_LAYERS)
        if is_layer or not _is_own(code.co_filename):
            owner = _owner(frame) if code.co_name != "__call__" else None
            if owner is not None and id(owner) in modules:
                kind = type(owner)
                entry = (modules[id(owner)], f"{kind.__module__}.{kind.__qualname__}")
                if entry not in found:
                    found.append(entry)
            if code.co_name not in ("__call__", "_call_impl"):
                places.append(Place(code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return Provenance(tuple(reversed(places)), tuple(reversed(found)))


def _owner(frame: FrameType) -> Any:
    code = frame.f_code
    if not code.co_argcount or code.co_varnames[0] != "self":
        return None
    return frame.f_locals.get("self")


def place_of_error(trace: TracebackType | None) -> Place | None:
    """The innermost line of the user's that an exception went through."""
    found = None
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_own(code.co_filename):
            found = Place(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return found
