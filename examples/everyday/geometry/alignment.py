"""The rotation that lays one cloud upon another: Kabsch's algorithm."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    points = P.randn(200, 3)
    turn = P.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return points, points @ turn.T + P.tensor([1.0, 2.0, 3.0])


def run(first: P.Tensor, second: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    one, other = first - first.mean(0), second - second.mean(0)
    u, _, vh = P.linalg.svd(one.T @ other)
    flip = P.ones(3)
    flip[2] = P.sign(P.linalg.det(vh.T @ u.T))
    rotation = vh.T @ P.diag(flip) @ u.T
    return rotation, second.mean(0) - first.mean(0) @ rotation.T


if __name__ == "__main__":
    print(run(*prepare()))
