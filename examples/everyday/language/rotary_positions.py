"""Positions as rotations of pairs of numbers."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(2, 4, 64, 32),)


def run(x: P.Tensor) -> P.Tensor:
    width = x.shape[-1]
    frequencies = 1.0 / 10000 ** (P.arange(0, width, 2).float() / width)
    angles = P.outer(P.arange(x.shape[-2]).float(), frequencies)
    angles = P.cat([angles, angles], dim=-1)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + P.cat([-second, first], dim=-1) * angles.sin()


if __name__ == "__main__":
    print(run(*prepare()))
