"""Weights as whole numbers of 8 bits, a scale for each row."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(256, 128), P.randn(8, 128)


def run(weights: P.Tensor, rows: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    scale = weights.abs().amax(dim=1, keepdim=True) / 127
    small = (weights / scale).round().clamp(-128, 127).to(P.int8)
    return small, rows @ (small.float() * scale).T


if __name__ == "__main__":
    print(run(*prepare()))
