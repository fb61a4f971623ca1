"""Scaled dot-product attention."""

from __future__ import annotations

import math

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.linear_algebra.matmul import broadcast_shapes, folded_batches
from aten.ops.memory.conversion import as_type, wide
from aten.registry import ops

_INFINITY = float("inf")
# Scores computed at once, about, and the fewest rows of them that are worth products of their own.
_SCORES = 1 << 21
_FEWEST_ROWS = 128


def _check(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool
) -> None:
    name, operands = "scaled_dot_product_attention", (query, key, value)
    if not query.dtype is key.dtype is value.dtype:
        listed = ", ".join(str(one.dtype) for one in operands)
        raise RuntimeError(f"{name}: query, key and value must be of one dtype, but got {listed}")
    if min(one.dim() for one in operands) < 2:
        listed = ", ".join(str(tuple(one.shape)) for one in operands)
        raise RuntimeError(f"{name}: query, key and value must be (*, rows, width), got {listed}")
    if not query.is_floating_point():
        raise RuntimeError(f"{name}: expected floating types, but got {query.dtype}")
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError(f"{name}: is_causal makes a mask of its own; attn_mask must be None")
    if attn_mask.dtype.name not in ("bool", "float32") and attn_mask.dtype is not query.dtype:
        raise RuntimeError(
            f"{name}: attn_mask must be bool, float32 or {query.dtype}, not {attn_mask.dtype}"
        )


