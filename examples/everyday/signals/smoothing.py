"""Exponential smoothing of many series at once, step by step."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(100, 64),)


def run(series: P.Tensor) -> P.Tensor:
    level = series[0].clone()
    levels = [level.clone()]
    for value in series[1:]:
        level = 0.3 * value + 0.7 * level
        levels.append(level)
    return P.stack(levels)


if __name__ == "__main__":
    print(run(*prepare()))
