"""How many of the 193 Core ATen overloads agree with torch, by dtype and device.

    python tools/core_aten.py [NAME…] [--device cpu|meta|reference|FILE] [--dtypes …]
    python tools/core_aten.py --write     all devices; the kept numbers and docs/conformance.md

A call is one that torch takes (`tests/conformance/core_calls.py` says where they come from).
Values, dtypes, shapes, strides and what shares memory with what are compared; on `meta` all but
values, for calls that torch takes there. A FILE registers a device: `examples/backend_numpy.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests" / "conformance" / "core_aten.json"
PAGE = ROOT / "docs" / "conformance.md"
HEADING = "## Core ATen"
NEXT_HEADING = "## Overloads without a row"
EXAMPLE = "examples/backend_numpy.py"
# What is asked of a device; the CPU is asked for every dtype.
ASKED = {
    "cpu": (
        *("float64", "float32", "float16", "bfloat16", "complex64", "complex128"),
        *("int64", "int32", "int16", "int8", "uint8", "bool"),
    ),
    "meta": ("float32", "int64", "bool"),
    "reference": ("float32", "int64", "bool"),
    EXAMPLE: ("float32", "int64", "bool"),
}
# Devices may find equal elements in another order than the CPU. Where these have their `dim`.
_DIM_OF_ORDERINGS = {"sort": 1, "topk": 2}
# By dtype: how many overloads torch has there, and what is wrong with those that do not agree.
Report = dict[str, dict[str, Any]]


def main() -> int:
    options = _options()
    if options.write:
        return _write()
    dtypes = options.dtypes or ASKED[options.device]
    report = examine(options.device, dtypes, options.names, options.calls)
    for dtype, found in report.items():
        print(f"{options.device} {dtype}: {found['right']} of {found['torch']}")
        for name, problem in found["wrong"].items():
            print(f"    {name}: {' '.join(problem.split())[:300]}")
    if options.json:
        options.json.write_text(json.dumps(report))
    return 1 if any(found["wrong"] for found in report.values()) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="overloads (add.Tensor); default: all")
    parser.add_argument("--device", default="cpu", choices=list(ASKED))
    parser.add_argument("--dtypes", nargs="*")
    parser.add_argument("--calls", type=int, default=8, help="at most so many of an overload")
    parser.add_argument("--json", type=Path, help="write the report there")
    parser.add_argument("--write", action="store_true", help="keep what all devices give")
    return parser.parse_args()


def examine(device: str, dtypes: Sequence[str], names: list[str], limit: int) -> Report:
    os.environ["DATABASE_DEVICE"] = _device_name(device)
    sys.path.insert(0, str(ROOT / "tests" / "conformance"))
    if device.endswith(".py"):
        runpy.run_path(str(ROOT / device))
    import core_calls
    import torch

    torch.set_num_threads(1)
    known = core_calls.overloads()
    unknown = set(names) - {one.name for one in known}
    if unknown:
        raise SystemExit(f"not of the core: {', '.join(sorted(unknown))}")
    chosen = [one for one in known if not names or one.name in names]
    report: Report = {}
    for dtype in dtypes:
        wrong: dict[str, str] = {}
        present = 0
        for overload in chosen:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                calls = core_calls.calls(overload, getattr(torch, dtype), limit)
                present += bool(calls)
                problem = _problem(overload, calls, device == "meta")
            if problem:
                wrong[overload.name] = problem
        report[dtype] = {"torch": present, "right": present - len(wrong), "wrong": wrong}
    return report


def _device_name(device: str) -> str:
    return "npu" if device.endswith(".py") else device


def _problem(overload: Any, calls: list[Any], is_meta: bool) -> str:
    for number, call in enumerate(calls):
        try:
            _compare(overload, call, is_meta)
        except Exception as failure:
            return f"call {number}: {type(failure).__name__}: {failure}"
    return ""


def _compare(overload: Any, call: Any, is_meta: bool) -> None:
    import database_checks as checks
    import torch
    from database_translation import Translator, resolve

    import aten

    theirs = overload.of_torch()
    ours = resolve(
        "ops.aten." + (overload.name if "." in overload.name else f"{overload.name}.default")
    )
    translate = Translator()
    our_args, our_kwargs = translate(call.args), translate(call.kwargs)
    if is_meta and not _is_taken(theirs, checks.mapped(call, _without_values)):
        return
    originals = checks.cloned((call.args, call.kwargs))
    torch.manual_seed(0)
    expected = theirs(*call.args, **call.kwargs)
    aten.manual_seed(0)
    given = ours(*our_args, **our_kwargs)
    dim_place = _DIM_OF_ORDERINGS.get(overload.name)
    if dim_place is not None and os.environ["DATABASE_DEVICE"] not in ("cpu", "meta"):
        expected = (expected[0], _another_order(call, dim_place, given[1], expected))
    values = not is_meta and not overload.name.startswith("empty")
    checks.compare(given, expected, values, lambda: checks.wide_result(theirs, originals))
    checks.compare(
        (our_args, our_kwargs),
        (call.args, call.kwargs),
        not is_meta,
        lambda: checks.wide_operands(theirs, originals),
    )
    checks.compare_sharing((our_args, our_kwargs, given), (call.args, call.kwargs, expected))
    _compare_strides(given, expected)


def _another_order(call: Any, dim_place: int, given: Any, expected: Any) -> Any:
    """The indices given, where they lead to the values expected and each to another place."""
    import database_checks as checks
    import torch

    source, values, indices = call.args[0], expected[0], checks.to_torch(given)
    dim = call.kwargs.get("dim", call.args[dim_place] if len(call.args) > dim_place else -1)
    row = indices.sort(dim).values
    again = (row.diff(dim=dim) == 0).any() if row.dim() else torch.tensor(False)
    right = torch.equal(source.gather(dim, indices), values) and not again
    return torch.empty_like(expected[1]).copy_(indices) if right else expected[1]


def _compare_strides(given: Any, expected: Any) -> None:
    import database_checks as checks

    for one, other in zip(checks.tensors_in(given), checks.tensors_in(expected), strict=True):
        told = [
            (size, step) for size, step in zip(one.shape, one.stride(), strict=True) if size > 1
        ]
        wanted = [
            (size, step) for size, step in zip(other.shape, other.stride(), strict=True) if size > 1
        ]
        assert not other.numel() or told == wanted, (
            f"strides {tuple(one.stride())}, expected {tuple(other.stride())} of {tuple(one.shape)}"
        )


def _is_taken(operator: Any, call: Any) -> bool:
    """Not where the result's sizes depend on values."""
    try:
        operator(*call.args, **call.kwargs)
    except Exception:
        return False
    return True


