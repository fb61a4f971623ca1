"""Points turned by quaternions."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(500, 4), P.randn(500, 3)


def run(quaternions: P.Tensor, points: P.Tensor) -> P.Tensor:
    unit = quaternions / quaternions.norm(dim=1, keepdim=True)
    scalar, vector = unit[:, :1], unit[:, 1:]
    across = P.cross(vector, points, dim=1)
    return points + 2 * (scalar * across + P.cross(vector, across, dim=1))


if __name__ == "__main__":
    print(run(*prepare()))
