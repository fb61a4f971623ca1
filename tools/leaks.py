"""Graphs built and dropped, with cycles and hooks: whether the process keeps what they took.

    python tools/leaks.py [--graphs N] [--nodes N]

Builds and drops graphs, walked back or not, in cycles through hooks, saved tensors, contexts of
functions and gradients with graphs; then goes back through one chain of many nodes, and drops
another. Prints the resident memory after a tenth of the graphs and after all of them; the exit
status is 1 where it grew by more than one per cent.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from pathlib import Path

import aten

ALLOWED = 0.01


class _Kept(aten.autograd.Function):
    """Twice its operand; the context holds the result, which holds the context."""

    @staticmethod
    def forward(ctx, x):
        made = x * 2
        ctx.made = made
        ctx.save_for_backward(x, made)
        return made

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def _walked(x, y):
    ((x * y).sin() + y.exp()).sum().backward()
    x.grad = y.grad = None


def _dropped(x, y):
    ((x @ x.t()).tanh() * y).softmax(1)


def _hooked(x, y):
    made = x * y
    made.register_hook(lambda gradient: gradient * made.detach())
    made.grad_fn.metadata["itself"] = made
    made.sum().backward()
    x.grad = y.grad = None


def _twice(x, y):
    (first,) = aten.autograd.grad((x**3 * y).sum(), x, create_graph=True)
    first.sum().backward(create_graph=True)
    x.grad = y.grad = None


def _written(x, y):
    made = x * 1
    view = made[1:]
    view.mul_(y[1:])
    made.retain_grad()
    made.sum().backward()
    x.grad = y.grad = None


def _own(x, y):
    made = _Kept.apply(x * y)
    made.itself = made


def _batched(x, y):
    aten.vmap(aten.func.grad(lambda a, b: (a * b).sum()))(x, y)


KINDS = (_walked, _dropped, _hooked, _twice, _written, _own, _batched)


def resident() -> int:
    """Bytes of the process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(graphs: int, kinds=KINDS) -> tuple[int, int]:
    """Resident memory after a tenth of the graphs, and after all."""
    x, y = (aten.rand(8, 8).requires_grad_() for _ in range(2))
    early = 0
    for number in range(graphs):
        kinds[number % len(kinds)](x, y)
        if number == graphs // 10:
            gc.collect()
            early = resident()
    gc.collect()
    return early, resident()


def chain(nodes: int) -> float:
    """The gradient at the start of so many operators in a row; another such row is dropped."""
    x = aten.ones((), requires_grad=True)
    for _ in range(2):
        made = x
        for _ in range(nodes):
            made = made * 1
        del _
    made.backward()
    return x.grad.item()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    options = parser.parse_args()
    started = time.monotonic()
    early, late = growth(options.graphs)
    print(
        f"{options.graphs} graphs: {early / 2**20:.2f} MiB after a tenth, {late / 2**20:.2f} MiB "
        f"after all, {100 * (late / early - 1):+.2f} % ({time.monotonic() - started:.0f} s)"
    )
    started = time.monotonic()
    slope = chain(options.nodes)
    print(f"{options.nodes} nodes in a row: gradient {slope} ({time.monotonic() - started:.1f} s)")
    return int(late > early * (1 + ALLOWED) or slope != 1)


if __name__ == "__main__":
    sys.exit(main())
