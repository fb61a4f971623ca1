"""The error of float32 functions, ours and torch's, over every float32 there is.

    python benchmarks/accuracy.py exp tanh         # all 2^32 arguments: minutes a function
    python benchmarks/accuracy.py --step 64        # every 64th, of all functions
    python benchmarks/accuracy.py --write exp      # kept in accuracy.json and docs/accuracy.md
    python benchmarks/accuracy.py --from -3 --to -2 lgamma

Errors are counted in units in the last place of the exact result, for which torch's float64
function stands in: its own error is 10^-8 of such a unit. Where a result overflows, it is compared
with the power of two it would have been. An argument where one side is NaN and the other is not
counts as infinitely wrong. Two threads.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import aten
from aten._core.base.dtypes import DTYPES
from aten.backends.cpu.codegen import compile_program
from aten.loops.pipeline import lower, prepare
from aten.prims import Graph, GraphInterpreter, Value
from aten.prims import arithmetic as a

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "accuracy.json"
PAGE = ROOT / "docs" / "accuracy.md"
BLOCK = 1 << 19
# At most one unit wrong, on all arguments.
WITHIN_ONE = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh sigmoid erf "
    "erfc sqrt rsqrt"
).split()
OTHERS = (
    "asinh acosh atanh erfinv lgamma digamma i0 special_i0e special_i1 special_i1e special_ndtr "
    "special_log_ndtr special_erfcx silu softplus mish"
).split()
# What is promised of those that are not within one unit.
# Where silu and mish are subnormal, so is an exponential in them.
BOUNDS = {"softplus": 1.7, "silu": 53.0, "mish": 53.0}
HALF_TYPES = ("float16", "bfloat16")

Function = Callable[[Any], Any]


def _limited(function: Function) -> Function:
    """Infinite at infinity, where torch's has NaN."""
    return lambda x: function(x).where(~x.isinf(), x if function is torch.special.i1 else x.abs())


# Where torch's own function is no reference: it is NaN at infinity, or has no tail.
REFERENCES: dict[str, Function] = {
    "i0": _limited(torch.i0),
    "special_i1": _limited(torch.special.i1),
    "special_ndtr": lambda x: 0.5 * torch.erfc(x * -(0.5**0.5)),
}


def functions(name: str) -> tuple[Function, Function]:
    """Ours and torch's."""
    return tuple(
        next(
            getattr(place, name.removeprefix(prefix))
            for place, prefix in _places(library)
            if name.startswith(prefix) and hasattr(place, name.removeprefix(prefix))
        )
        for library in (aten, torch)
    )  # type: ignore[return-value]


def _places(library: Any) -> Iterator[tuple[Any, str]]:
    yield library.special, "special_"
    yield library, ""
    yield library.nn.functional, ""


def error_in_ulp(computed: Value, exact: Value) -> Value:
    """Of a float32 against a float64."""
    limit = 2.0**128
    wide = a.convert(computed, "float64")
    # Infinities stand for the least number that overflows; NaN stays.
    limited, given = (
        a.where(value > limit, limit, a.where(value < -limit, -limit, value))
        for value in (exact, wide)
    )
    exponent = (a.bitcast(a.minimum(a.abs(limited), 2.0**128 - 2.0**75), "int64") >> 52) - 1023
    exponent = a.where(exponent < -126, -126, exponent)
    inverse_unit = a.bitcast((1023 + 23 - exponent) << 52, "float64")
    error = a.abs(given - limited) * inverse_unit
    both_nan = (given != given) & (limited != limited)
    return a.where(both_nan, 0.0, a.where(error != error, math.inf, error))


