"""Attention of several heads, with its projections."""

from __future__ import annotations

from typing import NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["multi_head_attention_forward"]


class _Masks(NamedTuple):
    """What is added to scores: one mask (L, S) or (N * heads, L, S), and one of keys (N, S)."""

    scores: Tensor | None
    keys: Tensor | None

    def for_more_keys(self, count: int) -> _Masks:
        """Masks that leave `count` keys at the end alone."""
        return _Masks(*(None if one is None else ops.aten.pad(one, (0, count)) for one in self))

    def joined(self, heads: int) -> Tensor | None:
        """Both as one, (1 or N, 1 or heads, 1 or L, S)."""
        scores = self.scores
        if scores is not None:
            if scores.dim() == 2:
                scores = scores.unsqueeze(0).unsqueeze(0)
            else:
                scores = scores.view((-1, heads, *scores.shape[1:]))
        if self.keys is None:
            return scores
        keys = self.keys.unsqueeze(1).unsqueeze(2)
        return keys if scores is None else scores + keys


def _require(holds: bool, message: str) -> None:
    """Raises AssertionError, as torch does for what this function is given."""
    if not holds:
        raise AssertionError(f"multi_head_attention_forward: {message}")


def _additive(name: str, mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask to add; true in a mask of bool hides what it stands at."""
    if mask is None or mask.is_floating_point():
        return mask
    _require(mask.dtype.name == "bool", f"{name} must be bool or floating, not {mask.dtype}")
    zeros: Tensor = ops.aten.zeros(mask.shape, dtype=like.dtype, device=like.device)
    return zeros.masked_fill(mask, -float("inf"))


def _check_sizes(query: Tensor, key: Tensor, value: Tensor, embedding: int, heads: int) -> None:
    rank = query.dim()
    _require(rank in (2, 3), f"query must be (L, E) or (L, N, E), not {tuple(query.shape)}")
    _require(
        key.dim() == value.dim() == rank,
        f"key and value must be {rank}-d as the query is, not {key.dim()}-d and {value.dim()}-d",
    )
    _require(query.shape[-1] == embedding, f"expected width {embedding}, got {query.shape[-1]}")
    _require(embedding % heads == 0, f"width {embedding} does not make {heads} heads")
    _require(
        key.shape[:-1] == value.shape[:-1],
        f"{tuple(key.shape)} keys for {tuple(value.shape)} values",
    )


def _projected(
    operands: tuple[Tensor, Tensor, Tensor],
    packed: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None] | None,
    bias: Tensor | None,
) -> tuple[Tensor, ...]:
    """Query, key and value through their weights: three, or three below each other."""
    query, key, value = operands
    width = query.shape[-1]
    biases = (None,) * 3 if bias is None else tuple(bias.split(width))
    if separate is None:
        _require(packed is not None, "without separate weights, in_proj_weight is needed")
        assert packed is not None
        if query is key is value:
            joined: Tensor = ops.aten.linear(query, packed, bias)
            return tuple(joined.split(width, -1))
        weights = tuple(packed.split(width))
    else:
        weights = tuple(one for one in separate if one is not None)
        _require(len(weights) == 3, "q_proj_weight, k_proj_weight and v_proj_weight are needed")
    return tuple(
        ops.aten.linear(operand, weight, one)
        for operand, weight, one in zip(operands, weights, biases, strict=True)
    )


def _by_head(rows: Tensor, count: int, width: int) -> Tensor:
    """(L, N, heads * width) as (N * heads, L, width)."""
    return rows.reshape(rows.shape[0], count, width).transpose(0, 1)


def _given(name: str, rows: Tensor | None, made: Tensor) -> Tensor:
    """Keys or values given as they are, in place of those made."""
    if rows is None:
        return made
    _require(
        rows.shape[0] == made.shape[0] and rows.shape[2] == made.shape[2],
        f"{name} must be ({made.shape[0]}, S, {made.shape[2]}), not {tuple(rows.shape)}",
    )
    return rows


def _check_masks(masks: _Masks, batch: int, heads: int, length: int, keys: int) -> None:
    if masks.scores is not None:
        shape = tuple(masks.scores.shape)
        if shape not in ((length, keys), (batch * heads, length, keys)):
            raise RuntimeError(
                f"multi_head_attention_forward: attn_mask must be ({length}, {keys}) or "
                f"({batch * heads}, {length}, {keys}), but is {shape}"
            )
    if masks.keys is not None:
        _require(
            tuple(masks.keys.shape) == (batch, keys),
            f"key_padding_mask must be ({batch}, {keys}), not {tuple(masks.keys.shape)}",
        )


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention by several heads: query (L, N, E) or (L, E), key and value (S, N, *) or (S, *).

    Returns the attended values, shaped as the query, and with `need_weights` the weights
    (N, L, S), or (N, heads, L, S) where they are not averaged. True in a mask of bool hides keys.
    `bias_k` and `bias_v` are one more key and value, `add_zero_attn` adds one of zeros.
    Vaswani et al., Attention Is All You Need (2017), section 3.2.2.

    Raises AssertionError or RuntimeError, as torch does, for arguments that do not go together.

    Example:

        >>> x, w = aten.ones(2, 1, 4), aten.ones(12, 4)
        >>> y, _ = aten.nn.functional.multi_head_attention_forward(
        ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, aten.eye(4), None
        ... )
        >>> y.shape
        aten.Size([2, 1, 4])
    """
    _check_sizes(query, key, value, embed_dim_to_check, num_heads)
    single = query.dim() == 2
    if single:
        joint = query is key is value
        query, key, value = (one.unsqueeze(1) for one in (query, key, value))
        key, value = (query, query) if joint else (key, value)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention_forward: is_causal needs the attn_mask it is of")
    masks = _Masks(
        _additive("attn_mask", attn_mask, query),
        _additive("key_padding_mask", key_padding_mask, query),
    )
    length, batch, width = query.shape
    count, head = batch * num_heads, width // num_heads
    _check_masks(masks, batch, num_heads, length, key.shape[0])

    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    queries, keys, values = _projected((query, key, value), in_proj_weight, separate, in_proj_bias)
    _require((bias_k is None) is (bias_v is None), "bias_k and bias_v are needed both, or neither")
    if bias_k is not None and bias_v is not None:
        keys = ops.aten.cat([keys, bias_k.expand((1, batch, width))])
        values = ops.aten.cat([values, bias_v.expand((1, batch, width))])
        masks = masks.for_more_keys(1)
    queries = _by_head(queries, count, head)
    keys = _given("static_k", static_k, _by_head(keys, count, head))
    values = _given("static_v", static_v, _by_head(values, count, head))
    if add_zero_attn:
        zeros = keys.new_zeros((count, 1, head))
        keys, values = (ops.aten.cat([one, zeros], 1) for one in (keys, values))
        masks = masks.for_more_keys(1)

    each = (batch, num_heads, -1, head)
    attended, weights = _attention(
        queries.view(each),
        keys.view(each),
        values.view(each),
        masks.joined(num_heads),
        dropout_p if training else 0.0,
        need_weights,
    )
    rows = attended.permute((2, 0, 1, 3)).reshape(length * batch, width)
    out = ops.aten.linear(rows, out_proj_weight, out_proj_bias)
    out = out.view((length, batch, out.shape[1]))
    if weights is not None and average_attn_weights:
        weights = weights.mean([1])
    if not single:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    if not need_weights:
        attended: Tensor = ops.aten.scaled_dot_product_attention(query, key, value, mask, dropout_p)
        return attended, None
    scores = (query * query.shape[-1] ** -0.5).matmul(key.transpose(-2, -1))
    weights: Tensor = ops.aten.softmax(scores if mask is None else scores + mask, -1)
    if dropout_p > 0:
        weights = ops.aten.dropout(weights, dropout_p, True)
    return weights.matmul(value), weights
