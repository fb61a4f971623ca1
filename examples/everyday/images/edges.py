"""The strength and direction of edges, by Sobel's kernels."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.rand(2, 1, 96, 96),)


def run(images: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    across = P.tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
    kernels = P.stack([across, across.t()]).unsqueeze(1)
    x, y = P.nn.functional.conv2d(images, kernels, padding=1).unbind(1)
    return P.sqrt(x * x + y * y + 1e-6), P.atan2(y, x + 1e-3)


if __name__ == "__main__":
    print(run(*prepare()))
