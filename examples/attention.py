"""Attention from two matrix products and a softmax, next to the operator that does it all."""

from __future__ import annotations

import math

import aten


def attention(query: aten.Tensor, key: aten.Tensor, value: aten.Tensor) -> aten.Tensor:
    """softmax(query keyᵀ / √d) value. Vaswani et al., Attention Is All You Need (2017)."""
    scores = aten.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    return aten.matmul(scores.softmax(-1), value)


aten.manual_seed(0)
heads, length, width = 4, 16, 32
query, key, value = (aten.randn((1, heads, length, width)) for _ in range(3))
written = attention(query, key, value)
given = aten.nn.functional.scaled_dot_product_attention(query, key, value)
difference = (written - given).abs().max().item()
print("result:", tuple(written.shape))
print("largest difference below 1e-6:", difference < 1e-6)
