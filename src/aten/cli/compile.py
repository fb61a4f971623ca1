"""Compile a program ahead of time: one file with the program, its weights and its machine code.

`aten run` and `aten.compiler.ahead.load` run it without LLVM. Kernels are made for the sizes that
the program was exported with, and for those given; machine code hardly depends on sizes.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

NAME = "compile"
SUMMARY = "write a program with its machine code"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a .pt2 file")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="what to write; MODEL with .atenc in the place of .pt2",
    )
    parser.add_argument(
        "--batch",
        metavar="N",
        type=int,
        action="append",
        default=[],
        help="a size of dynamic dimensions; may be given several times",
    )


def execute(options: argparse.Namespace) -> None:
    from aten.compiler import ahead
    from aten.export import load
    from aten.graph import bundled

    program = load(bundled.find(options.model, sys.stdout))
    output = options.output or str(Path(options.model).with_suffix(".atenc").name)
    count = ahead.compile_program(program, output, [None, *options.batch])
    print(f"{output}: {count} kernels, {os.path.getsize(output)} bytes")
