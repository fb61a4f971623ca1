"""Compile a program ahead of time: one file with the program, its weights and its machine code.

`aten run` and `aten.compiler.ahead.load` run it without LLVM. Kernels are made for the sizes that
the program was exported with, and for those given; machine code hardly depends on sizes.

With --shared, a library that C programs call, for inputs of one size, and its header.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aten.graph.program import ExportedProgram

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
        "--shared",
        action="store_true",
        help="write a library and a C header beside it: libNAME.so, NAME.h",
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
    if options.shared:
        _write_library(program, options)
        return
    output = options.output or str(Path(options.model).with_suffix(".atenc").name)
    count = ahead.compile_program(program, output, [None, *options.batch])
    print(f"{output}: {count} kernels, {os.path.getsize(output)} bytes")


def _write_library(program: ExportedProgram, options: argparse.Namespace) -> None:
    from aten.compiler.shared import write_library

    if len(options.batch) > 1:
        raise ValueError("--shared: a library is for inputs of one size, give --batch once")
    path = options.output or f"lib{Path(options.model).stem}.so"
    made = write_library(program, path, *options.batch)
    size = os.path.getsize(made.path)
    print(
        f"{made.path}, {made.header}: {made.kernels} kernels, {made.launches} calls, {size} bytes, "
        f"{made.workspace} bytes of workspace"
    )
