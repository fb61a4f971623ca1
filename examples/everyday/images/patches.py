"""Images as rows of patches, projected: a vision transformer's first step."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(2, 3, 64, 64), P.randn(96, 3 * 8 * 8) * 0.05, P.randn(1, 65, 96) * 0.02


def run(images: P.Tensor, weight: P.Tensor, positions: P.Tensor) -> P.Tensor:
    patches = P.nn.functional.unfold(images, kernel_size=8, stride=8).transpose(1, 2)
    rows = P.nn.functional.linear(patches, weight)
    first = P.zeros(rows.shape[0], 1, rows.shape[2])
    return P.cat([first, rows], dim=1) + positions


if __name__ == "__main__":
    print(run(*prepare()))
