"""What a fresh environment weighs with the package and all it needs, beside torch with its own.

    python benchmarks/installed_size.py [WHEEL]

prints the parts. All are sums of file sizes, which do not depend on the file system's blocks. Ours
are of a fresh environment after `pip install .`, or of a wheel, without pip and setuptools, and
then with the extra `numpy`; torch's is that of the files which it and its needs have recorded here.

What runs compiled files (`.atenc`) is the package alone: one is run in an environment that has
nothing else, and what Python keeps of the modules that it imports meanwhile is counted, too.
"""

from __future__ import annotations

import os
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
# The same of what runs compiled files: 20 MB.
RUNTIME_LIMIT = 19.07
_DIGITS = ROOT / "src/aten/examples/digits/digits_cnn.pt2"
_RUN = """
import sys
import aten
from aten.compiler import ahead

x = aten.frombuffer(bytearray(1024), dtype=aten.float32).view(4, 1, 8, 8)
assert len(ahead.load(sys.argv[1]).flat_call([x])[0]) == 4
assert "llvmlite" not in sys.modules
"""
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
_TOOLS = ("pip", "pkg_resources", "setuptools", "_distutils_hack", "distutils-precedence.pth")


def _fresh(folder: str) -> tuple[Path, Path]:
    """A new environment's interpreter, and where it has its packages."""
    environment = Path(folder) / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin/python"
    code = "import sysconfig; print(sysconfig.get_paths()['platlib'])"
    return python, Path(subprocess.check_output([python, "-c", code], text=True).strip())


def runtime_mebibytes(package: str) -> float:
    """What runs compiled files, after it has run one."""
    with tempfile.TemporaryDirectory() as folder:
        python, packages = _fresh(folder)
        install = (python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile")
        subprocess.run([*install, package], check=True)
        file = Path(folder) / "digits.atenc"
        subprocess.run(
            [sys.executable, "-m", "aten.cli", "compile", _DIGITS, "-o", file], check=True
        )
        keeping = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
        subprocess.run([python, "-c", _RUN, file], check=True, env=keeping)
        return sum(_parts(packages).values())


def installed_parts(package: str, *extras: str) -> list[dict[str, float]]:
    """MiB by top-level name, of a fresh environment with the package; then with each extra, too."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        python, packages = _fresh(folder)
        for wanted in (package, *(f"{package}[{extra}]" for extra in extras)):
            subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], check=True)
            found.append(_parts(packages))
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
    runtime = Result("installed size: what runs compiled files", "MiB", limit=RUNTIME_LIMIT)
    runtime.headline = False
    runtime.aten = runtime_mebibytes(package)
    return [result, with_numpy, runtime, *sorted(parts, key=lambda part: -(part.aten or 0))]


if __name__ == "__main__":
    show(run(*sys.argv[1:]))
