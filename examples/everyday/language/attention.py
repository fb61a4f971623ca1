"""Causal attention of several heads, step by step."""

from __future__ import annotations

import math

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(2, 48, 64), P.randn(192, 64) * 0.1, P.randn(64, 64) * 0.1


def run(x: P.Tensor, projection: P.Tensor, out: P.Tensor) -> P.Tensor:
    batch, length, width = x.shape
    heads = 4
    joined = (x @ projection.t()).view(batch, length, 3, heads, width // heads)
    query, key, value = joined.permute(2, 0, 3, 1, 4).unbind(0)
    scores = query @ key.transpose(-2, -1) / math.sqrt(width // heads)
    mask = P.ones(length, length, dtype=P.bool).triu(1)
    attended = P.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ value
    return attended.transpose(1, 2).reshape(batch, length, width) @ out.t()


if __name__ == "__main__":
    print(run(*prepare()))
