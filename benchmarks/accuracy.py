"""The error of the float32 math functions, ours and torch's, and the time each takes.

    python benchmarks/accuracy.py                       # every 64th float32: about two minutes
    python benchmarks/accuracy.py --all exp tanh        # all 2^32 of them: minutes a function
    python benchmarks/accuracy.py --from -3 --to -2 --all lgamma

Errors are counted in units in the last place of the exact result, for which torch's float64
function stands in. An argument where one side is NaN or infinite and the other is not counts as
infinitely wrong. One thread.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from aten._core.dtypes import DTYPES
from aten.backends.cpu.codegen import compile_program
from aten.loops.math import EXPANSIONS
from aten.loops.pipeline import lower
from aten.prims import Graph, GraphInterpreter

BLOCK = 1 << 20
TIMED_ELEMENTS = 1 << 22
BINARY = {"atan2", "pow"}

Function = Callable[[torch.Tensor], torch.Tensor]


def compiled(name: str) -> Callable[[np.ndarray, np.ndarray], None]:
    """The function compiled by the ordinary pipeline, as ``kernel(arguments, results)``."""
    element = DTYPES["float32"]
    interpreter = GraphInterpreter()
    value = interpreter.input(0, element, (BLOCK,))
    result = EXPANSIONS[name](value)
    graph = Graph(name, [value.payload], [result.payload])
    kernel = compile_program(lower(graph, accesses=("unit", "unit")))
    call = ctypes.CFUNCTYPE(
        None,
        *[ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p] * 1,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_void_p,
    )(kernel.address)
    strides = (ctypes.c_int64 * 2)(4, 4)

    def run(arguments: np.ndarray, results: np.ndarray) -> None:
        data = (ctypes.c_void_p * 2)(arguments.ctypes.data, results.ctypes.data)
        call(data, arguments.size, strides, 1, strides, None)

    run.keep = kernel  # type: ignore[attr-defined]
    return run


def torch_function(name: str) -> Function:
    return getattr(torch, name, None) or getattr(torch.special, name)


def errors_in_ulp(computed: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """``computed`` is float32, ``exact`` float64; overflow counts as the power of two it is at."""
    overflow = 2.0**128
    limited = np.clip(exact, -overflow, overflow)
    wide = np.clip(computed.astype(np.float64), -overflow, overflow)
    exponent = np.frexp(np.minimum(np.abs(limited), np.nextafter(overflow, 0)))[1]
    unit = np.ldexp(1.0, np.maximum(exponent - 24, -149))
    errors = np.abs(wide - limited) / unit
    both_nan = np.isnan(computed) & np.isnan(exact)
    return np.where(both_nan, 0.0, np.where(np.isnan(errors), math.inf, errors))


@dataclass
class Worst:
    """The largest error seen so far."""

    error: float = 0.0
    argument: float = 0.0
    above_one: int = 0

    def see(self, arguments: np.ndarray, errors: np.ndarray) -> None:
        place = int(np.argmax(errors))
        self.above_one += int(np.count_nonzero(errors > 1.0))
        if errors[place] > self.error:
            self.error, self.argument = float(errors[place]), float(arguments[place])


def sweep(name: str, step: int, low: float, high: float) -> tuple[Worst, Worst]:
    ours, theirs = Worst(), Worst()
    run, reference = compiled(name), torch_function(name)
    for start in range(0, 1 << 32, BLOCK * step):
        bits = np.arange(start, min(start + BLOCK * step, 1 << 32), step, dtype=np.uint64)
        arguments = bits.astype(np.uint32).view(np.float32)
        if not (low == -math.inf and high == math.inf):
            arguments = arguments[(arguments >= low) & (arguments <= high)]
            if not arguments.size:
                continue
        results = np.empty_like(arguments)
        run(arguments, results)
        tensor = torch.from_numpy(arguments)
        with np.errstate(all="ignore"):
            exact = reference(tensor.double()).numpy()
            ours.see(arguments, errors_in_ulp(results, exact))
            theirs.see(arguments, errors_in_ulp(reference(tensor).numpy(), exact))
    return ours, theirs


def nanoseconds(name: str) -> tuple[float, float]:
    """Per element, the best of several runs, on ordinary arguments."""
    random = np.random.default_rng(0)
    arguments = random.uniform(1.0 if name == "acosh" else 0.0, 1.0, TIMED_ELEMENTS)
    arguments = (arguments + (name == "acosh")).astype(np.float32)
    results = np.empty_like(arguments)
    tensor, out = torch.from_numpy(arguments), torch.empty(TIMED_ELEMENTS)
    run, reference = compiled(name), torch_function(name)

    def best(call: Callable[[], object]) -> float:
        times = []
        for _ in range(10):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times) / TIMED_ELEMENTS * 1e9

    return best(lambda: run(arguments, results)), best(lambda: reference(tensor, out=out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="FUNCTION")
    parser.add_argument("--all", action="store_true", help="all 2^32 arguments")
    parser.add_argument("--step", type=int, default=64, help="every so many floats (default 64)")
    parser.add_argument("--from", dest="low", type=float, default=-math.inf)
    parser.add_argument("--to", dest="high", type=float, default=math.inf)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{'':10}{'max ULP':>9}{'at':>16}{'>1 ULP':>9}{'torch':>11}{'at':>16}{'ns':>8}{'torch':>8}"
    )
    for name in options.names or sorted(set(EXPANSIONS) - BINARY):
        step = 1 if options.all else options.step
        ours, theirs = sweep(name, step, options.low, options.high)
        own_time, torch_time = nanoseconds(name)
        print(
            f"{name:10}{ours.error:9.4f}{ours.argument:16.8g}{ours.above_one:9}"
            f"{theirs.error:11.4g}{theirs.argument:16.8g}{own_time:8.2f}{torch_time:8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
