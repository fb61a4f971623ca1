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
    if min(query.dim(), key.dim(), value.dim()) < 2:
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


def additive(mask: Tensor, element: dtype) -> Tensor:
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
    if not dropout_p and _goes_as_one(query, key, value, attn_mask, enable_gqa):
        mask = None if attn_mask is None else additive(attn_mask, query.dtype)
        made: Tensor = ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=mask, scale=scale
        )[0]
        return made
    if enable_gqa:
        key = _repeated("key", key, query.shape[-3])
        value = _repeated("value", value, query.shape[-3])
    if scale is None:
        scale = usual_scale(query)
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


def suits_blocks(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether these can be attended to in blocks of rows and keys, as the CPU does it.

    They are (N, heads, rows, width), of up to 32 bits, with rows of neighbours; heads of key and
    value may be fewer.
    """
    if not query.dim() == key.dim() == value.dim() == 4 or key.shape != value.shape:
        return False
    if not query.numel() or not key.numel():
        return False
    batch, heads, _, width = query.shape
    few, few_heads, _, its_width = key.shape
    return (
        query.dtype.name in ("float32", "bfloat16", "float16")
        and query.stride(3) == key.stride(3) == value.stride(3) == 1
        and batch == few
        and width == its_width
        and heads % few_heads == 0
    )


def _goes_as_one(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, grouped: bool
) -> bool:
    """Whether one operator serves these: on the CPU, which computes blocks, and not the mask's
    gradient."""
    if query.device.type != "cpu" or not suits_blocks(query, key, value):
        return False
    if not grouped and query.shape[1] != key.shape[1]:
        return False
    if mask is None:
        return True
    sizes = (*query.shape[:3], key.shape[2])
    fits = mask.dim() <= 4 and all(
        one in (1, wanted) for one, wanted in zip(mask.shape[::-1], sizes[::-1], strict=False)
    )
    exact = mask.dtype.name == "bool" or mask.dtype is query.dtype
    return fits and exact and not mask.requires_grad


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
    mask = None if mask is None else additive(mask, query.dtype)
    scores = _scores(query, key, mask, scale)
    if mask is not None and may_hide_rows:
        weights = ops.aten._safe_softmax.default(scores, -1)
    else:
        weights = ops.aten._softmax.default(scores, -1, False)
    return weights.view((*_batch_of(query, key, mask), query.shape[-2], key.shape[-2]))


def check_four(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> None:
    """Raises RuntimeError for what torch's kernel for four dimensions does not take."""
    name = "_scaled_dot_product_flash_attention_for_cpu"
    _check(query, key, value, None, False)
    four = query.dim() == key.dim() == value.dim() == 4
    if not four or not query.shape[3] == key.shape[3] == value.shape[3]:
        raise RuntimeError(f"{name}: query, key and value must be (N, heads, rows, width)")
    if dropout_p > 0:
        raise RuntimeError(f"{name}: there is no dropout, but dropout_p is {dropout_p}")
    if attn_mask is not None and attn_mask.dtype is not query.dtype:
        raise RuntimeError(f"{name}: attn_mask must be {query.dtype}, not {attn_mask.dtype}")


def usual_scale(query: Tensor) -> float:
    """1/sqrt(E); 1 where there is nothing to scale."""
    return float(query.shape[-1] ** -0.5) if query.shape[-1] else 1.0


def four_weights(
    query: Tensor, key: Tensor, is_causal: bool, attn_mask: Tensor | None, scale: float
) -> tuple[Tensor, Tensor]:
    """Weights (N, heads, L, S), zero in rows that may see nothing, and the logarithms of sums."""
    scores, mask = _four_scores(query, key, is_causal, attn_mask, scale)
    logarithms = scores.logsumexp([-1])
    return _four_parts(scores, logarithms, mask), logarithms


def _four_scores(
    query: Tensor, key: Tensor, is_causal: bool, attn_mask: Tensor | None, scale: float
) -> tuple[Tensor, Tensor | None]:
    """Scores (N, heads, L, S), and what was added to them."""
    mask = None if attn_mask is None else additive(attn_mask, query.dtype)
    if is_causal:
        rows, columns = query.shape[2], key.shape[2]
        causal = additive(_causal_mask(0, rows, columns, query), query.dtype)
        mask = causal if mask is None else mask + causal
    scores = _scores(query, key, mask, scale).view((*query.shape[:3], key.shape[2]))
    return scores, mask


def _four_parts(scores: Tensor, logarithms: Tensor, mask: Tensor | None) -> Tensor:
    """What part of its row's sum each score is."""
    weights = (scores - logarithms.unsqueeze(-1)).exp()
    if mask is None:
        return weights
    hidden = logarithms.eq(-_INFINITY).unsqueeze(-1)
    return ops.aten.masked_fill.Scalar(weights, hidden, 0.0)


def in_four_dimensions(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor]:
    """Attention of (N, heads, rows, width) as `query` lies in memory, and the logarithms."""
    scale = usual_scale(query) if scale is None else scale
    keys, values = (for_heads(one, query) for one in (key, value))
    weights, logarithms = four_weights(wide(query), wide(keys), is_causal, attn_mask, scale)
    out = ops.aten.empty_like(query).copy_(weights.matmul(wide(values)))
    return out, logarithms.transpose(1, 2).contiguous().transpose(1, 2)


def for_heads(few: Tensor, query: Tensor) -> Tensor:
    heads = query.shape[1]
    return few if few.shape[1] == heads else _repeated("key and value", few, heads)


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

    Each head of key and value serves as many of query, one after the other. The logarithms
    (N, heads, L) lie in memory by rows. Raises RuntimeError for other ranks.
    """
    check_four(query, key, value, attn_mask, dropout_p)
    return in_four_dimensions(query, key, value, is_causal, attn_mask, scale)


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
    check_four(query, key, value, attn_mask, dropout_p)
    return gradients_in_four_dimensions(
        grad_out, query, key, value, out, logsumexp, is_causal, attn_mask, scale
    )


def gradients_in_four_dimensions(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, ...]:
    """The gradients for query, key and value of `in_four_dimensions`, which gave the others."""
    scale = usual_scale(query) if scale is None else scale
    grad, left = wide(grad_out), wide(query)
    right, values = (wide(for_heads(one, query)) for one in (key, value))
    scores, mask = _four_scores(left, right, is_causal, attn_mask, scale)
    weights = _four_parts(scores, as_type(logsumexp, scores.dtype), mask)
    of_weights = grad.matmul(values.transpose(-2, -1))
    of_rows = (grad * wide(out)).sum([-1], True)
    of_scores = weights * (of_weights - of_rows) * scale
    of_key = of_scores.transpose(-2, -1).matmul(left)
    of_value = weights.transpose(-2, -1).matmul(grad)
    made = (of_scores.matmul(right), *(_summed(one, key) for one in (of_key, of_value)))
    return tuple(as_type(one, query.dtype) for one in made)


def _summed(gradient: Tensor, few: Tensor) -> Tensor:
    """Of heads that are served by one, the sum."""
    batch, heads, rows, width = gradient.shape
    held = few.shape[1]
    if heads == held:
        return gradient
    return gradient.reshape((batch, held, heads // held, rows, width)).sum([2])
