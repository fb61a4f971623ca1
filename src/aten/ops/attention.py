"""Scaled dot-product attention."""

from __future__ import annotations

from aten._core.dtypes import DTYPES, dtype
from aten._core.tensor import Tensor
from aten.ops.conversion import as_type, wide
from aten.ops.definition import op
from aten.ops.matmul import broadcast_shapes, folded_batches
from aten.registry import ops

_INFINITY = float("inf")


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
    return ops.aten.where.ScalarSelf(mask, 0.0, refused)  # type: ignore[no-any-return]


def _causal_mask(rows: int, columns: int, like: Tensor) -> Tensor:
    """True where a column is not after its row."""
    indices = ops.aten.arange.default
    row = indices(rows, dtype=DTYPES["int64"], device=like.device).unsqueeze(1)
    mask: Tensor = row.ge(indices(columns, dtype=DTYPES["int64"], device=like.device))
    return mask


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
    if is_causal:
        attn_mask = _causal_mask(query.shape[-2], key.shape[-2], query)
    if scale is None:
        scale = query.shape[-1] ** -0.5 if query.shape[-1] else 1.0
    wide_query, wide_key, wide_value = (wide(one) for one in (query, key, value))
    weights = _weights(wide_query, wide_key, attn_mask, scale, not is_causal)
    if dropout_p:
        weights = ops.aten.dropout(weights, dropout_p, True)
    attended = as_type(weights.matmul(wide_value), query.dtype)
    if dropout_p or attended.shape != query.shape or not _keeps_layout(query, key, value):
        return attended
    out: Tensor = ops.aten.empty_like(query)
    return attended if out.stride() == attended.stride() else out.copy_(attended)


def _weights(
    query: Tensor, key: Tensor, mask: Tensor | None, scale: float, may_hide_rows: bool
) -> Tensor:
    """The softmax of scores, which the product itself scales and masks.

    With `may_hide_rows` the mask may leave a row nothing; its weights are zero then.
    """
    batch = broadcast_shapes(query.shape[:-2], key.shape[:-2])
    if mask is not None:
        mask = _additive(mask, query.dtype)
        batch = broadcast_shapes(batch, mask.shape[:-2])
    left = folded_batches(query, batch)
    right = folded_batches(key.transpose(-1, -2), batch)
    sizes = (query.shape[-2], key.shape[-2])
    if mask is None:
        addend = ops.aten.new_empty.default(query, (1,))
    elif mask.dim() <= 2:
        addend = mask
    else:
        addend = folded_batches(mask.expand((*mask.shape[:-2], *sizes)), batch)
    scores = ops.aten.baddbmm.default(
        addend, left, right, beta=0 if mask is None else 1, alpha=scale
    )
    weights: Tensor = ops.aten._softmax.default(scores, -1, False)
    if mask is not None and may_hide_rows and weights.numel():
        hidden = scores.amax([-1], True).eq(-_INFINITY)
        weights = ops.aten.masked_fill.Scalar(weights, hidden, 0.0)
    return weights.view((*batch, *sizes))
