"""Compare the gradients of torch's operator database with torch's, or with finite differences.

    python tools/gradient_database.py [NAME …] [--dtypes float64 …] [--second] [--samples N]
    python tools/gradient_database.py [NAME …] --differences [--second] [--forward]
    python tools/gradient_database.py --write [RUN …]     kept numbers and docs/conformance.md

Prints what is wrong, and how many of the entries that have gradients in torch are right; beside
differences, by `gradcheck` in float64, also which lines of `derivatives.yaml` no sample reaches,
and which entries failed that torch's own tests leave out there, too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from database_entries import entry_name, run_apart

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests" / "conformance" / "gradient_database.json"
PAGE = ROOT / "docs" / "conformance.md"
HEADING = "## Gradients"
NEXT_HEADING = "## Core ATen"
# What `--write` runs: what it is called, and its options.
RUNS: dict[str, dict[str, Any]] = {
    "float64": {"dtypes": ["float64"]},
    "float32": {"dtypes": ["float32"]},
    "complex128": {"dtypes": ["complex128"]},
    "float64, second derivatives": {"dtypes": ["float64"], "second": True},
    "gradcheck": {"differences": True},
    "gradgradcheck": {"differences": True, "second": True},
    "gradcheck, forward mode": {"differences": True, "forward": True},
    "gradgradcheck, forward over reverse": {"differences": True, "second": True, "forward": True},
}
# How many samples of each entry it takes.
SAMPLES = 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", nargs="*", default=["float64"])
    parser.add_argument("--samples", type=int)
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--differences", action="store_true", help="beside finite differences")
    parser.add_argument("--forward", action="store_true", help="differences beside forward mode")
    parser.add_argument("--write", action="store_true", help="keep what all of it gives")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(ROOT / "tests" / "conformance"))
    if options.write:
        return _write(options)
    _report(options)
    return 0


def _report(options: argparse.Namespace) -> dict[str, Any]:
    """What is wrong by entry, how many entries there are, and which lines were reached."""
    # What every process needs is imported once, before they part.
    import gradient_checks
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    entries = [
        entry
        for entry in op_db
        if entry.supports_autograd
        and (not options.names or entry_name(entry) in options.names)
        and _dtypes(entry, options)
    ]
    wrong: dict[str, str] = {}
    left_out: list[str] = []
    reached: set[str] = set()
    unchecked = {
        entry_name(entry)
        for entry in entries
        if options.differences
        and gradient_checks.left_out(entry, second=options.second, forward=options.forward)
    }
    for name, outcome in run_apart(entries, options, _outcome):
        problem, lines = (outcome, []) if isinstance(outcome, str) else outcome
        reached.update(lines)
        if problem and name in unchecked:
            left_out.append(name)
        elif problem:
            wrong[name] = problem
            print(f"{name}: {problem}", flush=True)
    compared = len(entries) - len(left_out)
    print(f"{compared - len(wrong)} of {compared} entries with gradients are right")
    if not options.differences:
        return {"entries": compared, "wrong": wrong}
    print(f"left out by torch's own tests, too: {' '.join(sorted(left_out))}")
    from aten.autograd._generated import DERIVATIVES

    written = {key for key, rows in DERIVATIVES.items() if isinstance(rows, tuple)}
    derived = len(reached - set(DERIVATIVES))
    print(
        f"{len(written & reached)} of {len(written)} lines and {derived} derived rules are reached"
    )
    print(f"not reached: {' '.join(sorted(written - reached))}")
    return {
        "entries": compared,
        "wrong": wrong,
        "left_out": sorted(left_out),
        "derived": derived,
        "written": len(written),
        "reached": sorted(written & reached),
        "unreached": sorted(written - reached),
    }


def _dtypes(entry: Any, options: argparse.Namespace) -> list[Any]:
    import torch

    wanted = ["float64"] if options.differences else options.dtypes
    supported = entry.supported_backward_dtypes("cpu")
    return [dtype for dtype in (getattr(torch, name) for name in wanted) if dtype in supported]


def _write(options: argparse.Namespace) -> int:
    """Runs those of `RUNS` that are named, or all, and keeps what each gives as it finishes."""
    for title in options.names or RUNS:
        print(title)
        defaults = {**vars(options), "second": False, "differences": False, "names": []}
        defaults["forward"] = False
        found = _report(argparse.Namespace(**{**defaults, "samples": SAMPLES, **RUNS[title]}))
        found["wrong"] = {
            name: " ".join(problem.split())[:100] for name, problem in found["wrong"].items()
        }
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        KEPT.write_text(json.dumps({**kept, title: found}, indent=1, sort_keys=True) + "\n")
        page = PAGE.read_text()
        before = page.partition(HEADING + "\n" if HEADING + "\n" in page else NEXT_HEADING)[0]
        rest = page.partition(NEXT_HEADING)[2]
        PAGE.write_text(f"{before}{section()}\n\n{NEXT_HEADING}{rest}")
    return 0


def section() -> str:
    """The part of docs/conformance.md, from the kept numbers."""
    kept = json.loads(KEPT.read_text())
    lines = [
        HEADING,
        "",
        "Written by `python tools/gradient_database.py --write`: the entries of the database that",
        f"have gradients in torch, {SAMPLES} samples each, beside torch's gradients or, by",
        "`gradcheck` in float64, beside finite differences.",
        "",
        "| | right | of | wrong |",
        "|---|---|---|---|",
    ]
    for title in [title for title in RUNS if title in kept]:
        found = kept[title]
        names = ", ".join(f"`{name}`" for name in sorted(found["wrong"]))
        right = found["entries"] - len(found["wrong"])
        lines.append(f"| {title} | {right} | {found['entries']} | {names} |")
    for title in [title for title in RUNS if kept.get(title, {}).get("left_out")]:
        names = ", ".join(f"`{name}`" for name in kept[title]["left_out"])
        lines += ["", f"`{title}` does not hold for, and torch's own tests leave out: {names}."]
    if "gradcheck" in kept:
        checked = kept["gradcheck"]
        reached = checked["written"] - len(checked["unreached"])
        unreached = ", ".join(f"`{name}`" for name in checked["unreached"])
        lines += [
            "",
            f"`gradcheck` reaches {reached} of the {checked['written']} operators with formulas in",
            f"`derivatives.yaml` and {checked['derived']} rules that are derived. The others are "
            "compared in",
            "`tests/unit/test_derivative_lines.py` and `test_derived_rules.py`:",
            f"{unreached}.",
        ]
    return "\n".join(lines)


def _outcome(entry: Any, options: argparse.Namespace) -> tuple[str, list[str]]:
    """What is wrong, and the operators whose rules were asked for."""
    from gradient_checks import check, check_differences

    from aten.autograd import rules

    reached: list[str] = []
    rule_of = rules.rule_of

    def noted(op: Any) -> Any:
        found = rule_of(op)
        if found.formulas and not found.missing:
            reached.append(rules.line_of(op))
        return found

    rules.rule_of = noted
    found = []
    try:
        if options.differences:
            found.append(
                check_differences(
                    entry, options.samples, second=options.second, forward=options.forward
                )
            )
        else:
            found += [
                check(entry, dtype, options.samples, second=options.second)
                for dtype in _dtypes(entry, options)
            ]
    except BaseException as failure:
        found.append(f"{type(failure).__name__}: {failure}")
    return "; ".join(" ".join(one.split()) for one in found if one), reached


if __name__ == "__main__":
    sys.exit(main())
