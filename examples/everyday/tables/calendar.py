"""Days as numbers: the weekday, and sums of each week."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.arange(19000, 19364), P.randint(0, 100, (364,))


def run(days: P.Tensor, sales: P.Tensor) -> tuple[P.Tensor, P.Tensor, P.Tensor]:
    weekday = (days + 3) % 7
    by_weekday = P.zeros(7, dtype=P.int64).scatter_add_(0, weekday, sales)
    weeks = P.div(days - days[0], 7, rounding_mode="floor")
    by_week = P.zeros(int(weeks[-1]) + 1, dtype=P.int64).index_add_(0, weeks, sales)
    return weekday, by_weekday, by_week


if __name__ == "__main__":
    print(run(*prepare()))
