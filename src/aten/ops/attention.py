"""Scaled dot-product attention."""

from __future__ import annotations

from aten._core.dtypes import DTYPES, dtype
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.matmul import broadcast_shapes, folded_batches
from aten.registry import ops

_CXX_NAMES = {"float32": "float", "float64": "double"}
_INFINITY = float("inf")


def _cxx_name(element: dtype) -> str:
    return _CXX_NAMES.get(element.name, element.name)


def _check(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool
) -> None:
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{_cxx_name(query.dtype)} key.dtype: {_cxx_name(key.dtype)} and value.dtype: "
            f"{_cxx_name(value.dtype)} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if not query.is_floating_point():
        raise RuntimeError(
            f"scaled_dot_product_attention: expected floating types, but got {query.dtype}"
        )
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if attn_mask.dtype.name not in ("bool", "float32") and attn_mask.dtype is not query.dtype:
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {_cxx_name(attn_mask.dtype)} and  query.dtype: "
            f"{_cxx_name(query.dtype)} instead."
        )


def _repeated(name: str, heads: Tensor, wanted: int) -> Tensor:
    """Each of a few heads (…, H, S, E) in a row as often as there are queries for it."""
    held = heads.shape[-3]
    if held == 0 or wanted % held:
        raise RuntimeError(
            f"Number of heads in key and value must divide the number of heads in query, but got "
            f"{held} in {name} and {wanted} in query"
        )
    *batch, _, length, width = heads.shape
    spread = heads.unsqueeze(-3).expand((*batch, held, wanted // held, length, width))
    return spread.reshape((*batch, wanted, length, width))


def _additive(mask: Tensor, element: dtype) -> Tensor:
    """A mask to add: 0 where attention is allowed, minus infinity where it is not."""
    if mask.dtype.name != "bool":
        return mask if mask.dtype is element else mask.to(element)
    refused = ops.aten.full.default((), -_INFINITY, dtype=element, device=mask.device)
    return ops.aten.where.ScalarSelf(mask, 0.0, refused)  # type: ignore[no-any-return]


def _causal_mask(rows: int, columns: int, like: Tensor) -> Tensor:
    """True where a column is not after its row."""
    indices = ops.aten.arange.default
    row = indices(rows, dtype=DTYPES["int64"], device=like.device).unsqueeze(1)
    mask: Tensor = row.ge(indices(columns, dtype=DTYPES["int64"], device=like.device))
    return mask


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
    weights = _weights(query, key, attn_mask, scale, not is_causal)
    return ops.aten.dropout.default(weights, dropout_p, True).matmul(value)  # type: ignore[no-any-return]


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