def compiled_errors() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """`error_in_ulp` as ``kernel(computed, exact, errors)`` on arrays."""
    interpreter = GraphInterpreter()
    computed = interpreter.input(0, DTYPES["float32"], (BLOCK,))
    exact = interpreter.input(1, DTYPES["float64"], (BLOCK,))
    result = error_in_ulp(computed, exact)
    graph = Graph("error", [computed.payload, exact.payload], [result.payload])
    kernel = compile_program(lower(prepare(graph), accesses=("unit", "unit", "unit")))
    pointer = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(
        None, pointer, ctypes.c_int64, pointer, ctypes.c_int64, pointer, pointer
    )(kernel.address)
    strides = (ctypes.c_int64 * 3)(4, 8, 8)

    def run(*arrays: np.ndarray) -> None:
        data = (pointer * 3)(*(array.ctypes.data for array in arrays))
        call(data, arrays[0].size, strides, 1, strides, None)

    run.keep = kernel  # type: ignore[attr-defined]
    return run


@dataclass
class Worst:
    """The largest error seen so far."""

    error: float = 0.0
    argument: float = 0.0
    above_one: int = 0

    def see(self, arguments: np.ndarray, errors: np.ndarray) -> None:
        place = int(np.argmax(errors))
        if errors[place] > 1.0:
            self.above_one += int(np.count_nonzero(errors > 1.0))
        if errors[place] > self.error:
            self.error, self.argument = float(errors[place]), float(arguments[place])

    def join(self, other: Worst) -> None:
        self.above_one += other.above_one
        if other.error > self.error:
            self.error, self.argument = other.error, other.argument


def sweep(
    name: str,
    step: int = 1,
    low: float = -math.inf,
    high: float = math.inf,
    threads: int = 2,
) -> tuple[Worst, Worst]:
    """The worst errors on every `step`-th float32 between `low` and `high`: ours and torch's."""
    starts = iter(range(0, 1 << 32, BLOCK * step))
    workers = [_Sweep(name, step, low, high, starts) for _ in range(threads)]
    started = [threading.Thread(target=worker.run) for worker in workers]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    ours, theirs = Worst(), Worst()
    for worker in workers:
        if worker.failure is not None:
            raise worker.failure
        ours.join(worker.ours)
        theirs.join(worker.theirs)
    return ours, theirs


_next_start = threading.Lock()


class _Sweep:
    """One thread's part: blocks of arguments, until there are none left."""

    def __init__(
        self, name: str, step: int, low: float, high: float, starts: Iterator[int]
    ) -> None:
        self.own, self.torch_function = functions(name)
        self.reference = REFERENCES.get(name, self.torch_function)
        self.errors = compiled_errors()
        self.step, self.low, self.high, self.starts = step, low, high, starts
        self.ours, self.theirs = Worst(), Worst()
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while (start := self._start()) is not None:
                self._block(start)
        except Exception as failure:
            self.failure = failure

    def _start(self) -> int | None:
        with _next_start:
            return next(self.starts, None)

    def _block(self, start: int) -> None:
        stop = min(start + BLOCK * self.step, 1 << 32)
        bits = np.arange(start, stop, self.step, dtype=np.int64).astype(np.uint32)
        arguments = bits.view(np.float32)
        if not (self.low == -math.inf and self.high == math.inf):
            arguments = arguments[(arguments >= self.low) & (arguments <= self.high)]
        if not arguments.size:
            return
        tensor = torch.from_numpy(arguments)
        exact = self.reference(tensor.double()).numpy()
        errors = np.empty(arguments.size)
        for worst, computed in (
            (self.ours, self.own(aten.from_numpy(arguments))),
            (self.theirs, self.torch_function(tensor)),
        ):
            self.errors(computed.numpy(), exact, errors)
            worst.see(arguments, errors)


