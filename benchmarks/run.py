"""The benchmarks: python benchmarks/run.py [GROUP ...] [--only TEXT] [--write]

Each number is printed beside torch's where torch has one, both measured in turn in this run, and
kept in benchmarks/results/GROUP.json; those of a processor other than the one that these are of, in
a folder of its own beside it. `--write` makes README.md's table and docs/performance.md of
the kept numbers; alone, it measures nothing. `--only` measures the cases whose names contain a
text, and keeps nothing. The exit status is 1 where a number is missing or out of its bounds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import pages
from timing import Result, measure, show

GROUPS = (
    "digits",
    "ahead",
    "overhead",
    "custom_operators",
    "pointwise",
    "reduce",
    "layouts",
    "index",
    "gemm",
    "convolution",
    "low_precision",
    "attention",
    "linalg",
    "fourier",
    "resampling",
    "rng",
    "lstm",
    "training",
    "programs",
    "compiled",
    "everyday",
    "models",
    "busy",
    "memory",
    "profiler",
    "import_time",
    "installed_size",
    "compile_time",
)


def machine() -> dict[str, Any]:
    """What the numbers were measured on; with tile registers it is another processor."""
    fields = dict[str, str]()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name", platform.machine())
    if "amx_tile" in fields.get("flags", "").split():
        name += " with tile registers"
    return {
        "processor": name,
        "processors": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
    }


def run_group(name: str) -> list[Result]:
    """Measure, print and keep one group's numbers."""
    try:
        results: list[Result] = importlib.import_module(name).run()
    except Exception as error:
        results = [Result(name, "", problem=f"{type(error).__name__}: {error}".splitlines()[0])]
    print(name)
    show(results)
    kept = {"machine": machine(), "results": [result.as_json() for result in results]}
    path = pages.path_of(name, kept["machine"]["processor"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return results


def run_only(name: str, text: str) -> list[Result]:
    """Measure and print the cases of a group whose names contain `text`."""
    module = importlib.import_module(name)
    chosen = [case for case in module.cases() if text in case.name]
    timed = getattr(module, "measured", measure)
    results: list[Result] = timed(chosen)
    print(name)
    show(results)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP")
    parser.add_argument("--write", action="store_true", help="write the pages of the kept numbers")
    parser.add_argument("--only", metavar="TEXT", help="measure the cases with TEXT in their names")
    options = parser.parse_args()
    wanted = options.groups or (() if options.write else GROUPS)
    load = os.getloadavg()[0]
    if wanted and load > 0.5:
        print(f"the machine is busy (load {load:.1f}): times and ratios will be off")
    if options.only is not None:
        results = [result for group in wanted for result in run_only(group, options.only)]
        return 0 if all(result.met for result in results) else 1
    results = [result for group in wanted for result in run_group(group)]
    if options.write:
        pages.write(GROUPS)
    return 0 if all(result.met for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