def _repeated(name: str, heads: Tensor, wanted: int) -> Tensor:
    """Each of a few heads (…, H, S, E) in a row as often as there are queries for it."""
    held = heads.shape[-3]
    if held == 0 or wanted % held:
        raise RuntimeError(
            f"scaled_dot_product_attention: {held} heads of {name} cannot serve {wanted} of query"
        )
    *batch, _, length, width = heads.shape
    spread = heads.unsqueeze(-3).expand((*batch, held, wanted // held, length, width))
    return spread.reshape((*batch, wanted, length, width))


def _additive(mask: Tensor, element: dtype) -> Tensor:
    """A mask to add: 0 where attention is allowed, minus infinity where it is not."""
    if mask.dtype.name != "bool":
        return as_type(mask, element)
    refused = ops.aten.full.default((), -_INFINITY, dtype=element, device=mask.device)
    return ops.aten.where.ScalarSelf(mask, 0.0, refused)


def _causal_mask(begin: int, end: int, columns: int, like: Tensor) -> Tensor:
    """For some rows, True where a column is not after its row."""
    indices = ops.aten.arange
    row = indices.start(begin, end, dtype=DTYPES["int64"], device=like.device).unsqueeze(1)
    return row.ge(indices.default(columns, dtype=DTYPES["int64"], device=like.device))


def _keeps_layout(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether torch has a kernel for these sizes whose result lies in memory as the query does."""
    operands = (query, key, value)
    return all(
        one.dim() == 4 and one.numel() and one.stride(-1) == 1 and one.shape[3] == query.shape[3]
        for one in operands
    )


@op
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value.

    query (…, L, E), key (…, S, E), value (…, S, Ev), mask broadcast to (…, L, S), where True
    allows attention or a number is added. A row that may attend to nothing gives zeros. `scale`
    is 1/sqrt(E) unless given. With `enable_gqa` a head of key and value serves several of query.

    With `dropout_p`, weights are left out at that probability. Raises RuntimeError for types and
    sizes that do not go together.
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key = _repeated("key", key, query.shape[-3])
        value = _repeated("value", value, query.shape[-3])
    if scale is None:
        scale = _usual_scale(query)
    operands = (wide(query), wide(key), wide(value))
    if dropout_p:
        if is_causal:
            attn_mask = _causal_mask(0, query.shape[-2], key.shape[-2], query)
        weights = _weights(*operands[:2], attn_mask, scale, not is_causal)
        attended = ops.aten.dropout(weights, dropout_p, True).matmul(operands[2])
    else:
        attended = _attended(*operands, attn_mask, is_causal, scale)
    attended = as_type(attended, query.dtype)
    if dropout_p or attended.shape != query.shape or not _keeps_layout(query, key, value):
        return attended
    out: Tensor = ops.aten.empty_like(query)
    return attended if out.stride() == attended.stride() else out.copy_(attended)


def _attended(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float,
) -> Tensor:
    """Attention without dropout, some rows at a time.

    Their scores stay in a cache, and all of them need never be there at once. Causal rows look no
    further than to the last of them.
    """
    rows, columns = query.shape[-2], key.shape[-2]
    together = _rows_together(query, key, is_causal)
    parts = []
    for begin in range(0, max(rows, 1), together):
        end = min(begin + together, rows)
        seen = min(end, columns) if is_causal else columns
        of_rows = mask
        if is_causal:
            of_rows = _causal_mask(begin, end, seen, query)
        elif mask is not None and mask.dim() > 1 and mask.shape[-2] > 1:
            of_rows = mask.narrow(-2, begin, end - begin)
        near = query if together >= rows else query.narrow(-2, begin, end - begin)
        keys, values = (one if seen == columns else one.narrow(-2, 0, seen) for one in (key, value))
        parts.append(_weights(near, keys, of_rows, scale, not is_causal).matmul(values))
    return parts[0] if len(parts) == 1 else ops.aten.cat.default(parts, -2)


def _rows_together(query: Tensor, key: Tensor, is_causal: bool) -> int:
    """How many rows' scores are computed at once, for all heads."""
    if is_causal:
        return _FEWEST_ROWS
    heads = math.prod(broadcast_shapes(query.shape[:-2], key.shape[:-2]))
    return max(_SCORES // max(heads * key.shape[-2], 1), _FEWEST_ROWS)


def _scores(query: Tensor, key: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """query @ key.T * scale + mask, for one batch dimension; the product scales and masks."""
    batch = _batch_of(query, key, mask)
    left = folded_batches(query, batch)
    right = folded_batches(key.transpose(-1, -2), batch)
    if mask is None:
        addend = ops.aten.new_empty.default(query, (1,))
    elif mask.dim() <= 2:
        addend = mask
    else:
        sizes = (query.shape[-2], key.shape[-2])
        addend = folded_batches(mask.expand((*mask.shape[:-2], *sizes)), batch)
    beta = 0 if mask is None else 1
    return ops.aten.baddbmm.default(addend, left, right, beta=beta, alpha=scale)


def _batch_of(query: Tensor, key: Tensor, mask: Tensor | None) -> tuple[int, ...]:
    batch = broadcast_shapes(query.shape[:-2], key.shape[:-2])
    return batch if mask is None else broadcast_shapes(batch, mask.shape[:-2])


def _weights(
    query: Tensor, key: Tensor, mask: Tensor | None, scale: float, may_hide_rows: bool
) -> Tensor:
    """The softmax of scores.

    With `may_hide_rows` the mask may leave a row nothing; its weights are zero then.
    """
    mask = None if mask is None else _additive(mask, query.dtype)
    scores = _scores(query, key, mask, scale)
    weights: Tensor = ops.aten._softmax.default(scores, -1, False)
    if mask is not None and may_hide_rows and weights.numel():
        hidden = scores.amax([-1], True).eq(-_INFINITY)
        weights = ops.aten.masked_fill.Scalar(weights, hidden, 0.0)
    return weights.view((*_batch_of(query, key, mask), query.shape[-2], key.shape[-2]))


def _check_four(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> None:
    """Raises RuntimeError for what torch's kernel for four dimensions does not take."""
    name = "_scaled_dot_product_flash_attention_for_cpu"
    _check(query, key, value, None, False)
    if any(one.dim() != 4 or one.shape[3] != query.shape[3] for one in (query, key, value)):
        raise RuntimeError(f"{name}: query, key and value must be (N, heads, rows, width)")
    if dropout_p > 0:
        raise RuntimeError(f"{name}: there is no dropout, but dropout_p is {dropout_p}")
    if attn_mask is not None and attn_mask.dtype is not query.dtype:
        raise RuntimeError(f"{name}: attn_mask must be {query.dtype}, not {attn_mask.dtype}")


def _usual_scale(query: Tensor) -> float:
    """1/sqrt(E); 1 where there is nothing to scale."""
    return float(query.shape[-1] ** -0.5) if query.shape[-1] else 1.0


def _four_scores(
    query: Tensor, key: Tensor, is_causal: bool, attn_mask: Tensor | None, scale: float | None
) -> tuple[Tensor, float]:
    """Scores (N, heads, L, S), masked, and what they were scaled by."""
    scale = _usual_scale(query) if scale is None else scale
    mask = None if attn_mask is None else wide(attn_mask)
    if is_causal:
        rows, columns = query.shape[2], key.shape[2]
        causal = _additive(_causal_mask(0, rows, columns, query), query.dtype)
        mask = causal if mask is None else mask + causal
    scores = _scores(query, key, mask, scale)
    return scores.view((*query.shape[:3], key.shape[2])), scale


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
    """`scaled_dot_product_attention` for (N, heads, rows, width), and the logarithms of its sums.

    The logarithms (N, heads, L) lie in memory by rows. Raises RuntimeError for other ranks.
    """
    _check_four(query, key, value, attn_mask, dropout_p)
    scores, _ = _four_scores(wide(query), wide(key), is_causal, attn_mask, scale)
    logarithms = scores.logsumexp([-1])
    attended = (scores - logarithms.unsqueeze(-1)).exp().matmul(wide(value))
    out = ops.aten.empty_like(query).copy_(attended)
    return out, logarithms.transpose(1, 2).contiguous().transpose(1, 2)


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
    """Gradients of query, key and value. Dao et al., FlashAttention (2022), appendix B.2."""
    _check_four(query, key, value, attn_mask, dropout_p)
    grad, left, right = wide(grad_out), wide(query), wide(key)
    scores, factor = _four_scores(left, right, is_causal, attn_mask, scale)
    weights = (scores - logsumexp.unsqueeze(-1)).exp()
    of_weights = grad.matmul(wide(value).transpose(-2, -1))
    of_rows = (grad * wide(out)).sum([-1], True)
    of_scores = weights * (of_weights - of_rows) * factor
    of_key = of_scores.transpose(-2, -1).matmul(left)
    of_value = weights.transpose(-2, -1).matmul(grad)
    made = (of_scores.matmul(right), of_key, of_value)
    return tuple(as_type(one, query.dtype) for one in made)
