"""Quartiles of columns, and which rows lie far out."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(2001, 8),)


def run(table: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    low, middle, high = P.quantile(table, P.tensor([0.25, 0.5, 0.75]), dim=0)
    reach = 1.5 * (high - low)
    outliers = ((table < low - reach) | (table > high + reach)).any(dim=1)
    return P.stack([low, middle, high]), outliers.nonzero().flatten()


if __name__ == "__main__":
    print(run(*prepare()))
