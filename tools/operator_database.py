"""Compare aten with torch over torch's operator database; each entry in a process of its own.

    python tools/operator_database.py [NAME...] [--family FAMILY...] [--samples N] [--jobs N]
    python tools/operator_database.py --dtypes all --write      docs/conformance.md, the baseline
    python tools/operator_database.py --device reference --forms function [--write]
                                                   there, over the primitives
    python tools/operator_database.py --forms fake            sizes and strides without data
    python tools/operator_database.py --check      fails where an entry is worse than the baseline

Without names it runs all 702 entries. A crash or a hang is counted, and stops nothing. With
`--guard end` or `--guard start` aten's tensors lie between pages that cannot be touched: a wild
access is a crash.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BASELINE = ROOT / "tests" / "conformance" / "operator_database.json"
REFERENCE = BASELINE.with_suffix(".reference.json")
PAGE = ROOT / "docs" / "conformance.md"
RIGHT = "right"
# What is not as torch has it, and stays so: entries, dtypes, why.
ON_PURPOSE = (
    (
        "special.bessel_j0, special.bessel_j1, special.bessel_y0, special.bessel_y1",
        "float64",
        "between 5 and 6 torch is off by up to 2e-6; aten is right to 2e-15 there as elsewhere",
    ),
    (
        "matrix_exp, linalg.matrix_exp",
        "float16, bfloat16",
        "torch's exp(I) is -20896 on its diagonal in float16; aten's is right, computed in float64",
    ),
    (
        "div, floor_divide",
        "float16, bfloat16",
        "by a divisor of one element torch truncates quotients that it has not rounded to the type",
    ),
    (
        "cumsum, cumprod",
        "complex64, complex128",
        "into an out= of integers torch adds what is left without imaginary parts; aten refuses",
    ),
    (
        "nn.functional.soft_margin_loss",
        "float16",
        "torch's exp overflows before the logarithm is taken; aten's result is that of float32",
    ),
    (
        "polygamma",
        "int8, int16",
        "at the poles torch gives what rounding leaves, 6e12 or 1e15; aten gives inf",
    ),
    (
        "linalg.eig, linalg.eigh",
        "float64, complex128",
        "vectors of another sign, or phase, belong to the same value",
    ),
)

Outcome = dict[str, Any]


def main() -> int:
    options = _options()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["DATABASE_DEVICE"] = options.device
    if options.guard:
        os.environ["ATEN_MEMORY_GUARD"] = options.guard
    sys.path.insert(0, str(ROOT / "tests" / "conformance"))
    entries = _entries(options)
    outcomes: dict[str, Outcome] = {}
    for name, outcome in run(entries, options):
        outcomes[name] = outcome
        if options.verbose or len(entries) < 60 or outcome["status"] in ("crash", "hang"):
            _print(name, outcome)
        if options.json and len(outcomes) % 16 == 0:  # a run of hours may be stopped
            _write_json(options.json, outcomes)
    if options.merge:
        outcomes = json.loads(options.merge.read_text()) | outcomes
    print(_summary(outcomes))
    if options.json:
        _write_json(options.json, outcomes)
    if options.write and options.device == "reference":
        REFERENCE.write_text(json.dumps(_kept(outcomes), indent=1) + "\n")
    elif options.write:
        _write(outcomes)
    return _check(outcomes) if options.check else 0


def _write_json(place: str, outcomes: dict[str, Outcome]) -> None:
    Path(place).write_text(json.dumps(outcomes, indent=1, sort_keys=True) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="entries (add, std.unbiased); default: all")
    parser.add_argument("--family", nargs="*", default=[], help="families of entries")
    parser.add_argument("--samples", type=int, help="at most so many of an entry's samples")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300, help="until an entry counts as hung")
    parser.add_argument("--guard", choices=("end", "start"), help="where memory is guarded")
    parser.add_argument("--device", default="cpu", help="where aten's tensors are")
    parser.add_argument("--forms", nargs="*", help="of function, method, inplace, operator, …")
    parser.add_argument("--dtypes", nargs="*", help="dtypes, or all; default: float32 int64 bool")
    parser.add_argument("--json", help="write the outcomes there")
    parser.add_argument("--merge", type=Path, help="outcomes of the other entries, from --json")
    parser.add_argument("--write", action="store_true", help="write page and baseline")
    parser.add_argument("--check", action="store_true", help="compare with the baseline")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def full_name(entry: Any) -> str:
    variant = entry.variant_test_name
    return f"{entry.name}.{variant}" if variant else str(entry.name)


def families() -> dict[str, str]:
    facts = json.loads((ROOT / "tests" / "data" / "op_db.json").read_text())
    return {fact["name"]: fact["family"] for fact in facts}


def _entries(options: argparse.Namespace) -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    by_family = families()
    chosen = [
        entry
        for entry in op_db
        if (not options.names and not options.family)
        or full_name(entry) in options.names
        or by_family.get(full_name(entry)) in options.family
    ]
    unknown = set(options.names) - {full_name(entry) for entry in chosen}
    if unknown:
        raise SystemExit(f"no such entries: {', '.join(sorted(unknown))}")
    return chosen


def run(entries: list[Any], options: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Names and outcomes, as entries finish."""
    import torch

    torch.set_num_threads(1)
    waiting, running = list(reversed(entries)), {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            entry = waiting.pop()
            process, pipe = _start(entry, options)
            running[pipe] = (entry, process, time.monotonic() + options.seconds, bytearray())
        ready, _, _ = select.select(list(running), [], [], 1.0)
        for pipe in ready:
            piece = os.read(pipe, 1 << 16)
            running[pipe][3].extend(piece)
            if not piece:
                entry, process, _, text = running.pop(pipe)
                yield full_name(entry), _finish(process, pipe, bytes(text))
        for pipe, (entry, process, deadline, _) in list(running.items()):
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                os.close(pipe)
                del running[pipe]
                yield full_name(entry), {"status": "hang"}


def _start(entry: Any, options: argparse.Namespace) -> tuple[int, int]:
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    os.close(reading)
    from database_checks import DTYPES, EVERY_DTYPE, FORMS, check, dtypes_of, has_samples

    among = EVERY_DTYPE if options.dtypes == ["all"] else options.dtypes or DTYPES
    outcome: Outcome = {"dtypes": {}}
    for dtype in dtypes_of(entry, among):
        if not has_samples(entry, dtype):
            continue
        name = str(dtype).removeprefix("torch.")
        outcome["dtypes"][name] = check(entry, dtype, options.samples, options.forms or FORMS)
    with os.fdopen(writing, "w") as pipe:
        json.dump(outcome, pipe)
    os._exit(0)


def _finish(process: int, pipe: int, text: bytes) -> Outcome:
    os.close(pipe)
    status = os.waitpid(process, 0)[1]
    if os.WIFSIGNALED(status):
        return {"status": "crash", "signal": os.WTERMSIG(status)}
    if status or not text:
        return {"status": "crash", "signal": 0}
    outcome: Outcome = json.loads(text)
    problems = [form for forms in outcome["dtypes"].values() for form in forms.values()]
    missing = any(
        forms.get("function", "").startswith("missing") for forms in outcome["dtypes"].values()
    )
    outcome["status"] = "missing" if missing else "wrong" if problems else RIGHT
    if not outcome["dtypes"]:
        outcome["status"] = "without samples for the CPU"
    return outcome


def _print(name: str, outcome: Outcome) -> None:
    print(f"{name}: {outcome['status']}")
    for dtype, forms in outcome.get("dtypes", {}).items():
        for form, problem in forms.items():
            print(f"    {dtype} {form}: {' '.join(problem.split())[:300]}")


def _summary(outcomes: dict[str, Outcome]) -> str:
    counts = Counter(outcome["status"] for outcome in outcomes.values())
    listed = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{len(outcomes)} entries: {listed}"


def _condensed(outcome: Outcome) -> Any:
    """What the baseline keeps: the status, or the forms that are wrong by dtype."""
    if outcome["status"] != "wrong":
        return outcome["status"]
    return {dtype: sorted(forms) for dtype, forms in outcome["dtypes"].items() if forms}


def _check(outcomes: dict[str, Outcome]) -> int:
    baseline = json.loads(BASELINE.read_text())
    worse = [
        name
        for name, outcome in outcomes.items()
        if _new_problems(outcome, baseline.get(name))
        or (outcome["status"] in ("crash", "hang") and baseline.get(name) != outcome["status"])
    ]
    for name in worse:
        print("worse than the baseline:")
        _print(name, outcomes[name])
    return 1 if worse else 0


def _new_problems(outcome: Outcome, kept: Any) -> bool:
    """Whether a form is wrong for a dtype for which the baseline does not say so."""
    if outcome["status"] == RIGHT or (isinstance(kept, str) and kept != RIGHT):
        return False
    known = {} if kept == RIGHT or kept is None else kept
    found = outcome.get("dtypes", {}).items()
    return not found or any(set(forms) - set(known.get(dtype, ())) for dtype, forms in found)


def _write(outcomes: dict[str, Outcome]) -> None:
    BASELINE.write_text(json.dumps(_kept(outcomes), indent=1) + "\n")
    PAGE.write_text(_page(outcomes))


def _kept(outcomes: dict[str, Outcome]) -> dict[str, Any]:
    return {name: _condensed(outcome) for name, outcome in sorted(outcomes.items())}


def _reference() -> list[str]:
    """The line on the device `reference`, where all is made of primitives' references."""
    kept = json.loads(REFERENCE.read_text())
    right = sum(one == RIGHT for one in kept.values())
    others = ", ".join(f"`{name}`" for name, one in kept.items() if isinstance(one, dict))
    return [
        (
            f"On the device `reference`, function forms with float32, int64 and bool: {right} of "
            f"{len(kept)} right; wrong are {others or 'none'}."
        ),
        "",
    ]


def _page(outcomes: dict[str, Outcome]) -> str:
    from core_aten import section as core_section
    from gradient_database import section as gradient_section
    from missing_overloads import section

    groups: dict[str, list[str]] = defaultdict(list)
    for name, family in families().items():
        if name in outcomes:
            groups[family].append(name)
    dtypes = ("float32", "int64", "bool")
    lines = [
        "# Conformance",
        "",
        "Written by `python tools/operator_database.py --dtypes all --write`: torch's operator",
        "database, run on torch and on aten. An entry is right where all its samples agree for",
        "every dtype of the CPU's that torch has for it: function, method, in-place, operator and",
        "`out=` forms, what shares memory with what, and the exceptions for its error inputs. What",
        "is compared how is said in `tests/conformance/database_checks.py`.",
        "",
        (
            f"**{_summary(outcomes)}; with float32, int64 and bool alone "
            f"{sum(_is_right(one, dtypes) for one in outcomes.values())} right.**"
        ),
        "",
        *_by_dtype(outcomes),
        "",
        *_reference(),
        "| family | right | of | " + " | ".join(dtypes) + " |",
        "|---|---|---|" + "---|" * len(dtypes),
    ]
    for family, names in sorted(groups.items()):
        right = sum(outcomes[name]["status"] == RIGHT for name in names)
        cells = " | ".join(_dtype_cell([outcomes[name] for name in names], one) for one in dtypes)
        lines.append(f"| {family} | {right} | {len(names)} | {cells} |")
    lines += on_purpose()
    lines += ["", "## Not right yet", "", "| entry | family | what |", "|---|---|---|"]
    for family, names in sorted(groups.items()):
        for name in names:
            if outcomes[name]["status"] != RIGHT:
                lines.append(f"| {name} | {family} | {_words(outcomes[name])} |")
    lines += ["", gradient_section(), "", core_section(), "", *section()]
    return "\n".join(lines) + "\n"


def _is_right(outcome: Outcome, dtypes: Sequence[str]) -> bool:
    """Right as far as these dtypes go; for an entry that has none of them, in those it has."""
    if outcome["status"] in (RIGHT, "wrong"):
        having = outcome["dtypes"]
        return not any(
            forms
            for name, forms in having.items()
            if name in dtypes or not (set(dtypes) & set(having))
        )
    return False


def _by_dtype(outcomes: dict[str, Outcome]) -> list[str]:
    names = dict.fromkeys(name for one in outcomes.values() for name in one.get("dtypes", ()))
    rows = [f"| {name} | {_dtype_cell([*outcomes.values()], name)} |" for name in names]
    return ["| dtype | entries right, of those torch has |", "|---|---|", *rows]


def on_purpose() -> list[str]:
    """The part of the page on what differs from torch and is meant to."""
    lines = ["", "## Different on purpose", "", "| entry | dtypes | why |", "|---|---|---|"]
    return [*lines, *(f"| {' | '.join(one)} |" for one in ON_PURPOSE)]


def _dtype_cell(outcomes: list[Outcome], dtype: str) -> str:
    having = [one["dtypes"][dtype] for one in outcomes if dtype in one.get("dtypes", {})]
    return f"{sum(not forms for forms in having)}/{len(having)}" if having else "–"


def _words(outcome: Outcome) -> str:
    condensed = _condensed(outcome)
    if isinstance(condensed, str):
        return condensed
    return "; ".join(f"{dtype}: {', '.join(forms)}" for dtype, forms in condensed.items())


if __name__ == "__main__":
    raise SystemExit(main())
