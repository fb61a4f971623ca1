"""Vectors of sentences: the mean of their words', of length one."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    lengths = P.randint(4, 32, (16, 1))
    return P.randn(16, 32, 128), (P.arange(32)[None] < lengths).long()


def run(words: P.Tensor, mask: P.Tensor) -> P.Tensor:
    weights = mask.unsqueeze(-1).float()
    mean = (words * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    return P.nn.functional.normalize(mean, p=2, dim=1)


if __name__ == "__main__":
    print(run(*prepare()))
