"""Attention in blocks of rows and keys."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.attention import attend
from aten.backends.cpu.kernels.matrix.attention_gradients import attend_back
from aten.ops.definition import op
from aten.ops.networks import attention as definitions
from aten.registry import ops


@op
def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    definitions.check_four(query, key, value, attn_mask, dropout_p)
    if not definitions.suits_blocks(query, key, value):
        made: tuple[Tensor, Tensor] = definitions.in_four_dimensions(
            query, key, value, is_causal, attn_mask, scale
        )
        return made
    batch, heads, rows, _ = query.shape
    out = ops.aten.empty_like(query)
    logarithms = query.new_empty((batch, rows, heads), dtype=DTYPES["float32"]).transpose(1, 2)
    attend(
        query,
        key,
        value,
        _spread(attn_mask, query, key),
        is_causal,
        definitions.usual_scale(query) if scale is None else scale,
        out,
        logarithms,
    )
    return out, logarithms


def _spread(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """The mask as one of each score, of step 0 where it is repeated."""
    return None if mask is None else mask.expand((*query.shape[:3], key.shape[2]))


@op
def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    definitions.check_four(query, key, value, attn_mask, dropout_p)
    if not definitions.suits_blocks(query, key, value):
        return definitions.gradients_in_four_dimensions(
            grad_out, query, key, value, out, logsumexp, is_causal, attn_mask, scale
        )
    empty = ops.aten.empty_like
    gradients = (empty(query), empty(key), empty(value))
    attend_back(
        grad_out.contiguous(),
        query,
        key,
        value,
        _spread(attn_mask, query, key),
        is_causal,
        definitions.usual_scale(query) if scale is None else scale,
        out.contiguous(),
        logsumexp,
        gradients,
    )
    return gradients
