"""A line through points, by the normal equations and by least squares."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    x = P.randn(500, 6)
    return x, x @ P.arange(1.0, 7.0) + 0.1 * P.randn(500)


def run(x: P.Tensor, y: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    design = P.cat([P.ones(x.shape[0], 1), x], dim=1)
    weights = P.linalg.solve(design.T @ design, design.T @ y)
    other = P.linalg.lstsq(design, y[:, None]).solution[:, 0]
    return weights, other


if __name__ == "__main__":
    print(run(*prepare()))
