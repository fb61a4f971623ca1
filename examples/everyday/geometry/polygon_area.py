"""Areas and centers of many polygons."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    angles = P.sort(P.rand(300, 12) * 2 * P.pi, dim=1).values
    return (P.stack([angles.cos(), angles.sin()], dim=-1) * 2,)


def run(corners: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    after = corners.roll(-1, dims=1)
    twice = corners[..., 0] * after[..., 1] - after[..., 0] * corners[..., 1]
    area = twice.sum(1) / 2
    return area, ((corners + after) * twice[..., None]).sum(1) / (6 * area[:, None])


if __name__ == "__main__":
    print(run(*prepare()))
