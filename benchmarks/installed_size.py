"""What a fresh environment weighs with the package and all it needs, beside torch with its own.

    python benchmarks/installed_size.py [WHEEL]

prints the parts. All are sums of file sizes, which do not depend on the file system's blocks. Ours
are of a fresh environment after `pip install .`, or of a wheel, without pip and setuptools, and
then with the extra `numpy`; torch's is that of the files which it and its needs have recorded here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from timing import Result, show

ROOT = Path(__file__).resolve().parents[1]
# What the package weighs without NumPy, in MiB: 240 MB are less than 229 of them.
LIMIT = 228
_TOOLS = ("pip", "pkg_resources", "setuptools", "_distutils_hack", "distutils-precedence.pth")


def installed_parts(package: str, *extras: str) -> list[dict[str, float]]:
    """MiB by top-level name, of a fresh environment with the package; then with each extra, too."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = environment / "bin/python"
        code = "import sysconfig; print(sysconfig.get_paths()['platlib'])"
        packages = subprocess.check_output([python, "-c", code], text=True).strip()
        for wanted in (package, *(f"{package}[{extra}]" for extra in extras)):
            subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], check=True)
            found.append(_parts(Path(packages)))
    return found


def _parts(packages: Path) -> dict[str, float]:
    parts: dict[str, float] = {}
    for path in packages.rglob("*"):
        name = path.relative_to(packages).parts[0]
        if path.is_file() and not name.startswith(_TOOLS):
            name = re.split(r"-[0-9]|\.libs", name)[0]
            parts[name] = parts.get(name, 0.0) + path.stat().st_size / 2**20
    return parts


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


def run(package: str = str(ROOT)) -> list[Result]:
    result = Result("installed size", "MiB", limit=LIMIT)
    plain, full = installed_parts(package, "numpy")
    result.aten = sum(plain.values())
    result.torch = recorded_mebibytes("torch")
    result.ratio = result.torch / result.aten
    with_numpy = Result("installed size, with the extra numpy", "MiB", headline=False)
    with_numpy.aten = sum(full.values())
    parts = [Result(f"installed size: {name}", "MiB", headline=False) for name in sorted(full)]
    for part, name in zip(parts, sorted(full), strict=True):
        part.aten = full[name]
    return [result, with_numpy, *sorted(parts, key=lambda part: -(part.aten or 0))]


if __name__ == "__main__":
    show(run(*sys.argv[1:]))
