"""How much boxes overlap: intersection over union, all pairs."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    corners = P.rand(200, 2) * 100
    boxes = P.cat([corners, corners + 1 + P.rand(200, 2) * 30], dim=1)
    return boxes, boxes[:50] + 2


def run(first: P.Tensor, second: P.Tensor) -> P.Tensor:
    areas = [(one[:, 2] - one[:, 0]) * (one[:, 3] - one[:, 1]) for one in (first, second)]
    least = P.maximum(first[:, None, :2], second[None, :, :2])
    greatest = P.minimum(first[:, None, 2:], second[None, :, 2:])
    common = (greatest - least).clamp(min=0).prod(-1)
    return common / (areas[0][:, None] + areas[1][None] - common)


if __name__ == "__main__":
    print(run(*prepare()))
