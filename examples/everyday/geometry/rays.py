"""Rays of a camera, and where they meet a sphere."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    return (P.tensor([0.0, 0.0, 3.0]),)


def run(eye: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    y, x = P.meshgrid(P.linspace(-1, 1, 64), P.linspace(-1, 1, 64), indexing="ij")
    rays = P.nn.functional.normalize(P.stack([x, y, -P.ones_like(x)], dim=-1), dim=-1)
    along = -(rays * eye).sum(-1)
    away = (eye * eye).sum() - along**2
    hits = away < 1
    distance = along - P.sqrt((1 - away).clamp(min=0))
    return hits, P.where(hits, distance, P.full_like(distance, float("inf")))


if __name__ == "__main__":
    print(run(*prepare()))