def half_error(name: str, element: str) -> float | None:
    """The largest error in units of the half type, of all its numbers; 0.5 is correct rounding.

    None where there is no such function.
    """
    own, torch_function = functions(name)
    reference = REFERENCES.get(name, torch_function)
    bits = np.arange(1 << 16, dtype=np.uint16)
    tensor = torch.from_numpy(bits.view(np.int16)).view(getattr(torch, element))
    arguments = aten.from_numpy(bits.view(np.int16)).view(getattr(aten, element))
    try:
        computed = own(arguments).to(aten.float64).numpy()
    except NotImplementedError:
        return None
    exact = reference(tensor.double()).numpy()
    limits = torch.finfo(getattr(torch, element))
    least, digits = math.frexp(limits.tiny)[1], round(-math.log2(limits.eps)) + 1
    overflow = 2.0 ** math.frexp(limits.max)[1]
    computed, exact = (np.clip(values, -overflow, overflow) for values in (computed, exact))
    exponent = np.frexp(np.minimum(np.abs(exact), limits.max))[1]
    unit = np.ldexp(1.0, np.maximum(exponent, least) - digits)
    with np.errstate(invalid="ignore"):
        errors = np.abs(computed - exact) / unit
    errors[np.isnan(computed) & np.isnan(exact)] = 0
    return math.inf if np.isnan(errors).any() else float(errors.max())


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    started = time.perf_counter()
    ours, theirs = sweep(name, options.step, options.low, options.high)
    row = {
        "step": options.step,
        "ours": ours.error,
        "at": ours.argument,
        "above one": ours.above_one,
        "torch": theirs.error,
        "torch at": theirs.argument,
        "torch above one": theirs.above_one,
        "seconds": round(time.perf_counter() - started, 1),
    }
    return row | {element: half_error(name, element) for element in HALF_TYPES}


HEADER = """\
<!-- Generated by `python benchmarks/accuracy.py --write`: never edit. -->

# Accuracy

The largest errors of float32 functions in units in the last place (ULP), and how many arguments
have one of more than 1 ULP, beside torch {version}'s. Where it says *all*, each of the 2^32 float32
numbers was an argument; the exact result is torch's float64 one. The columns of the half types
hold the largest error of all 65536 arguments in their own units: 0.5 is correct rounding.

    python benchmarks/accuracy.py --write            # everything, about an hour on two processors
    python benchmarks/accuracy.py --write exp tanh   # these two

"""


def page(rows: dict[str, dict[str, Any]]) -> str:
    lines = [HEADER.format(version=torch.__version__.partition("+")[0])]
    for title, names in (("At most 1 ULP", WITHIN_ONE), ("Others", OTHERS)):
        lines.append(f"## {title}\n")
        lines.append(
            "| function | arguments | ours | > 1 ULP | torch | > 1 ULP | half | bfloat16 |"
        )
        lines.append("|---|---|--:|--:|--:|--:|--:|--:|")
        lines += [_line(name, rows[name]) for name in names if name in rows]
        lines.append("")
    return "\n".join(lines)


def _line(name: str, row: dict[str, Any]) -> str:
    arguments = "all" if row["step"] == 1 else f"every {row['step']}th"
    cells = [
        f"`{name}`",
        arguments,
        f"{row['ours']:.4f}",
        str(row["above one"]),
        f"{row['torch']:.4g}",
        str(row["torch above one"]),
        *("" if row[one] is None else f"{row[one]:.3f}" for one in HALF_TYPES),
    ]
    return f"| {' | '.join(cells)} |"


def write(rows: dict[str, dict[str, Any]]) -> None:
    """Join `rows` with those of earlier runs."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known.update(rows)
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(known))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="FUNCTION")
    parser.add_argument("--step", type=int, default=1, help="every so many floats (default: all)")
    parser.add_argument("--from", dest="low", type=float, default=-math.inf)
    parser.add_argument("--to", dest="high", type=float, default=math.inf)
    parser.add_argument("--write", action="store_true", help="keep the results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    aten.set_num_threads(1)
    print(f"{'':18}{'max ULP':>9}{'at':>16}{'>1 ULP':>9}{'torch':>11}{'at':>16}{'s':>8}")
    for name in options.names or itertools.chain(WITHIN_ONE, OTHERS):
        row = measured(name, options)
        print(
            f"{name:18}{row['ours']:9.4f}{row['at']:16.8g}{row['above one']:9}"
            f"{row['torch']:11.4g}{row['torch at']:16.8g}{row['seconds']:8.1f}",
            flush=True,
        )
        if options.write:
            write({name: row})


if __name__ == "__main__":
    main()
