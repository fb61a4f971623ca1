"""The build backend: meson-python, whose editable installations type checkers can read, too.

An editable installation is found by a hook that runs at import. Type checkers and editors run
nothing: they look for packages in the folders that `.pth` files name, so here `src` is named.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import mesonpy
from mesonpy import *  # noqa: F403

_SOURCES = Path(__file__).resolve().parents[1] / "src"


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, str | list[str]] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """meson-python's wheel, and a file that says where the sources are. Returns its name."""
    name: str = mesonpy.build_editable(wheel_directory, config_settings, metadata_directory)
    _add_file(Path(wheel_directory, name), "aten-sources.pth", f"{_SOURCES}\n")
    return name


def _add_file(wheel: Path, name: str, text: str) -> None:
    """Put a file into a wheel, and into the wheel's list of its files."""
    content = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(wheel) as archive:
        members = [(one, archive.read(one)) for one in archive.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, data in members:
            if one.filename.endswith(".dist-info/RECORD"):
                line = f"{name},sha256={digest},{len(content)}\n"
                data = data.rstrip(b"\n") + b"\n" + line.encode()
            archive.writestr(one, data)
        archive.writestr(name, content)
