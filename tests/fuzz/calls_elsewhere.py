"""Random calls with tensors on a device whose memory the host cannot address, and some on the host.

    python tests/fuzz/calls_elsewhere.py [PART OF]

Prints how many calls there were and how many succeeded. A crash ends it; an exception that is none
of torch's does, too.
"""

from __future__ import annotations

import random
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
from operator_calls import Calls, operators, tensors_in

import aten
from aten.conformance.calls import Chooser, ValidCalls

EXAMPLE = Path(__file__).parents[2] / "examples" / "backend_numpy.py"
DEVICE = "npu"
TRIES = 8
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, MemoryError, OverflowError)

# Results of as many elements are made, and not looked through.
LOOKED_AT = 1 << 20


def moved(value: Any, source: random.Random) -> Any:
    """Most tensors on the device, the others where they are."""
    if isinstance(value, aten.Tensor):
        stays = value.is_meta or value.dtype.name.startswith(("float8", "bfloat16"))
        return value if stays or source.random() < 0.15 else value.to(DEVICE)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(one, source) for one in value)
    if isinstance(value, dict):
        return {name: moved(one, source) for name, one in value.items()}
    return DEVICE if isinstance(value, str) and value == "cpu" else value


def called(op: Any, number: int, chooser: Chooser) -> bool:
    """Whether a call succeeds. Raises what is no refusal."""
    source = random.Random(f"{op}{number}")
    if number % 2:
        arguments = Calls(source).arguments(op)
    else:
        arguments = ValidCalls(op, chooser.choose(op, source), f"{op}{number}").arguments()
    positional, keywords = moved(arguments, source)
    try:
        for one in tensors_in(op(*positional, **keywords)):
            if not one.is_meta and one.numel() < LOOKED_AT:
                one.to("cpu").tolist()
    except REFUSALS:
        return False
    return True


def main(part: int = 0, of: int = 1) -> None:
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    runpy.run_path(str(EXAMPLE))
    chooser = Chooser()
    count = succeeded = 0
    for op in operators()[part::of]:
        for number in range(TRIES):
            count += 1
            try:
                succeeded += called(op, number, chooser)
            except Exception as error:
                raise AssertionError(f"{op.qualified_name}, call {number}") from error
    print(f"{count} calls, {succeeded} succeeded")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
