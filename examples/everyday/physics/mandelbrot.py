"""How soon points of the complex plane run away."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    real, imaginary = P.linspace(-2, 0.5, 80), P.linspace(-1.1, 1.1, 64)
    return (
        P.complex(
            real[None].expand(64, 80).contiguous(), imaginary[:, None].expand(64, 80).contiguous()
        ),
    )


def run(points: P.Tensor) -> P.Tensor:
    z = P.zeros_like(points)
    steps = P.zeros(points.shape, dtype=P.int64)
    for _ in range(12):
        inside = P.view_as_real(z).square().sum(-1) < 4
        steps += inside
        z = P.where(inside, z * z + points, z)
    return steps


if __name__ == "__main__":
    print(run(*prepare()))
