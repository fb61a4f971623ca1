"""Sentences of several lengths in one tensor, with the mask of what is there."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[list[P.Tensor]]:
    P.manual_seed(0)
    return ([P.randint(1, 1000, (length,)) for length in range(3, 40, 2)],)


def run(sentences: list[P.Tensor]) -> tuple[P.Tensor, P.Tensor]:
    lengths = P.tensor([len(one) for one in sentences])
    padded = P.zeros(len(sentences), int(lengths.max()), dtype=P.int64)
    for row, one in zip(padded, sentences, strict=True):
        row[: len(one)] = one
    return padded, P.arange(padded.shape[1])[None] < lengths[:, None]


if __name__ == "__main__":
    print(run(*prepare()))
