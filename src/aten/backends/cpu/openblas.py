"""OpenBLAS: the shared library of the scipy-openblas64 package, opened when first needed.

It serves factorizations. Its own threads stay off: these are shared out over the thread pool that
all operators use.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "scipy_openblas64"
_THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"


def _library_path() -> Path:
    # The package itself is not imported: it spends longer on its own version than the loader does
    # on the library.
    spec = find_spec(_PACKAGE)
    for location in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(location, "lib").glob("lib*openblas64*")):
            return path
    raise RuntimeError(
        "factorizations need the OpenBLAS library of the package scipy-openblas64, which is not "
        "installed: pip install scipy-openblas64"
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keeps the library from starting threads while it is loaded."""
    before = os.environ.get(_THREADS_VARIABLE)
    os.environ[_THREADS_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS_VARIABLE]
        else:
            os.environ[_THREADS_VARIABLE] = before


@cache
def library() -> ctypes.CDLL:
    """The library, set to one thread. Raises RuntimeError where it is not installed."""
    path = _library_path()
    with _one_thread():
        try:
            opened = ctypes.CDLL(str(path))
        except OSError as error:
            raise RuntimeError(f"cannot open the OpenBLAS library {path}: {error}") from None
    opened.scipy_openblas_set_num_threads64_(ctypes.c_int(1))
    return opened
