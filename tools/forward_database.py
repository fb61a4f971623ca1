"""Compare products with Jacobians (`func.jvp`) of torch's operator database with torch's.

    python tools/forward_database.py [NAME …] [--dtypes float64 …] [--samples N]

Prints what is wrong, and how many of the entries that have forward mode in torch are right.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from database_entries import entry_name, run_apart

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", nargs="*", default=["float64"])
    parser.add_argument("--samples", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(ROOT / "tests" / "conformance"))
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    entries = [
        one
        for one in op_db
        if one.supports_forward_ad and (not options.names or entry_name(one) in options.names)
    ]
    right = compared = 0
    for name, text in run_apart(entries, options, _problems):
        if text == "-":
            continue
        compared += 1
        right += not text
        if text:
            print(f"{name}: {text}", flush=True)
    print(
        f"{right} of {compared} entries are right; torch has forward mode for {len(entries)}, of "
        f"which {len(entries) - compared} have no sample that it runs"
    )
    return 0


def _problems(entry: Any, options: argparse.Namespace) -> str:
    import torch
    from forward_checks import check

    found, calls = [], 0
    try:
        for name in options.dtypes:
            dtype = getattr(torch, name)
            if dtype in entry.supported_backward_dtypes("cpu"):
                problem, compared = check(entry, dtype, options.samples)
                calls += compared
                if problem:
                    found.append(f"{name}: {' '.join(problem.split())}")
    except BaseException as failure:
        found.append(f"{type(failure).__name__}: {failure}")
    return "; ".join(found) or ("" if calls else "-")


if __name__ == "__main__":
    sys.exit(main())
