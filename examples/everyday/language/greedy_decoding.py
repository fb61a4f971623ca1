"""Words one after another, each the likeliest: a tiny recurrent model."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(200, 32), P.randn(32, 32) * 0.2, P.randn(200, 32)


def run(table: P.Tensor, step: P.Tensor, out: P.Tensor) -> P.Tensor:
    state = P.zeros(4, 32)
    word = P.arange(4)
    words = [word]
    for _ in range(20):
        state = P.tanh(state @ step + table[word])
        word = (state @ out.t()).argmax(dim=-1)
        words.append(word)
    return P.stack(words, dim=1)


if __name__ == "__main__":
    print(run(*prepare()))
