"""Run tests on a checked build of the core.

    python tools/checked_build.py [--sanitize] [TEST …]
    python tools/checked_build.py --guard [--bounds] [TEST …]

The sources are copied, the directives at their heads turned to checking (bounds, None, values not
initialized), and the copy is installed beside the tests that run on it. With `--sanitize` the C
compiler adds the address sanitizer, too. Directives at a file's head win over the command line's,
so an option of the build could not do this.

With `--guard` the tests run twice, every tensor between pages that cannot be touched: flush with
the one at its end, then with the one at its start (`ATEN_MEMORY_GUARD`). Compiled kernels are
checked as well, which neither of the others can do. They run on the installed package, or with
`--bounds` or `--sanitize` on a checked build.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# An allocation that is refused is an exception; the interpreter frees nothing at its end.
OPTIONS = "detect_leaks=0:allocator_may_return_null=1"
DIRECTIVES = ("boundscheck", "initializedcheck", "nonecheck")


def checked_copy(folder: Path) -> Path:
    """The tree under version control, with checking directives."""
    copy = folder / "source"
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    for path in copy.glob("src/aten/_core/*.pyx"):
        text = path.read_text()
        for directive in DIRECTIVES:
            text = text.replace(f"{directive}=False", f"{directive}=True", 1)
        path.write_text(text)
    return copy


def run(tests: list[str], sanitize: bool, guards: tuple[str, ...]) -> int:
    """Build and run the tests, once for each of `guards`; an exit status, 0 where all passed."""
    environment = dict(os.environ)
    if sanitize:
        environment["CFLAGS"] = environment["LDFLAGS"] = "-fsanitize=address -g"
    with tempfile.TemporaryDirectory() as folder:
        copy = checked_copy(Path(folder))
        packages = Path(folder) / "packages"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*install, packages, copy], env=environment, check=True)
        environment |= {"PYTHONPATH": str(packages), "ATEN_CACHE_DIR": str(Path(folder) / "cache")}
        if sanitize:
            # The sanitizer looks for the C++ library when it starts; matplotlib brings it later.
            libraries = [
                subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()
                for name in ("libasan.so", "libstdc++.so.6")
            ]
            environment |= {"LD_PRELOAD": ":".join(libraries), "ASAN_OPTIONS": OPTIONS}
        return run_tests(tests, environment, guards)


def run_tests(tests: list[str], environment: dict[str, str], guards: tuple[str, ...]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", *tests]
    statuses = []
    for guard in guards:
        print(f"guard: {guard}" if guard else "no guard", flush=True)
        guarded = environment | {"ATEN_MEMORY_GUARD": guard}
        statuses.append(subprocess.run(command, env=guarded, cwd=ROOT).returncode)
    return max(statuses)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--guard", action="store_true", help="guarded memory, in both places")
    parser.add_argument("--bounds", action="store_true", help="with --guard: a checked build, too")
    parser.add_argument("tests", nargs="*", default=["tests/unit"])
    options = parser.parse_args()
    guards = ("end", "start") if options.guard else ("",)
    if options.guard and not (options.bounds or options.sanitize):
        sys.exit(run_tests(options.tests, dict(os.environ), guards))
    sys.exit(run(options.tests, options.sanitize, guards))