def _without_values(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.to("meta")
    return torch.device("meta") if isinstance(value, torch.device) else value


def _write() -> int:
    """Each device in a process of its own: which one is translated to, is said when it starts."""
    kept = {}
    for device in ASKED:
        place = KEPT.with_suffix(".part")
        command = [sys.executable, __file__, "--device", device, "--json", str(place)]
        subprocess.run(command, check=False)
        kept[device] = json.loads(place.read_text())
        place.unlink()
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    before, _, rest = PAGE.read_text().partition(f"{NEXT_HEADING}\n")
    before = before.partition(f"{HEADING}\n")[0]
    PAGE.write_text("\n".join([before + section(), "", NEXT_HEADING, ""]) + rest)
    return 0


def section() -> str:
    """The page's part on Core ATen, as it is kept."""
    kept = json.loads(KEPT.read_text())
    lines = [
        HEADING,
        "",
        "Of its 193 overloads those that torch has for a dtype, and how many of them agree with it",
        "(values, dtypes, shapes, strides, shared memory), by `python tools/core_aten.py --write`.",
        "",
        "| device | dtype | torch has | agree | not yet |",
        "|---|---|---|---|---|",
    ]
    for device, report in kept.items():
        for dtype, found in report.items():
            wrong = ", ".join(f"`{name}`" for name in found["wrong"]) or "–"
            lines.append(f"| {device} | {dtype} | {found['torch']} | {found['right']} | {wrong} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
