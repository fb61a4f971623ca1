"""Rows squeezed into few numbers and back, and what is lost."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(64, 100), P.randn(16, 100) * 0.1, P.randn(100, 16) * 0.1


def run(rows: P.Tensor, down: P.Tensor, up: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    code = P.nn.functional.gelu(rows @ down.t())
    back = code @ up.t()
    return code, P.nn.functional.mse_loss(back, rows)


if __name__ == "__main__":
    print(run(*prepare()))
