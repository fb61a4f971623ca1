"""The loudness of a sound over time and frequency, in decibels."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    time = P.arange(8000) / 8000
    return (P.sin(2 * P.pi * (200 + 400 * time) * time) + 0.1 * P.randn(8000),)


def run(sound: P.Tensor) -> P.Tensor:
    window = P.hann_window(256)
    spectrum = P.stft(sound, n_fft=256, hop_length=128, window=window, return_complex=True)
    power = spectrum.abs() ** 2
    return 10 * P.log10(power.clamp(min=1e-3))


if __name__ == "__main__":
    print(run(*prepare()))
