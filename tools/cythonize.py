#!/usr/bin/env python3
"""The C sources of all compiled modules, by a few processes that Cython is loaded in once.

    python tools/cythonize.py --depfile FILE --output FOLDER SOURCE…

A process for each module takes four times as long: most of that goes into starting Cython and
reading its own library of C code. Only what is older than its source, or than a header that this
asks for, is made anew; the rest keeps its time, and nothing that depends on it is built again.

What Cython adds to modules, its types of functions and of memoryviews above all, is one of its own,
`UTILITIES`, which the others import: in each of them it would be a fifth of a second of the C
compiler's time.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "src"
UTILITIES = "aten._core.cython_utilities"
# What can be pickled says how. Methods that Cython would write for every other class are a sixth of
# the C compiler's work.
DIRECTIVES = {"auto_pickle": False}
_CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+cimport|cimport\s+([\w.]+))", re.MULTILINE)


def output_of(source: Path, folder: Path) -> Path:
    """`memory.c` for `…/memory.pyx`: modules have different names."""
    return folder / f"{source.stem}.c"


@cache
def headers_of(source: Path) -> frozenset[Path]:
    """The `.pxd` files that a source or header asks for, its own and those of these included."""
    found: set[Path] = set()
    own = source.with_suffix(".pxd")
    waiting = [source, *([own] if own.exists() else [])]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        waiting.extend(_named_in(one))
    return frozenset(found)


@cache
def _named_in(path: Path) -> tuple[Path, ...]:
    return tuple(_headers(path.read_text()))


def _headers(text: str) -> Iterator[Path]:
    for groups in _CIMPORT.findall(text):
        header = ROOT.joinpath(*"".join(groups).split(".")).with_suffix(".pxd")
        if header.exists():
            yield header


def is_stale(source: Path, output: Path) -> bool:
    """Whether the C source is missing, or older than what it is made of."""
    if not output.exists():
        return True
    made = output.stat().st_mtime_ns
    return any(one.stat().st_mtime_ns >= made for one in (*headers_of(source), Path(__file__)))


def cythonize(source: Path, output: Path) -> str:
    """Write the C source. Returns the name of what cannot be compiled, or an empty string."""
    from Cython.Compiler import Options
    from Cython.Compiler.Main import compile as compiled

    # Looking for what refers to itself is a third of the time, and the process ends soon.
    gc.disable()
    Options.fast_fail = True
    options = Options.CompilationOptions(
        Options.default_options,
        language_level=3,
        output_file=str(output),
        shared_utility_qualified_name=UTILITIES,
        compiler_directives=DIRECTIVES,
    )
    try:
        result = compiled(str(source), options)
    except Exception as error:
        print(f"{source}: {error}", file=sys.stderr)
        failed = True
    else:
        failed = result.num_errors > 0
    if failed:
        output.unlink(missing_ok=True)
    return source.name if failed else ""


def write_utilities(output: Path) -> None:
    """Write the C source of the module that the others import Cython's own functions from."""
    from Cython.Build.SharedModule import generate_shared_module
    from Cython.Compiler import Options

    options = Options.CompilationOptions(
        Options.default_options,
        language_level=3,
        module_name=UTILITIES,
        shared_c_file_path=str(output),
    )
    generate_shared_module(options)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--depfile", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("sources", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    sources = [one.resolve() for one in options.sources]
    pairs = [(one, output_of(one, options.output)) for one in sources]
    read = sorted({str(path) for one in sources for path in headers_of(one)})
    targets = " ".join(str(output) for _, output in pairs)
    options.depfile.write_text(f"{targets}: {' '.join(read)}\n")
    utilities = options.output / f"{UTILITIES.rpartition('.')[2]}.c"
    if not utilities.exists() or utilities.stat().st_mtime < Path(__file__).stat().st_mtime:
        write_utilities(utilities)
    stale = [pair for pair in pairs if is_stale(*pair)]
    # The largest first, so that none is left for one process at the end.
    stale.sort(key=lambda pair: -pair[0].stat().st_size)
    processors = len(os.sched_getaffinity(0))
    if len(stale) < 2 or processors < 2:
        failed = [cythonize(*pair) for pair in stale]
    else:
        with ProcessPoolExecutor(processors, get_context("fork")) as pool:
            failed = list(pool.map(cythonize, *zip(*stale, strict=True)))
    wrong = [name for name in failed if name]
    if wrong:
        print(f"cythonize: errors in {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
