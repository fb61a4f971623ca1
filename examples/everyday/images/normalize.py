"""Bytes of images as normalized floats, channels first."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randint(0, 256, (4, 96, 128, 3), dtype=P.uint8),)


def run(images: P.Tensor) -> P.Tensor:
    mean = P.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    deviation = P.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    return (images.permute(0, 3, 1, 2).float() / 255 - mean) / deviation


if __name__ == "__main__":
    print(run(*prepare()))
