"""The package as it is installed: a wheel from an index, where there is no compiler.

The wheel is the one in WHEEL_UNDER_TEST, or built from this tree, which takes minutes without a
compiler cache. What it needs is fetched from the package index that pip is set up with.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import aten

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pip(python: Path | str, *arguments: str, **environment: str) -> str:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.environ.get("WHEEL_UNDER_TEST"):
        return Path(os.environ["WHEEL_UNDER_TEST"])
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (made,) = folder.glob("aten-*.whl")
    return made


@pytest.fixture(scope="module")
def index(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an index that has the wheel, and wheels of what it needs, alone."""
    folder = tmp_path_factory.mktemp("index")
    needed = PROJECT["project"]["dependencies"]
    pip(sys.executable, "download", "--only-binary", ":all:", "--dest", str(folder), *needed)
    (folder / wheel.name).write_bytes(wheel.read_bytes())
    for path in [*folder.glob("*.whl")]:
        project = folder / "simple" / re.sub(r"[-_.]+", "-", path.name.partition("-")[0]).lower()
        project.mkdir(parents=True, exist_ok=True)
        path.rename(project / path.name)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Lists folders as an index of packages does, and writes no log."""

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def environment(index: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the package, installed where no compiler is found."""
    folder = tmp_path_factory.mktemp("installed") / "environment"
    venv.create(folder, with_pip=True, symlinks=True)
    found = {"PATH": str(folder / "bin"), "CC": "/bin/false", "PIP_CONFIG_FILE": os.devnull}
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PYTHONPATH"):
        found[name] = ""
    arguments = ("install", "--only-binary", ":all:", "--no-cache-dir", "--index-url", index)
    pip(folder / "bin/python", *arguments, "aten", **found)
    return folder


def run(environment: Path, *command: str) -> str:
    """What a command of the environment prints in a folder where nothing else is."""
    kept = {"HOME": str(environment), "PATH": str(environment / "bin")}
    done = subprocess.run(
        [environment / "bin" / command[0], *command[1:]],
        capture_output=True,
        text=True,
        cwd=environment,
        env={**kept, "ATEN_CACHE_DIR": str(environment / "kernels"), "CC": "/bin/false"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_main_job_runs_where_there_is_no_compiler(environment: Path) -> None:
    printed = run(environment, "aten", "run", "digits_cnn.pt2", "--input", "digits_test.npz")
    assert "accuracy   351 of 360 right" in printed


def test_numpy_is_not_installed_and_not_needed(environment: Path) -> None:
    listed = pip(environment / "bin/python", "list", "--format", "freeze").lower()
    assert "aten==" in listed
    assert "numpy==" not in listed
    assert "ml_dtypes==" not in listed
    script = str(Path(__file__).parent / "without_numpy.py")
    assert run(environment, "python", script) == "all done without NumPy\n"


def test_the_wheel_holds_what_users_need(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = archive.read(metadata).decode()
        modules = {name: archive.read(name) for name in names if name.endswith(".so")}
    assert f"\nVersion: {aten.__version__}\n" in text
    for need in PROJECT["project"]["dependencies"]:
        assert f"\nRequires-Dist: {need}\n" in text
    assert {name.partition("/")[0] for name in names} - {"aten"} == {metadata.partition("/")[0]}
    assert not [name for name in names if name.endswith((".pyx", ".c", ".h"))]
    assert len(modules) > 50
    # Neither symbols for debuggers nor a version of the C library that only new systems have.
    assert not [name for name, code in modules.items() if b".debug_info" in code]
    late = {name for name, code in modules.items() if re.search(rb"GLIBC_2\.(29|[3-9]\d)\b", code)}
    assert late == set()
