"""Programs on every device, in every form, compared with what torch computed.

    python tools/program_forms.py [NAME...] [--devices cpu reference npu] [--forms plain core ...]

A table: the largest difference to the expected outputs, or why a program does not run. The forms:
as it is; taken apart to core and to primitives; by functional operators alone; and functional
operators of the two sets. "npu" is the device of `examples/backend_numpy.py`. The exit status is 1
where something does not agree.
"""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import aten
from aten._core.base.device import device_types
from aten.export import load
from aten.graph.tensor_files import read_tensors
from aten.transforms import Decompose, DispatchMode, functionalize

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "data" / "programs"
NAMES = ("bert", "clip", "gpt2", "llama", "resnet18", "static_kv_cache_decode", "unet")
DEVICES = ("cpu", "reference", "npu")
TOLERANCE = 1e-4
Run = Callable[..., Any]


def _taken_apart(run: Run, to: str) -> Run:
    def taken_apart(*inputs: Any) -> Any:
        with Decompose(to):
            return run(*inputs)

    return taken_apart


FORMS: dict[str, Callable[[Run], Run]] = {
    "plain": lambda run: run,
    "core": lambda run: _taken_apart(run, "core"),
    "prims": lambda run: _taken_apart(run, "prims"),
    "functional": functionalize,
    "functional core": lambda run: functionalize(_taken_apart(run, "core")),
    "functional prims": lambda run: functionalize(_taken_apart(run, "prims")),
}


class _Writes(DispatchMode):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(one.is_write for one in op._schema.arguments):
            self.names.add(op.qualified_name)
        return op(*args, **kwargs)


def register_example() -> None:
    """Put the example backend in place, once."""
    if "npu" not in device_types():
        runpy.run_path(str(ROOT / "examples" / "backend_numpy.py"))


def difference(name: str, device: str, form: str) -> float:
    """The largest difference to what torch computed, relative to the largest element.

    Raises AssertionError where a functional form writes to anything but its inputs.
    """
    program = load(PROGRAMS / f"{name}.pt2", device=device)
    data = read_tensors(str(PROGRAMS / f"{name.removesuffix('.core')}.npz"))
    inputs = [data[key].to(device) for key in sorted(data) if key.startswith("in_")]
    watching = _Writes()
    run = FORMS[form](lambda *values: program.flat_call(values))
    if form.startswith("functional"):
        with watching:
            outputs = run(*inputs)
        assert watching.names <= {"aten::copy_", "prims::copy_to"}, sorted(watching.names)
    else:
        outputs = run(*inputs)
    return max(_apart(one.to("cpu"), data[f"out_{place}"]) for place, one in enumerate(outputs))


def _apart(given: Any, expected: Any) -> float:
    assert given.shape == expected.shape, f"{given.shape}, expected {expected.shape}"
    left, right = given.to(aten.float64), expected.to(aten.float64)
    scale = max(float(right.abs().max()), 1.0)
    return float((left - right).abs().max()) / scale


def rows(
    names: list[str], devices: list[str], forms: list[str]
) -> Iterator[tuple[str, str, str, float | Exception, float]]:
    """Program, device, form, the difference or what was raised, and the seconds it took."""
    for name in names:
        for device in devices:
            for form in forms:
                started = perf_counter()
                try:
                    found: float | Exception = difference(name, device, form)
                except Exception as error:
                    found = error
                yield name, device, form, found, perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--devices", nargs="*", default=list(DEVICES))
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS))
    options = parser.parse_args()
    register_example()
    wrong = 0
    print(f"{'program':32}{'device':12}{'form':18}{'difference':>12}{'seconds':>10}")
    for name, device, form, found, seconds in rows(options.names, options.devices, options.forms):
        right = isinstance(found, float) and found <= TOLERANCE
        wrong += not right
        shown = f"{found:.1e}" if isinstance(found, float) else "–"
        print(f"{name:32}{device:12}{form:18}{shown:>12}{seconds:10.2f}", flush=True)
        if not isinstance(found, float):
            print(f"    {type(found).__name__}: {str(found).splitlines()[0][:160]}")
    print(f"{wrong} do not agree" if wrong else "all agree")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
