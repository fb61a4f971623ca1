"""What a fresh environment weighs with the package and all it needs, beside torch with its own.

Both are sums of file sizes, which do not depend on the file system's blocks. Ours is that of a
fresh environment after `pip install .`, with pip and setuptools taken away; torch's that of the
files which it and its needs have recorded in this environment.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from timing import Result

ROOT = Path(__file__).resolve().parents[1]


def installed_mebibytes() -> float:
    """The size of a fresh environment's packages."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = environment / "bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", ROOT], check=True)
        code = "import sysconfig; print(sysconfig.get_paths()['platlib'])"
        packages = subprocess.check_output([python, "-c", code], text=True).strip()
        subprocess.run(
            [python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools"], check=True
        )
        files = [path for path in Path(packages).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files) / 2**20


def recorded_mebibytes(name: str) -> float:
    """The files of a distribution and, without extras, of all it needs."""
    waiting, seen, size = [name], set(), 0
    while waiting:
        current = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if current in seen:
            continue
        seen.add(current)
        try:
            found = metadata.distribution(current)
        except metadata.PackageNotFoundError:
            continue  # wanted on other systems only
        for file in found.files or ():
            path = Path(str(found.locate_file(file)))
            size += path.stat().st_size if path.is_file() else 0
        waiting += [
            re.split(r"[^\w.-]", need, maxsplit=1)[0]
            for need in found.requires or ()
            if "extra ==" not in need
        ]
    return size / 2**20


def run() -> list[Result]:
    result = Result("installed size", "MiB", limit=280)
    result.aten = installed_mebibytes()
    result.torch = recorded_mebibytes("torch")
    result.ratio = result.torch / result.aten
    return [result]
