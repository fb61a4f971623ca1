"""Each point's nearest in another cloud, and the distance between clouds."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(400, 3), P.randn(300, 3)


def run(first: P.Tensor, second: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    distances = ((first[:, None] - second[None]) ** 2).sum(-1)
    nearest = distances.min(dim=1)
    return nearest.indices, nearest.values.mean() + distances.amin(0).mean()


if __name__ == "__main__":
    print(run(*prepare()))
