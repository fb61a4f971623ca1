"""Archives for the reader's tests: the real programs, and changed copies of them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aten

DATA = Path(__file__).parent.parent / "data" / "programs"
PROGRAMS = sorted(path.name for path in DATA.glob("*.pt2"))
DIGITS = Path(aten.__file__).parent / "examples" / "digits"


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def changed(path: Path, source: str, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A copy of the program `source` with its members changed."""
    members = members_of(DATA / source)
    change(members)
    return write_archive(path, members)


def changed_json(
    path: Path, source: str, change: Callable[[Any], None], member: str = "models/model.json"
) -> Path:
    """A copy of the program `source` with one of its JSON members changed."""

    def rewrite(members: dict[str, bytes]) -> None:
        [name] = [name for name in members if name.endswith(member)]
        value = json.loads(members[name])
        change(value)
        members[name] = json.dumps(value).encode()

    return changed(path, source, rewrite)
