"""Forks of a process whose other threads are in the middle of everything."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aten

# Seconds until a child counts as hung.
PATIENCE = 60.0
OUTCOMES = ("right", "wrong", "hangs")
_FUNCTIONS = "exp sin cos tan log erf tanh lgamma digamma sqrt atan asin expm1 log1p sinh".split()
_TYPES = "float32 float64 float16 bfloat16 int32 int64 uint8 bool".split()


def run(forks: int, seed: int) -> dict[str, int]:
    """How `forks` children ended, of a process that compiled nothing before the first of them."""
    arguments = [sys.executable, __file__, str(forks), str(seed)]
    environment = {**os.environ, "ATEN_CACHE_DIR": "off"}
    printed = subprocess.run(arguments, env=environment, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr[-2000:]
    numbers = [int(number) for number in printed.stdout.split()]
    return dict(zip(OUTCOMES, numbers, strict=True))


def _compile(source: random.Random) -> None:
    """A kernel, as often as not one that nobody has compiled."""
    operand = aten.ones(4, dtype=aten.DTYPES[source.choice(_TYPES)])
    step = source.choice((0, 1))
    getattr(aten, source.choice(_FUNCTIONS))(operand.as_strided((source.randint(1, 4),), (step,)))


def _factorize(source: random.Random) -> None:
    matrix = aten.rand(40, 40) + 40 * aten.eye(40)
    aten.linalg.inv(matrix)
    aten.linalg.svd(matrix[:20, :20])
    (matrix + 1j) @ matrix.to(aten.complex64)


def _transform(source: random.Random) -> None:
    aten.fft.fft(aten.rand(source.randint(1, 500)))


def _reduce(source: random.Random) -> None:
    aten.rand(300, 700).softmax(-1)


def _draw(source: random.Random) -> None:
    aten.randn(source.randint(1, 100_000))


_WORK: tuple[Callable[[random.Random], None], ...] = (
    _compile,
    _factorize,
    _transform,
    _reduce,
    _draw,
)


def _is_right() -> bool:
    """What a child computes: a bit of everything."""
    import numpy

    source = random.Random(os.getpid())
    for work in _WORK:
        work(source)
    matrix = aten.rand(30, 30, dtype=aten.float64) + 30 * aten.eye(30, dtype=aten.float64)
    unit = numpy.asarray(aten.linalg.inv(matrix) @ matrix)
    drawn = numpy.asarray(aten.rand(1000))
    return bool(abs(unit - numpy.eye(30)).max() < 1e-9 and len(set(drawn.tolist())) > 900)


def _child() -> Any:
    """Never returns: the process ends with 0 if what it computed is right."""
    status = 1
    try:
        status = 0 if _is_right() else 1
    finally:
        os._exit(status)


def _outcome(child: int) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "right" if status == 0 else "wrong"
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("forks", type=int)
    parser.add_argument("seed", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of forks beside threads
    stop = threading.Event()
    source = random.Random(options.seed)

    def busy(own: random.Random) -> None:
        while not stop.is_set():
            own.choice(_WORK)(own)

    threads = [
        threading.Thread(target=busy, args=(random.Random(source.random()),)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    outcomes: Counter[str] = Counter()
    for _ in range(options.forks):
        time.sleep(source.random() / 50)
        child = os.fork()
        outcomes[_outcome(child) if child else _child()] += 1
    stop.set()
    for thread in threads:
        thread.join()
    print(*(outcomes[name] for name in OUTCOMES))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
