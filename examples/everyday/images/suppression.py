"""Boxes of objects without those that overlap a better one."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    corners = P.rand(60, 2) * 40
    return P.cat([corners, corners + 5 + P.rand(60, 2) * 10], dim=1), P.rand(60)


def run(boxes: P.Tensor, scores: P.Tensor) -> P.Tensor:
    order = scores.argsort(descending=True)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    kept = []
    while order.numel() > 0:
        best, order = order[0], order[1:]
        kept.append(best)
        least = P.maximum(boxes[order, :2], boxes[best, :2])
        greatest = P.minimum(boxes[order, 2:], boxes[best, 2:])
        common = (greatest - least).clamp(min=0).prod(1)
        order = order[common / (areas[order] + areas[best] - common) <= 0.5]
    return P.stack(kept)


if __name__ == "__main__":
    print(run(*prepare()))
