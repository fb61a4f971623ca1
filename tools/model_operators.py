#!/usr/bin/env python3
"""The operators of 133 architectures, in every form that programs can be brought into.

    python tools/model_operators.py [NAME...] [--forms core prims functional fake] [--calls N]

Of each operator in `tests/data/model_ops.json`: is it there, and do calls give the same when it is
taken apart to Core ATen and to primitives, when it is functionalized, and, but for values, when it
runs without data. A table in numbers, and every operator that falls short. The exit status is 1
where one does.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from aten import registry
from aten.conformance.examination import FAILED, FORMS, MISSING, Limits, check_forms
from aten.transforms import is_leaf

ROOT = Path(__file__).parents[1]
LISTS = ("core_ir", "training_ir", "training_graphs")
DTYPES = ("float32", "int64", "bool")


def listed_operators() -> list[str]:
    """The qualified names in the file, each once; those that it says nothing of are `default`."""
    lists = json.loads((ROOT / "tests" / "data" / "model_ops.json").read_text())
    return list(dict.fromkeys(entry["op"] for name in LISTS for entry in lists[name]))


def is_known(name: str) -> bool:
    """Whether there is an operator of this name."""
    return registry.find_operator(name) is not None


def suits(name: str, form: str) -> bool:
    """Whether a form says anything of an operator: what writes is only made functional."""
    op = registry.operator(name)
    if form in ("core", "prims"):
        writes = any(one.is_write for one in op._schema.arguments)
        return not writes and op.namespace == "aten" and not is_leaf(op, form)
    return op.namespace == "aten"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--forms", nargs="+", choices=tuple(FORMS), default=tuple(FORMS))
    parser.add_argument("--calls", type=int, default=4)
    options = parser.parse_args()
    listed = [
        one
        for one in listed_operators()
        if not options.names or one.split("::")[1] in options.names
    ]
    known = [name for name in listed if is_known(name)]
    print(f"{len(listed)} operators listed, {len(known)} known")
    wrong = [f"{name}: not known" for name in listed if name not in known]
    limits = Limits(compared=options.calls)
    for form in options.forms:
        suited = [name for name in known if suits(name, form)]
        counts: Counter[str] = Counter()
        called: set[str] = set()
        for one in check_forms(form, suited, DTYPES, limits=limits):
            counts[one.status] += 1
            if one.calls:
                called.add(one.operator)
            if one.status in (FAILED, MISSING):
                wrong.append(f"{form}: {one.operator} {one.dtype}: {one.status}: {one.reason}")
        numbers = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        print(f"{form}: {len(called)} of {len(suited)} operators called; by dtype {numbers}")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
