"""A low-pass filter: a windowed sinc, as a convolution."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(4, 1, 4000),)


def run(sounds: P.Tensor) -> P.Tensor:
    offsets = P.arange(-16, 17).float()
    kernel = P.sinc(offsets / 4) / 4 * P.hamming_window(33, periodic=False)
    return P.nn.functional.conv1d(sounds, (kernel / kernel.sum()).view(1, 1, -1), padding=16)


if __name__ == "__main__":
    print(run(*prepare()))
