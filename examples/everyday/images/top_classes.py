"""The five likeliest classes of each image of a batch."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(64, 1000),)


def run(logits: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    probabilities = P.nn.functional.softmax(logits, dim=1)
    values, classes = P.topk(probabilities, 5)
    return values, classes


if __name__ == "__main__":
    print(run(*prepare()))
