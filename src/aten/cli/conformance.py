"""Compare a device with the CPU: every operator of an opset, on calls drawn from its schema.

With --decomposed it is the CPU's operators, taken apart to core or prims, that are compared.

Prints what fails and what is missing, and how many there are of each. The exit status is 1 where
something failed or is missing. --backend names a Python file that registers the device.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aten.conformance import Outcome

NAME = "conformance"
SUMMARY = "compare a device with the CPU, operator by operator"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", metavar="PATTERN", nargs="?", default="")
    compared = parser.add_mutually_exclusive_group(required=True)
    compared.add_argument("--device", help="the device: reference, or your own")
    compared.add_argument("--decomposed", choices=("core", "prims"), help="operators taken apart")
    parser.add_argument("--backend", type=Path, metavar="FILE", help="a file that registers it")
    parser.add_argument("--opset", choices=("prims", "core", "all"), default="core")
    parser.add_argument("--dtypes", nargs="*", default=["float32", "int64", "bool"])
    parser.add_argument("--calls", type=int, default=4, help="compared for an operator and dtype")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write outcomes there")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write outcomes there, as XML")


def execute(options: argparse.Namespace) -> None:
    import runpy

    from aten import conformance
    from aten.conformance import examination

    if options.backend is not None:
        runpy.run_path(str(options.backend))
    outcomes = []
    what = f"{options.device}, opset {options.opset}"
    if options.decomposed:
        what = f"decomposed to {options.decomposed}"
    for outcome in _outcomes(options):
        outcomes.append(outcome)
        if outcome.status in (examination.FAILED, examination.MISSING):
            print(f"{outcome.status}: {outcome.operator} [{outcome.dtype}] {outcome.reason}")
    print(f"{what}: {conformance.summary(outcomes)}")
    if options.json is not None:
        conformance.write_json(options.json, what, outcomes)
    if options.junit is not None:
        conformance.write_junit(options.junit, what, outcomes)
    if any(one.status in (examination.FAILED, examination.MISSING) for one in outcomes):
        raise SystemExit(1)


def _outcomes(options: argparse.Namespace) -> Iterator[Outcome]:
    from aten import conformance

    limits = conformance.Limits(compared=options.calls)
    if options.decomposed:
        return conformance.check_decompositions(
            options.decomposed,
            options.dtypes,
            pattern=options.pattern,
            limits=limits,
            seed=options.seed,
        )
    return conformance.check(
        options.device,
        options.opset,
        options.dtypes,
        pattern=options.pattern,
        limits=limits,
        seed=options.seed,
    )
