"""Many random walks, and how far they come."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    return ()


def run() -> tuple[P.Tensor, P.Tensor]:
    P.manual_seed(0)
    steps = P.randn(500, 100)
    walks = steps.cumsum(dim=1)
    return walks.var(dim=0), walks.abs().amax(dim=1)


if __name__ == "__main__":
    print(run(*prepare()))
