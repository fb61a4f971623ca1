"""Tensors beyond 2^31 elements, 2^31 and 2^32 bytes, through every family of kernels.

    python tools/large_memory.py [NAME …] [--gigabytes N]

Each case runs in a process of its own and looks at elements on both sides of the borders, where a
32-bit count or offset would have turned around; the results are known without another library.
Cases that need more memory than `--gigabytes` (by default three quarters of what the machine has
free) are named and counted as left out. The exit status is 1 if one failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import aten
from aten._core.memory import available

# More elements than a signed number of 32 bits counts, and more bytes than an unsigned one.
MANY = (1 << 31) + (1 << 12) + 3
BYTES = (1 << 32) + (1 << 12)
_GIGABYTE = 1 << 30
_SECONDS = 900


class Case(NamedTuple):
    gigabytes: float
    run: Callable[[], None]


CASES: dict[str, Case] = {}


def case(gigabytes: float) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """A case that has at most so much in use at a time."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        CASES[function.__name__] = Case(gigabytes, function)
        return function

    return register


def _marked(count: int, dtype: Any, marks: dict[int, Any], value: Any = 0) -> aten.Tensor:
    """A vector of one value but for some elements."""
    made = aten.full((count,), value, dtype=dtype)
    for place, mark in marks.items():
        made[place] = mark
    return made


def _at(x: aten.Tensor, *places: int) -> list[Any]:
    return [x[place].item() for place in places]


EDGES = (0, (1 << 31) - 1, 1 << 31, MANY - 1)


@case(4.2)
def pointwise() -> None:
    x = _marked(MANY, aten.int8, {place: index + 1 for index, place in enumerate(EDGES)})
    assert _at(x + x, *EDGES) == [2, 4, 6, 8]


@case(2.2)
def pointwise_in_place() -> None:
    x = _marked(MANY, aten.uint8, {place: index + 1 for index, place in enumerate(EDGES)})
    x.mul_(3)
    assert _at(x, *EDGES) == [3, 6, 9, 12]
    assert x[1 << 30].item() == 0


