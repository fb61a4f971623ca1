"""Run tests on a checked build of the core.

    python tools/checked_build.py [--sanitize | --sanitize-threads] [TEST …]
    python tools/checked_build.py --sanitize --run 'tools/fuzz.py --calls 1000000'
    python tools/checked_build.py --guard [--bounds] [TEST …]

The sources are copied, the directives at their heads turned to checking (bounds, None, values not
initialized), and the copy is installed beside the tests that run on it. With `--sanitize` the C
compiler adds the address sanitizer, too, with `--sanitize-threads` the one that tells of memory two
threads touch without an order between them; what it tells is printed, and the status is 1 then.
Directives at a file's head win over the command line's, so an option of the build could not do
this. `--run` runs a Python program, not tests.

With `--guard` the tests run twice, every tensor between pages that cannot be touched: flush with
the one at its end, then with the one at its start (`ATEN_MEMORY_GUARD`). Compiled kernels are
checked as well, which neither of the others can do. They run on the installed package, or with
`--bounds` or `--sanitize` on a checked build.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The sanitizers' libraries, and what they are told: an allocation that is refused is an exception,
# the interpreter frees nothing at its end, and work goes on after a report of threads.
SANITIZERS = {
    "address": (
        "libasan.so",
        {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=6144"},
    ),
    "thread": (
        "libtsan.so",
        {
            "TSAN_OPTIONS": "report_bugs=1:halt_on_error=0:die_after_fork=0:"
            "report_signal_unsafe=0:allocator_may_return_null=1:max_allocation_size_mb=6144"
        },
    ),
}
# Reports that are none. glibc frees a dead thread's variables, which another thread's memory was
# before, in its loader, where the sanitizer sees neither the end of the one nor the reuse.
NO_RACES = "race:_dl_deallocate_tls\n"
# An editable installation comes before every path; what is installed for the run has to be met.
CUSTOMIZATION = """import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "MesonpyMetaFinder"]
"""
DIRECTIVES = ("boundscheck", "initializedcheck", "nonecheck")


def checked_copy(folder: Path) -> Path:
    """The tree under version control, with checking directives."""
    copy = folder / "source"
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    for path in copy.glob("src/aten/**/*.pyx"):
        text = path.read_text()
        for directive in DIRECTIVES:
            text = text.replace(f"{directive}=False", f"{directive}=True", 1)
        path.write_text(text)
    return copy


def run(command: list[str], sanitizer: str, guards: tuple[str, ...]) -> int:
    """Build and run the command, once for each of `guards`; an exit status, 0 where all passed."""
    environment = dict(os.environ)
    if sanitizer:
        environment["CFLAGS"] = environment["LDFLAGS"] = f"-fsanitize={sanitizer} -g"
    with tempfile.TemporaryDirectory() as folder:
        copy = checked_copy(Path(folder))
        packages = Path(folder) / "packages"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*install, packages, copy], env=environment, check=True)
        (packages / "sitecustomize.py").write_text(CUSTOMIZATION)
        environment |= {"PYTHONPATH": str(packages), "ATEN_CACHE_DIR": str(Path(folder) / "cache")}
        if sanitizer:
            own_library, told = SANITIZERS[sanitizer]
            # The sanitizer looks for the C++ library when it starts; matplotlib brings it later.
            libraries = [
                subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()
                for name in (own_library, "libstdc++.so.6")
            ]
            # Tests keep what their processes print to themselves.
            told = {
                name: f"{value}:log_path={Path(folder) / 'report'}" for name, value in told.items()
            }
            if sanitizer == "thread":
                suppressions = Path(folder) / "suppressions"
                suppressions.write_text(NO_RACES)
                told["TSAN_OPTIONS"] += f":suppressions={suppressions}"
            environment |= {"LD_PRELOAD": ":".join(libraries)} | told
        require_build(packages, environment)
        status = run_guarded(command, environment, guards)
        return max(status, print_reports(Path(folder)) if sanitizer else 0)


def print_reports(folder: Path) -> int:
    """Print what the sanitizer has told; 1 if that is anything but refused memory."""
    reports = [path.read_text(errors="replace") for path in sorted(folder.glob("report.*"))]
    found = [report for report in reports if "SUMMARY: " in report]
    print(*found, f"{len(found)} processes with reports of the sanitizer", sep="\n")
    return int(bool(found))


def require_build(packages: Path, environment: dict[str, str]) -> None:
    """Raises RuntimeError where another installation than that in `packages` would be run."""
    asked = [sys.executable, "-c", "import aten._core.memory.allocator as one; print(one.__file__)"]
    found = subprocess.check_output(asked, env=environment, cwd=ROOT, text=True).strip()
    if not Path(found).is_relative_to(packages):
        raise RuntimeError(f"checked build: expected modules below {packages}, found {found}")


def run_guarded(command: list[str], environment: dict[str, str], guards: tuple[str, ...]) -> int:
    statuses = []
    for guard in guards:
        print(f"guard: {guard}" if guard else "no guard", flush=True)
        guarded = environment | {"ATEN_MEMORY_GUARD": guard}
        status = subprocess.run(command, env=guarded, cwd=ROOT).returncode
        if status < 0:
            print(f"ended by signal {-status}")
        statuses.append(abs(status))
    return max(statuses)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for option, sanitizer in (("--sanitize", "address"), ("--sanitize-threads", "thread")):
        parser.add_argument(
            option, dest="sanitizer", action="store_const", const=sanitizer, default=""
        )
    parser.add_argument("--guard", action="store_true", help="guarded memory, in both places")
    parser.add_argument("--bounds", action="store_true", help="with --guard: a checked build, too")
    parser.add_argument("--run", help="a Python program with its arguments")
    parser.add_argument("tests", nargs="*", default=["tests/unit"])
    options = parser.parse_args()
    guards = ("end", "start") if options.guard else ("",)
    arguments = shlex.split(options.run) if options.run else ["-m", "pytest", "-q", *options.tests]
    command = [sys.executable, *arguments]
    if options.guard and not (options.bounds or options.sanitizer):
        sys.exit(run_guarded(command, dict(os.environ), guards))
    sys.exit(run(command, options.sanitizer, guards))
