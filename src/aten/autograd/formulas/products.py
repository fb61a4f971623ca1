"""Formulas for contractions and convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.base.keys import gradient_modes
from aten._core.tensor.tensor import Tensor
from aten.autograd.formulas.common import Maybe
from aten.registry import ops


def slope_of_contraction(
    gradient: Tensor,
    other: Tensor,
    sizes: Sequence[int],
    contract_a: Sequence[int],
    contract_b: Sequence[int],
    batch_a: Sequence[int],
    batch_b: Sequence[int],
    first: bool,
) -> Tensor:
    """Of one operand of `dot_general`: another contraction, with what is left of the other."""
    mine, theirs = (contract_a, contract_b) if first else (contract_b, contract_a)
    my_batch, their_batch = (batch_a, batch_b) if first else (batch_b, batch_a)
    my_free = [dim for dim in range(len(sizes)) if dim not in mine and dim not in my_batch]
    their_free = [dim for dim in range(other.dim()) if dim not in theirs and dim not in their_batch]
    batches = len(my_batch)
    # In the gradient come the batch, what is left of the first, what is left of the second.
    start = batches + (len(my_free) if first else 0)
    contracted = list(range(start, start + len(their_free)))
    made = ops.prims.dot_general(
        gradient,
        other.conj().resolve_conj(),
        contracted,
        their_free,
        list(range(batches)),
        their_batch,
    )
    # The result has the batch, my free dimensions, and the contracted ones in the other's order.
    order = sorted(range(len(theirs)), key=lambda place: theirs[place])
    where = [*my_batch, *my_free, *(mine[place] for place in order)]
    return ops.aten.permute(made, [where.index(dim) for dim in range(len(sizes))])


def convolution_gradients(
    gradient: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    needed: tuple[bool, bool, bool],
) -> Any:
    """Of input, weight and bias."""
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    return ops.aten.convolution_backward(
        gradient, input.conj(), weight.conj(), [channels], stride, padding, dilation, transposed,
        output_padding, groups, needed,
    )  # fmt: skip


def rows(sizes: Sequence[int]) -> int:
    """How many rows a table of `sizes` has."""
    return sizes[0]


def of_attention(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    result: Tensor,
    logarithms: Tensor,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Maybe,
    scale: float | None,
) -> Any:
    """Of query, key and value; what is recorded knows that the logarithms are the scores'."""
    if gradient_modes()[0] and (query.requires_grad or key.requires_grad):
        logarithms = _logarithms_of_sums(query, key, is_causal, attn_mask, scale)
    return ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        gradient, query, key, value, result, logarithms, dropout_p, is_causal,
        attn_mask=attn_mask, scale=scale,
    )  # fmt: skip


def _logarithms_of_sums(
    query: Tensor, key: Tensor, is_causal: bool, attn_mask: Maybe, scale: float | None
) -> Tensor:
    usual = query.shape[-1] ** -0.5 if query.shape[-1] else 1.0
    scores = ops.aten.matmul(query, key.mT) * (usual if scale is None else scale)
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        seen = ops.aten.tril(ops.aten.ones_like(scores.detach()))
        scores = ops.aten.masked_fill(scores, seen == 0, -math.inf)
    return ops.aten.logsumexp(scores, [-1])
