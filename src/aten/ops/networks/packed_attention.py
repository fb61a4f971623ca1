"""Attention as other devices' kernels ask for it: rows before heads, sequences one behind another.

Where sequences are packed, which of them a row is in follows from where they begin; nothing here
depends on values that are read on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.ops.networks.attention import additive, for_heads, four_weights, usual_scale
from aten.registry import ops

_INT64 = DTYPES["int64"]
_FROM_START, _FROM_END = 1, 2
# Rows for which logarithms are given are filled up to a multiple of this.
_ROWS_TOGETHER = 32


@op
def _flash_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    seqused_k: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> tuple[Tensor, ...]:
    """Attention of (N, rows, heads, width), and the logarithms (N, heads, rows) of its sums.

    With `cum_seq_q` and `cum_seq_k`, where each sequence begins and the last one ends, operands are
    (rows of all, heads, width) and logarithms (heads, rows). The last row sees the last key: from
    there `is_causal` and the windows count. Dropout, a debug mask and tables of blocks raise
    NotImplementedError. Dao, FlashAttention-2 (2023).
    """
    unknown = {
        "dropout_p": dropout_p > 0.0,
        "return_debug_mask": return_debug_mask,
        "block_table": block_table is not None,
    }
    _refuse("_flash_attention_forward", unknown)
    starts = _pair("_flash_attention_forward", cum_seq_q, cum_seq_k)
    operands = (
        [query, key, value] if not starts else [one.unsqueeze(0) for one in (query, key, value)]
    )
    places = _Places(operands[0], operands[1], starts, seqused_k)
    right = 0 if is_causal else window_size_right
    bias = None if alibi_slopes is None else places.slopes(alibi_slopes)
    allowed = places.within(window_size_left, right)
    made, logarithms = _attended(operands, allowed, bias, scale)
    if starts:
        made, logarithms = made.squeeze(0), logarithms.squeeze(0)
    out = ops.aten.empty_like(query).copy_(made)
    return (out, as_type(logarithms, DTYPES["float32"]), *_no_state(query))


@op("_flash_attention_forward.quantized")
def flash_attention_of_scaled(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,
    q_descale: Tensor | None,
    k_descale: Tensor | None,
    v_descale: Tensor | None,
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    seqused_k: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """`_flash_attention_forward` of operands (N, rows, heads, width) that are multiplied first.

    Each of the factors is (N, heads of key and value); raises RuntimeError for others. Packed
    sequences with factors raise NotImplementedError.
    """
    factors = (q_descale, k_descale, v_descale)
    given = any(one is not None for one in factors)
    _refuse("_flash_attention_forward.quantized", {"cum_seq_q": given and cum_seq_q is not None})
    made, *others = ops.aten._flash_attention_forward.default(
        _multiplied("q_descale", query, q_descale),
        _multiplied("k_descale", key, k_descale),
        _multiplied("v_descale", value, v_descale),
        cum_seq_q,
        cum_seq_k,
        max_q,
        max_k,
        dropout_p,
        is_causal,
        return_debug_mask,
        scale=scale,
        window_size_left=window_size_left,
        window_size_right=window_size_right,
        seqused_k=seqused_k,
        alibi_slopes=alibi_slopes,
    )
    return (as_type(made, query.dtype), *others)


@op
def _efficient_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    max_seqlen_q: int | None,
    max_seqlen_k: int | None,
    dropout_p: float,
    custom_mask_type: int,
    compute_log_sumexp: bool = False,
    *,
    scale: float | None = None,
    seqlen_k: Tensor | None = None,
    window_size: int | None = None,
) -> tuple[Any, ...]:
    """Attention of (N, rows, heads, width), with a `bias` (N, heads, rows, keys) added to scores.

    `custom_mask_type` 1 lets the first row see the first key, the next one two, and so on; 2 the
    last row all of them. Sequences whose beginnings `cu_seqlens_q` and `cu_seqlens_k` give lie one
    behind another in a batch of one. Logarithms (N, heads, rows to a multiple of 32) are given if
    asked for. Raises NotImplementedError for dropout. Rabe and Staats, Self-attention Does Not Need
    O(n²) Memory (2021).
    """
    name = "_efficient_attention_forward"
    _refuse(name, {"dropout_p": dropout_p > 0.0})
    if custom_mask_type not in (0, _FROM_START, _FROM_END):
        raise RuntimeError(f"{name}: custom_mask_type is 0, 1 or 2, got {custom_mask_type}")
    starts = _pair(name, cu_seqlens_q, cu_seqlens_k)
    places = _Places(query, key, starts, seqlen_k, from_start=custom_mask_type == _FROM_START)
    right = 0 if custom_mask_type else None
    left = None if window_size is None or window_size <= 0 else window_size - 1
    allowed = places.within(left, right)
    made, logarithms = _attended([query, key, value], allowed, bias, scale)
    rows = query.size(1) if not starts or max_seqlen_q is None else max_seqlen_q
    keys = key.size(1) if max_seqlen_k is None else max_seqlen_k
    if not compute_log_sumexp:
        kept = logarithms.new_empty((_sequences(query, starts), query.size(2), 0))
    elif starts:
        kept = places.by_sequence(logarithms, rows)
    else:
        kept = _filled(logarithms)
    state = ops.aten.zeros((), dtype=_INT64, device=query.device)
    kept = as_type(kept, DTYPES["float32"])
    return as_type(made, query.dtype), kept, state, state.clone(), rows, keys


class _Places:
    """Where rows and keys are in their sequences.

    Sequences all begin at the first row, or `starts` has where each of them begins, for rows and
    for keys. `used` says how many keys of a sequence count.
    """

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        starts: Sequence[Tensor],
        used: Tensor | None,
        *,
        from_start: bool = False,
    ) -> None:
        rows, keys = (
            ops.aten.arange(one.size(1), dtype=_INT64, device=query.device) for one in (query, key)
        )
        self.starts = starts
        self.sequences: tuple[Tensor, Tensor] | None = None
        self.used = used
        lengths: Any = (query.size(1), key.size(1))
        if starts:
            of_rows, of_keys = (
                ops.aten.searchsorted.Tensor(begin.to(_INT64), place, right=True) - 1
                for begin, place in zip(starts, (rows, keys), strict=True)
            )
            self.sequences = of_rows, of_keys
            counts = [one.to(_INT64).diff() for one in starts]
            lengths = [_picked(one, of_rows) for one in counts]
            rows = rows - _picked(starts[0].to(_INT64), of_rows)
            keys = keys - _picked(starts[1].to(_INT64), of_keys)
        self.row, self.key = rows, keys
        shift = 0 if from_start else lengths[1] - lengths[0]
        # How far each key lies behind the one that its row stands beside: (rows, keys).
        self.behind = keys - (rows + shift).unsqueeze(1)

    def within(self, left: int | None, right: int | None) -> Tensor | None:
        """Which keys (rows, keys), or (N, 1, rows, keys), a row may see; None for all of them.

        A negative or missing number is no limit.
        """
        allowed = None
        if left is not None and left >= 0:
            allowed = self.behind >= -left
        if right is not None and right >= 0:
            allowed = _both(allowed, self.behind <= right)
        if self.sequences is not None:
            of_rows, of_keys = self.sequences
            allowed = _both(allowed, of_rows.unsqueeze(1) == of_keys)
        if self.used is None:
            return allowed
        used = self.used.to(_INT64)
        if self.sequences is not None:
            return _both(allowed, self.key < _picked(used, self.sequences[1]))
        return _both(allowed, self.key < used.reshape((-1, 1, 1, 1)))

    def slopes(self, slopes: Tensor) -> Tensor:
        """What is added to scores: slopes by distances, (1 or N, heads, rows, keys)."""
        found = slopes.reshape((1, -1)) if slopes.dim() == 1 else slopes
        return found.unsqueeze(-1).unsqueeze(-1) * -self.behind.abs().to(slopes.dtype)

    def by_sequence(self, logarithms: Tensor, rows: int) -> Tensor:
        """(1, heads, rows of all) as (sequences, heads, rows filled up)."""
        assert self.sequences is not None
        heads = logarithms.size(1)
        filled = -(-rows // _ROWS_TOGETHER) * _ROWS_TOGETHER
        made = logarithms.new_full((self.starts[0].size(0) - 1, filled, heads), float("inf"))
        given = (self.sequences[0], self.row)
        return ops.aten.index_put(made, given, logarithms.squeeze(0).t()).transpose(1, 2)


def _picked(table: Tensor, places: Tensor) -> Tensor:
    last = table.size(0) - 1
    return ops.aten.index_select(table, 0, places.clamp(min=0, max=max(last, 0)))


def _both(allowed: Tensor | None, other: Tensor) -> Tensor:
    return other if allowed is None else allowed.logical_and(other)


def _attended(
    operands: Sequence[Tensor], allowed: Tensor | None, bias: Tensor | None, scale: float | None
) -> tuple[Tensor, Tensor]:
    """Attention (N, rows, heads, width) in a wide type, and logarithms (N, heads, rows)."""
    query, key, value = (one.transpose(1, 2) for one in operands)
    scale = usual_scale(query) if scale is None else scale
    left = wide(query)
    right, values = (wide(for_heads(one, query)) for one in (key, value))
    mask = None if allowed is None else additive(allowed, left.dtype)
    if bias is not None:
        added = as_type(bias, left.dtype)
        mask = added if mask is None else mask + added
    weights, logarithms = four_weights(left, right, False, mask, scale)
    return weights.matmul(values).transpose(1, 2).contiguous(), logarithms


def _filled(logarithms: Tensor) -> Tensor:
    missing = -logarithms.size(2) % _ROWS_TOGETHER
    return ops.aten.constant_pad_nd(logarithms, (0, missing), float("inf"))


def _multiplied(name: str, operand: Tensor, factor: Tensor | None) -> Tensor:
    if factor is None:
        return operand
    if operand.dim() != 4 or factor.dim() != 2 or not 0 < factor.size(1) <= operand.size(2):
        raise RuntimeError(
            f"_flash_attention_forward: {name} has a factor (N, heads of key and value) for "
            f"operands (N, rows, heads, width), but got {list(factor.shape)} for "
            f"{list(operand.shape)}"
        )
    each = factor.repeat_interleave(operand.size(2) // factor.size(1), 1)
    return wide(operand) * each.unsqueeze(1).unsqueeze(-1)


def _sequences(query: Tensor, starts: Sequence[Tensor]) -> int:
    return starts[0].size(0) - 1 if starts else query.size(0)


def _no_state(query: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What a kernel with dropout would give of its random numbers, and no debug mask."""
    seeds = DTYPES["uint64"]
    made = [ops.aten.zeros(size, dtype=seeds, device=query.device) for size in ((2,), ())]
    return made[0], made[1], query.new_empty((0,))


def _pair(name: str, first: Tensor | None, second: Tensor | None) -> tuple[Tensor, ...]:
    if first is None and second is None:
        return ()
    if first is None or second is None or first.dim() != 1 or first.shape != second.shape:
        raise RuntimeError(
            f"{name}: beginnings of sequences must be two vectors of one length, for query and key"
        )
    return first, second


def _refuse(name: str, unknown: dict[str, bool]) -> None:
    given = [one for one, is_given in unknown.items() if is_given]
    if given:
        raise NotImplementedError(f"{name}: there is no {', '.join(given)} here")
