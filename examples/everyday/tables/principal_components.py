"""The directions in which a table varies most."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(300, 12) @ P.randn(12, 12),)


def run(table: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    centered = table - table.mean(dim=0)
    _, values, directions = P.linalg.svd(centered, full_matrices=False)
    explained = values**2 / (values**2).sum()
    return explained, (centered @ directions[:2].T).abs()


if __name__ == "__main__":
    print(run(*prepare()))
