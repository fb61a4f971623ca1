"""Connectionist temporal classification: sequences of labels against longer ones of scores.

Graves et al., Connectionist Temporal Classification (2006), section 4.1: log_alpha[n, t, s] is the
logarithm of the chance to have seen, at step t, the labels up to state s of the n-th target, where
states are the labels with blanks between and around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.construct import tensor_from_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.losses.loss import MEAN
from aten.ops.losses.similarity import reduced_tensor
from aten.ops.requirements import refusal
from aten.registry import ops

_INT64 = DTYPES["int64"]
_INFINITY = float("inf")


def _lengths(lengths: Tensor) -> list[int]:
    if lengths.dtype.kind not in ("signed", "unsigned"):
        raise RuntimeError(f"ctc_loss: lengths must be integers, not {lengths.dtype}")
    return [int(one) for one in lengths.reshape(-1).tolist()]


def _check(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
) -> None:
    if log_probs.dim() != 3 or log_probs.numel() == 0:
        raise RuntimeError(
            f"ctc_loss: expected scores (T, N, C), not empty, but got {list(log_probs.shape)}"
        )
    steps, batch, classes = log_probs.shape
    if log_probs.dtype.name not in ("float32", "float64"):
        raise refusal("ctc_loss_cpu", log_probs.dtype)
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"ctc_loss: {len(lengths)} {name} for {batch} sequences")
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank {blank} is none of {classes} classes")
    if min(input_lengths) < 0 or max(input_lengths) > steps:
        raise RuntimeError(f"ctc_loss: input_lengths must be from 0 to {steps}: {input_lengths}")
    if min(target_lengths) < 0:
        raise RuntimeError(f"ctc_loss: target_lengths must not be negative: {target_lengths}")
    longest = max(target_lengths)
    if targets.dim() == 1:
        fits = targets.shape[0] == sum(target_lengths)
    else:
        fits = targets.dim() == 2 and targets.shape[0] == batch and targets.shape[1] >= longest
    if not fits:
        raise RuntimeError(
            f"ctc_loss: targets {list(targets.shape)} do not hold {batch} of lengths "
            f"{target_lengths}"
        )


def _column(lengths: Sequence[int], like: Tensor) -> Tensor:
    return tensor_from_data(list(lengths), _INT64).to(like.device).unsqueeze(1)


def _padded(targets: Tensor, lengths: Sequence[int], blank: int) -> Tensor:
    """Targets (N, S) with blanks behind their ends, from those, or from all in one row."""
    targets, longest = targets.to(_INT64), max(lengths)
    if targets.dim() == 2:
        places: Tensor = ops.aten.arange(longest, device=targets.device)
        return targets.narrow(1, 0, longest).masked_fill(
            places.ge(_column(lengths, targets)), blank
        )
    rows, start = targets.new_full((len(lengths), longest), blank), 0
    for place, length in enumerate(lengths):
        rows.select(0, place).narrow(0, 0, length).copy_(targets.narrow(0, start, length))
        start += length
    return rows


def _log_alpha(log_probs: Tensor, labels: Tensor, blank: int) -> Tensor:
    batch, longest = labels.shape
    states = labels.new_full((batch, 2 * longest + 1), blank)
    states[:, 1::2].copy_(labels)
    stuck = states.eq(blank)
    stuck[:, 2:].logical_or_(states[:, 2:].eq(states[:, :-2]))
    count = log_probs.shape[0]
    scores = log_probs.gather(2, states.unsqueeze(0).expand((count, *states.shape)))
    # Two columns before the first state are never reached: what comes from there adds nothing.
    table = scores.new_full((count, batch, states.shape[1] + 2), -_INFINITY)
    table[0, :, 2:4].copy_(scores[0, :, :2])
    for step in range(1, count):
        before = table.select(0, step - 1)
        skipping = before[:, :-2].masked_fill(stuck, -_INFINITY)
        reached = before[:, 2:].logaddexp(before[:, 1:-1]).logaddexp(skipping)
        ops.aten.add.out(reached, scores.select(0, step), out=table[step, :, 2:])
    return table[:, :, 2:].transpose(0, 1).contiguous()


@op
def _ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Negative log likelihoods (N) of targets (N, S), or all in one row, and log_alpha.

    `log_probs` (T, N, C) are logarithms of probabilities. Raises RuntimeError for sizes and labels
    that do not go together.
    """
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    log_alpha = _log_alpha(log_probs, _padded(targets, target_lengths, blank), blank)
    inputs, labels = _column(input_lengths, log_probs), _column(target_lengths, log_probs)
    ends = (inputs - 1).clamp_min(0).unsqueeze(2)
    last = log_alpha.gather(1, ends.expand((-1, 1, log_alpha.shape[2]))).squeeze(1)
    in_label = last.gather(1, (2 * labels - 1).clamp_min(0)).masked_fill(labels.eq(0), -_INFINITY)
    likelihood = last.gather(1, 2 * labels).logaddexp(in_label)
    nothing = likelihood.new_full((), -_INFINITY).where(labels.gt(0), 0.0)
    return -nothing.where(inputs.eq(0), likelihood).squeeze(1), log_alpha


@op("_ctc_loss.Tensor")
def _ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, *rest: Any
) -> tuple[Tensor, Tensor]:
    """`_ctc_loss` with lengths in tensors."""
    lengths = _lengths(input_lengths), _lengths(target_lengths)
    return _ctc_loss(log_probs, targets, *lengths, *rest)


@op("ctc_loss.IntList")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log likelihoods of targets; their mean is that of losses per label.

    `log_probs` (T, N, C), or (T, C) with one target. `zero_infinity` leaves out targets longer than
    their input.
    """
    single = log_probs.dim() == 2
    if single:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    losses: Tensor = ops.aten._ctc_loss.default(
        log_probs, targets, input_lengths, target_lengths, blank
    )[0]
    if zero_infinity:
        losses = losses.masked_fill(losses.eq(_INFINITY), 0)
    if reduction == MEAN:
        losses = losses / _column(target_lengths, losses).squeeze(1).clamp_min(1)
    return reduced_tensor(losses.squeeze(0) if single else losses, reduction)


@op("ctc_loss.Tensor")
def ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, *rest: Any
) -> Tensor:
    """`ctc_loss` with lengths in tensors."""
    lengths = _lengths(input_lengths), _lengths(target_lengths)
    return ops.aten.ctc_loss.IntList(log_probs, targets, *lengths, *rest)
