"""Mean and deviation of what is near each point of a series."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(5000).cumsum(0),)


def run(series: P.Tensor) -> tuple[P.Tensor, P.Tensor, P.Tensor]:
    windows = series.unfold(0, 20, 1)
    mean, deviation = windows.mean(dim=-1), windows.std(dim=-1)
    return mean, deviation, (series[19:] - mean) / (deviation + 1e-6)


if __name__ == "__main__":
    print(run(*prepare()))
