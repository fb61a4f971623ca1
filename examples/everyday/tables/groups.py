"""The number, sum and mean of each group's values."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randint(0, 40, (5000,)), P.rand(5000)


def run(keys: P.Tensor, values: P.Tensor) -> tuple[P.Tensor, P.Tensor, P.Tensor]:
    names, places = keys.unique(return_inverse=True)
    counts = P.bincount(places, minlength=len(names))
    sums = P.zeros(len(names)).index_add_(0, places, values)
    return names, counts, sums / counts


if __name__ == "__main__":
    print(run(*prepare()))