@case(8.5)
def four_gigabytes_of_halves() -> None:
    count = BYTES // 2
    x = _marked(count, aten.float16, {0: 1.5, count // 2: 2.5, count - 1: 3.5})
    y = x * 2
    assert _at(y, 0, count // 2, count - 1, 1) == [3.0, 5.0, 7.0, 0.0]


@case(13)
def floats_beyond_four_gigabytes() -> None:
    count = BYTES // 4 + 17
    x = aten.arange(count, dtype=aten.float32)
    y = x.sqrt()
    assert abs(y[count - 1].item() - (count - 1) ** 0.5) < 0.01
    assert y[4].item() == 2.0


@case(2.5)
def strided_and_broadcast() -> None:
    x = aten.zeros((1 << 16) + 1, 1 << 15, dtype=aten.uint8)
    x[-1] += aten.arange(1 << 15, dtype=aten.int32).to(aten.uint8)
    column = x[:, -1]
    assert column.stride() == (1 << 15,)
    assert _at(column + 1, 0, -1) == [1, 0]
    assert x.t()[5, -1].item() == 5


@case(2.5)
def sums() -> None:
    x = _marked(MANY, aten.uint8, {}, 1)
    assert x.sum().item() == MANY
    assert x.view(-1)[1:].sum(dtype=aten.int64).item() == MANY - 1


@case(2.5)
def extremes() -> None:
    x = _marked(MANY, aten.int8, {MANY - 2: 7, 1 << 31: -7})
    assert (x.max().item(), x.argmax().item()) == (7, MANY - 2)
    assert (x.min().item(), x.argmin().item()) == (-7, 1 << 31)
    assert x.any().item()


@case(4.5)
def rows() -> None:
    x = aten.ones((1 << 20) + 1, 1 << 11, dtype=aten.uint8)
    x[-1, -1] = 5
    summed = x.sum(1)
    assert _at(summed, 0, -1) == [1 << 11, (1 << 11) + 4]
    assert _at(x.sum(0), 0, -1) == [(1 << 20) + 1, (1 << 20) + 5]


@case(13)
def softmax() -> None:
    x = aten.zeros((1 << 20) + 1, 1 << 10, dtype=aten.float32)
    y = x.softmax(1)
    assert _at(y[-1], 0, -1) == [2.0**-10] * 2


@case(4.5)
def running_sums() -> None:
    x = _marked(MANY, aten.uint8, {MANY - 1: 2, 1 << 31: 1})
    assert _at(x.cumsum(0, dtype=aten.uint8), (1 << 31) - 1, 1 << 31, MANY - 1) == [0, 1, 3]


@case(2.5)
def searches() -> None:
    x = _marked(MANY, aten.bool, dict.fromkeys(EDGES[1:], True), False)
    assert x.nonzero().flatten().tolist() == list(EDGES[1:])
    assert x.count_nonzero().item() == 3
    assert x.masked_select(x).tolist() == [True] * 3


@case(2.5)
def indexing() -> None:
    x = _marked(MANY, aten.int8, {place: index + 1 for index, place in enumerate(EDGES)})
    places = aten.tensor(EDGES)
    assert x[places].tolist() == [1, 2, 3, 4]
    assert x.take(places).tolist() == [1, 2, 3, 4]
    assert x.index_select(0, places).tolist() == [1, 2, 3, 4]
    assert x.gather(0, places).tolist() == [1, 2, 3, 4]
    assert x[(1 << 31) - 1 :: 1][:2].tolist() == [2, 3]


@case(2.5)
def indexed_writes() -> None:
    x = aten.zeros(MANY, dtype=aten.int8)
    places = aten.tensor(EDGES)
    x[places] = aten.tensor([1, 2, 3, 4], dtype=aten.int8)
    x.scatter_(0, places[1:2], 9)
    x.index_add_(0, places[2:], aten.tensor([10, 20], dtype=aten.int8))
    x.index_fill_(0, places[:1], 7)
    assert _at(x, *EDGES, 5) == [7, 9, 13, 24, 0]
    x.masked_fill_(x == 13, 1)
    assert x[1 << 31].item() == 1


@case(5)
def rows_by_index() -> None:
    table = aten.zeros((1 << 21) + 3, 1 << 10, dtype=aten.int8)
    table[-1] = 3
    table[1 << 21] = 2
    chosen = aten.nn.functional.embedding(aten.tensor([0, 1 << 21, (1 << 21) + 2]), table)
    assert chosen[:, -1].tolist() == [0, 2, 3]
    table.index_copy_(0, aten.tensor([(1 << 21) + 1]), aten.full((1, 1 << 10), 5).to(aten.int8))
    assert table[-2, -1].item() == 5


@case(4.5)
def joining() -> None:
    half = aten.zeros(1 << 30, dtype=aten.int8)
    tail = aten.tensor([1, 2, 3], dtype=aten.int8)
    joined = aten.cat((half, half, tail))
    assert joined.shape[0] == (1 << 31) + 3
    assert joined[-3:].tolist() == [1, 2, 3]
    assert joined.split([1 << 31, 3])[1].tolist() == [1, 2, 3]


@case(4.5)
def moving() -> None:
    x = aten.zeros((1 << 15) + 1, 1 << 16, dtype=aten.int8)
    x[-1, -1], x[0, -1], x[-1, 0] = 1, 2, 3
    y = x.t().contiguous()
    assert (y[-1, -1].item(), y[-1, 0].item(), y[0, -1].item()) == (1, 2, 3)
    del y
    y = x.flip(0, 1)
    assert (y[0, 0].item(), y[-1, 0].item(), y[0, -1].item()) == (1, 2, 3)
    del y
    y = x.roll(1, 0)
    assert y[0, -1].item() == 1


@case(6.5)
def copies() -> None:
    x = _marked(MANY, aten.int8, {MANY - 1: 5})
    y = x.clone()
    y[0] = 1
    assert (x[0].item(), y[0].item(), y[-1].item()) == (0, 1, 5)
    assert x.to(aten.bool)[-1].item()


@case(9)
def conversions() -> None:
    count = BYTES // 2
    x = _marked(count, aten.int16, {count - 1: 300, count // 2: 77})
    y = x.to(aten.float16)
    assert _at(y, count // 2, count - 1) == [77.0, 300.0]


@case(14)
def sorting() -> None:
    count = (1 << 29) + 5
    x = aten.zeros(count, dtype=aten.int8)
    x[3], x[count - 1] = 1, -1
    values, places = x.sort()
    assert _at(values, 0, -1) == [-1, 1]
    assert _at(places, 0, -1) == [count - 1, 3]


@case(3)
def ranking() -> None:
    x = _marked(MANY, aten.int8, {MANY - 1: 9, 1 << 31: 8})
    values, places = x.topk(2)
    assert (values.tolist(), places.tolist()) == ([9, 8], [MANY - 1, 1 << 31])


@case(9.5)
def products() -> None:
    rows = (1 << 21) + 1
    left = aten.ones(rows, 1 << 10, dtype=aten.float16)
    left[-1] = 2.0
    right = aten.ones(1 << 10, 1, dtype=aten.float16)
    made = left @ right
    assert _at(made.flatten(), 0, rows - 1) == [1024.0, 2048.0]


@case(9.5)
def large_product() -> None:
    left = aten.ones(1 << 16, 4, dtype=aten.float32)
    left[-1] = 3.0
    made = left @ aten.ones(4, (1 << 14) + 1, dtype=aten.float32)
    assert made.numel() > 1 << 30
    assert _at(made[-1], 0, -1) == [12.0, 12.0]


@case(9.5)
def convolution() -> None:
    image = aten.ones(1, 1, 1 << 15, (1 << 14) + 2, dtype=aten.float32)
    image[0, 0, -1, -1] = 5.0
    made = aten.nn.functional.conv2d(image, aten.ones(1, 1, 1, 3))
    assert made.shape == (1, 1, 1 << 15, 1 << 14)
    assert (made[0, 0, 0, 0].item(), made[0, 0, -1, -1].item()) == (3.0, 7.0)


@case(9.5)
def pooling() -> None:
    image = aten.zeros(1, (1 << 15) + 1, 1 << 15, dtype=aten.float32)
    image[0, -2, -1] = 5.0
    made = aten.nn.functional.max_pool2d(image, 2)
    assert made[0, -1, -1].item() == 5.0


@case(5)
def random_numbers() -> None:
    x = aten.empty((1 << 30) + 7, dtype=aten.float32)
    aten.manual_seed(3)
    x.uniform_()
    tail = x[-1000:]
    assert 0.3 < tail.mean().item() < 0.7
    assert len(set(tail.tolist())) > 900


@case(4.5)
def foreign_memory() -> None:
    import numpy

    array = numpy.zeros(MANY, dtype=numpy.int8)
    array[-1] = 4
    x = aten.from_numpy(array)
    assert x[-1].item() == 4
    assert numpy.from_dlpack(x)[-1] == 4
    x[1 << 31] = 6
    assert array[1 << 31] == 6


@case(7)
def files() -> None:
    """Weights of 3 GiB, from a file that is mapped."""
    import tempfile

    from aten import safetensors

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.safetensors")
        weights = {"w": _marked(3 << 30, aten.int8, {(3 << 30) - 1: 5}), "b": aten.ones(3)}
        safetensors.save_file(weights, path)
        del weights
        loaded = safetensors.load_file(path)
        assert loaded["w"][-1].item() == 5
        assert loaded["b"].tolist() == [1.0] * 3


@case(2.5)
def kernels_beside_gigabytes() -> None:
    """Kernels are loaded while blocks of 2 GiB lie between them."""
    kept = []
    x = aten.rand(64) + 0.5
    for name in "exp sin cos tan log erf tanh sigmoid lgamma digamma sqrt atan sinh cosh".split():
        kept.append(aten.empty(1 << 31, dtype=aten.int8))
        assert getattr(aten, name)(x).isfinite().all()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="cases; default: all")
    parser.add_argument(
        "--gigabytes", type=float, default=available.available_bytes() * 0.75 / _GIGABYTE
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        CASES[options.names[0]].run()
        return 0
    counts = {"right": 0, "failed": 0, "left out": 0}
    for name in options.names or CASES:
        outcome, text = _outcome(name, options.gigabytes)
        counts[outcome] += 1
        print(f"{name}: {outcome}{text}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return int(counts["failed"] > 0)


def _outcome(name: str, gigabytes: float) -> tuple[str, str]:
    if CASES[name].gigabytes > gigabytes:
        return "left out", f", needs {CASES[name].gigabytes} GiB"
    started = time.monotonic()
    arguments = [sys.executable, __file__, name, "--inside"]
    try:
        ended = subprocess.run(arguments, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return "failed", f": no end after {_SECONDS} s"
    seconds = f", {time.monotonic() - started:.0f} s"
    if ended.returncode:
        return "failed", f", status {ended.returncode}{seconds}: {ended.stderr.strip()[-300:]}"
    return "right", seconds


if __name__ == "__main__":
    raise SystemExit(main())
