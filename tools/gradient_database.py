"""Compare the gradients of torch's operator database with torch's.

    python tools/gradient_database.py [NAME …] [--dtypes float64 …] [--second] [--samples N]

Prints what is wrong, and how many of the entries that have gradients in torch are right.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", nargs="*", default=["float64"])
    parser.add_argument("--samples", type=int)
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(ROOT / "tests" / "conformance"))
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    entries = [
        entry
        for entry in op_db
        if entry.supports_autograd and (not options.names or entry_name(entry) in options.names)
    ]
    right = 0
    for name, problem in run_apart(entries, options, _problems):
        right += not problem
        if problem:
            print(f"{name}: {problem}", flush=True)
    print(f"{right} of {len(entries)} entries with gradients are right")
    return 0


def entry_name(entry: Any) -> str:
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def run_apart(
    entries: list[Any],
    options: argparse.Namespace,
    problems: Callable[[Any, argparse.Namespace], str],
) -> Iterator[tuple[str, str]]:
    """Names and problems, a process for each entry."""
    waiting, running = list(reversed(entries)), {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            entry = waiting.pop()
            reading, writing = os.pipe()
            process = os.fork()
            if not process:
                os.close(reading)
                os.write(writing, problems(entry, options).encode()[:60000] or b" ")
                os._exit(0)
            os.close(writing)
            running[reading] = (entry, process, time.monotonic() + options.seconds)
        ready, _, _ = select.select(list(running), [], [], 1.0)
        for pipe in ready:
            entry, process, _ = running.pop(pipe)
            text = os.read(pipe, 1 << 16).decode(errors="replace")
            os.close(pipe)
            os.waitpid(process, 0)
            yield entry_name(entry), text.strip() if text else "crashed"
        for pipe, (entry, process, deadline) in list(running.items()):
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                os.close(pipe)
                del running[pipe]
                yield entry_name(entry), "hung"


def _problems(entry: Any, options: argparse.Namespace) -> str:
    import torch
    from gradient_checks import check

    found = []
    try:
        for name in options.dtypes:
            dtype = getattr(torch, name)
            if dtype not in entry.supported_backward_dtypes("cpu"):
                continue
            problem = check(entry, dtype, options.samples, second=options.second)
            if problem:
                found.append(f"{name}: {' '.join(problem.split())}")
    except BaseException as failure:
        found.append(f"{type(failure).__name__}: {failure}")
    return "; ".join(found)


if __name__ == "__main__":
    sys.exit(main())
