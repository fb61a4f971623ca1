"""An image resized, cropped in the middle, and mirrored."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.rand(1, 3, 120, 160),)


def run(image: P.Tensor) -> P.Tensor:
    functional = P.nn.functional
    small = functional.interpolate(image, size=(72, 96), mode="bilinear", align_corners=False)
    top, left = (small.shape[2] - 64) // 2, (small.shape[3] - 64) // 2
    return small[:, :, top : top + 64, left : left + 64].flip(-1).contiguous()


if __name__ == "__main__":
    print(run(*prepare()))
