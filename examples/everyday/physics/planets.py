"""Bodies that attract each other, by leaps."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(24, 3), P.randn(24, 3) * 0.1, P.rand(24)


def run(places: P.Tensor, speeds: P.Tensor, masses: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    places, speeds = places.clone(), speeds.clone()
    for _ in range(10):
        away = places[None] - places[:, None]
        cubes = ((away * away).sum(-1) + 0.1) ** 1.5
        pulls = (away * (masses[None] / cubes)[..., None]).sum(1)
        speeds += 0.01 * pulls
        places += 0.01 * speeds
    return places, speeds


if __name__ == "__main__":
    print(run(*prepare()))
