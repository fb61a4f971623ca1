"""A minimum found by steps with momentum, in place."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    root = P.randn(32, 32)
    return root @ root.T / 32 + P.eye(32), P.randn(32)


def run(matrix: P.Tensor, target: P.Tensor) -> P.Tensor:
    place, speed = P.zeros(32), P.zeros(32)
    for _ in range(40):
        gradient = matrix @ place - target
        speed.mul_(0.9).add_(gradient, alpha=-0.05)
        place.add_(speed)
    return place


if __name__ == "__main__":
    print(run(*prepare()))
