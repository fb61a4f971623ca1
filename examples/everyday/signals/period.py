"""The period of a series: the highest place of its power spectrum."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.sin(P.arange(2048) * (2 * P.pi / 64)) + 0.5 * P.randn(2048),)


def run(series: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    power = P.fft.rfft(series - series.mean()).abs().square()
    frequencies = P.fft.rfftfreq(series.shape[0])
    best = power[1:].argmax() + 1
    return best, 1 / frequencies[best]


if __name__ == "__main__":
    print(run(*prepare()))
