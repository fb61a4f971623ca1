"""How often words come in documents, weighed by how rare they are."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randint(0, 300, (50, 80)),)


def run(words: P.Tensor) -> P.Tensor:
    documents, vocabulary = words.shape[0], 300
    counts = P.zeros(documents, vocabulary).scatter_add_(1, words, P.ones(words.shape))
    containing = (counts > 0).sum(0).float()
    rarity = P.log((1 + documents) / (1 + containing)) + 1
    return P.nn.functional.normalize(counts * rarity, dim=1)


if __name__ == "__main__":
    print(run(*prepare()))
