"""The sentences nearest to some questions, by the cosine of their vectors."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(8, 128), P.randn(2000, 128)


def run(questions: P.Tensor, sentences: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    functional = P.nn.functional
    scores = functional.normalize(questions, dim=1) @ functional.normalize(sentences, dim=1).T
    best = scores.topk(10, dim=1)
    return best.values, best.indices


if __name__ == "__main__":
    print(run(*prepare()))
