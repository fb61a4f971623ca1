"""Build the package for another processor, and run it here under an emulator.

    python tools/emulated.py FOLDER -c 'import aten; print(aten.ones(2))'
    python tools/emulated.py FOLDER tests/unit/without_numpy.py
    python tools/emulated.py FOLDER --with numpy -m pytest …

The processor is ARM's, of 64 bits, whose vectors are NEON's. What follows FOLDER is for its Python.
FOLDER keeps what was fetched and built for the next run: an interpreter and libraries in Debian's
packages, what the package depends on in wheels, and the package itself. C files come from the same
build as elsewhere and are compiled by a cross compiler. Needs on a Debian of any kind

    apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
    dpkg --add-architecture arm64 && apt-get update

and Python of the version that is there runs this, with meson, ninja and Cython beside it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
# What an interpreter consists of, and the libraries that it and its modules load.
PACKAGES = (
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libpython3.11-dev"),
    *("libc6", "libgcc-s1", "libstdc++6", "libcrypt1", "libexpat1", "zlib1g", "libffi8"),
    *("libssl3", "libbz2-1.0", "liblzma5", "libsqlite3-0", "libuuid1"),
)
WHEELS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
NOT_COPIED = ("*.pyx", "*.pxd", "*.h", "meson.build", "__pycache__", "*.so")


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, arguments = Path(sys.argv[1]).resolve(), sys.argv[2:]
    besides = []
    while arguments[:1] == ["--with"]:
        besides.append(arguments[1])
        arguments = arguments[2:]
    missing = lacking()
    if missing:
        sys.exit(f"emulated: {missing}")
    fetch(folder, besides)
    build(folder)
    return subprocess.run(command(folder, arguments), env=environment(folder)).returncode


def lacking() -> str:
    """What an emulated run needs and is not here, in words; empty where nothing is missing."""
    programs = [one for one in (COMPILER, EMULATOR, "dpkg", "apt-get") if not shutil.which(one)]
    if programs:
        return f"{', '.join(programs)}: not installed"
    if sys.version_info[:2] != (3, 11):
        return "Debian's interpreter is of version 3.11, this one is not"
    foreign = subprocess.check_output(["dpkg", "--print-foreign-architectures"], text=True)
    return "" if "arm64" in foreign.split() else "dpkg knows no packages of arm64"


def fetch(folder: Path, besides: list[str] | None = None) -> None:
    """What is not there yet: the interpreter, and what the package depends on.

    Raises CalledProcessError where no package index answers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not _root(folder).exists():
        _fetch_interpreter(folder)
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for one in [*required, *(besides or [])]:
        _fetch_wheel(folder, one)


def command(folder: Path, arguments: list[str]) -> list[str]:
    """How the emulator runs the folder's Python."""
    root = _root(folder)
    libraries = ":".join(str(root / one / "aarch64-linux-gnu") for one in ("usr/lib", "lib"))
    emulator = [EMULATOR, "-L", str(root), "-E", f"LD_LIBRARY_PATH={libraries}"]
    return [*emulator, str(root / "usr/bin/python3.11"), *arguments]


def environment(folder: Path) -> dict[str, str]:
    """What the folder's Python finds its modules by."""
    paths = f"{folder / 'package'}:{folder / 'wheels'}"
    own = {"PYTHONHOME": str(_root(folder) / "usr"), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **own, "PYTHONPATH": paths}


def _root(folder: Path) -> Path:
    return folder / "root"


def _fetch_interpreter(folder: Path) -> None:
    fetched, unpacked = folder / "debian", folder / "unpacked"
    for one in (fetched, unpacked):
        shutil.rmtree(one, ignore_errors=True)
        one.mkdir()
    names = [f"{name}:arm64" for name in PACKAGES]
    subprocess.run(["apt-get", "-q", "download", *names], cwd=fetched, check=True, stdout=2)
    for one in sorted(fetched.iterdir()):
        subprocess.run(["dpkg", "-x", str(one), str(unpacked)], check=True)
    unpacked.rename(_root(folder))


def _fetch_wheel(folder: Path, requirement: str) -> None:
    marks = folder / "wheels" / "fetched"
    mark = marks / "".join(one if one.isalnum() else "_" for one in requirement)
    if mark.exists():
        return
    with_platforms = [part for one in WHEELS for part in ("--platform", one)]
    options = ["--no-deps", "--only-binary=:all:", "--python-version", "3.11", *with_platforms]
    target = folder / "downloads" / mark.name
    called = [sys.executable, "-m", "pip", "download", "-q", "-d", str(target), *options]
    subprocess.run([*called, requirement], check=True, stdout=2)
    for wheel in target.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder / "wheels")
    marks.mkdir(exist_ok=True)
    mark.touch()


def build(folder: Path) -> None:
    """The package, as the sources are now, under `package`: its Python files, and its modules
    compiled for the processor. Raises CalledProcessError where a module does not compile."""
    host, package = folder / "host", folder / "package" / "aten"
    if not (host / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(host)], cwd=ROOT, check=True, stdout=2)
    subprocess.run(["ninja", "-C", str(host), "build.ninja"], check=True, stdout=2)
    targets = json.loads(
        subprocess.check_output(["meson", "introspect", "--targets", str(host)], text=True)
    )
    sources = [name for one in targets if one["type"] == "custom" for name in one["filename"]]
    made = [os.path.relpath(name, host) for name in sources]
    subprocess.run(["ninja", "-C", str(host), *made], check=True, stdout=2)
    shutil.rmtree(package, ignore_errors=True)
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(ROOT / "src" / "aten", package, ignore=ignored)
    places = {
        Path(one["filename"][0]).name: one["install_filename"][0].partition("-packages/aten/")[2]
        for one in targets
        if one["type"] == "shared module"
    }
    commands = json.loads((host / "compile_commands.json").read_text())

    def compiled(one: dict[str, Any]) -> None:
        _compile(folder, one, package, places)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compiled, commands))


def _compile(folder: Path, entry: dict[str, Any], package: Path, places: dict[str, str]) -> None:
    """One module by the command that compiles it here, with the other compiler and headers."""
    given = shlex.split(entry["command"])
    made = Path(given[given.index("-o") + 1])
    name = made.parent.name.removesuffix(".p")
    headers = _root(folder) / "usr" / "include"
    own = ("-I", "-D", "-f", "-W", "-O", "-std", "-pthread")
    kept = [one for one in given[1:] if one.startswith(own) and not _is_of_this_processor(one)]
    included = given[given.index("-include") : given.index("-include") + 2]
    place = package / places[name].replace("x86_64", "aarch64")
    place.parent.mkdir(parents=True, exist_ok=True)
    compiler = ["ccache", COMPILER] if shutil.which("ccache") else [COMPILER]
    object_file = folder / "objects" / f"{name}.o"
    object_file.parent.mkdir(exist_ok=True)
    outside = [f"-I{headers}/python3.11", f"-I{headers}"]
    compiling = [*compiler, *kept, *included, *outside, "-c", given[-1], "-o", str(object_file)]
    subprocess.run(compiling, cwd=entry["directory"], check=True)
    linking = [COMPILER, "-shared", "-pthread", str(object_file), "-o", str(place)]
    subprocess.run([*linking, "-Wl,--strip-all"], check=True)


def _is_of_this_processor(argument: str) -> bool:
    return argument.startswith("-I") and "/python3" in argument


if __name__ == "__main__":
    sys.exit(main())
