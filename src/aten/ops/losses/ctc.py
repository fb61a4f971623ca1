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
_NAN = float("nan")


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
    return ops.aten._ctc_loss.default(log_probs, targets, *lengths, *rest)


def _turned(
    log_probs: Tensor, labels: Tensor, inputs: Tensor, lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """Scores and labels (N, S) with the last step, and the last label, of each sequence first."""
    steps = _backwards(inputs, log_probs.shape[0]).t().unsqueeze(2)
    places = _backwards(lengths, labels.shape[1])
    turned = labels.gather(1, places).masked_fill(_behind(lengths, labels.shape[1]), blank)
    return log_probs.gather(0, steps.expand(log_probs.shape)), turned


def _backwards(lengths: Tensor, count: int) -> Tensor:
    """For each of `lengths` (N, 1): length - 1, …, 0, and zeros up to `count` numbers."""
    return (lengths - 1 - ops.aten.arange(count, device=lengths.device)).clamp_min(0)


def _behind(lengths: Tensor, count: int) -> Tensor:
    """Which of `count` places are behind the ends (N, 1)."""
    return ops.aten.arange(count, device=lengths.device).ge(lengths)


@op
def _ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    """What the loss has for the scores before `log_softmax` (T, N, C), section 4.2, equation 16.

    It is zero behind the sequences' ends, NaN where a loss is infinite, or zero with
    `zero_infinity`. Raises RuntimeError for sizes that do not go together.
    """
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    labels = _padded(targets, target_lengths, blank)
    steps, batch, classes = log_probs.shape
    table = (batch, steps, 2 * labels.shape[1] + 1)
    for name, given, wanted in (
        ("grad", grad, (batch,)),
        ("neg_log_likelihood", neg_log_likelihood, (batch,)),
        ("log_alpha", log_alpha, table),
    ):
        if tuple(given.shape) != wanted or given.dtype is not log_probs.dtype:
            raise RuntimeError(
                f"_ctc_loss_backward: {name} must be {log_probs.dtype} of {list(wanted)}, but is "
                f"{given.dtype} of {list(given.shape)}"
            )
    inputs, lengths = _column(input_lengths, log_probs), _column(target_lengths, log_probs)
    after = _log_alpha(*_turned(log_probs, labels, inputs, lengths, blank), blank)
    states = _backwards(2 * lengths + 1, table[2])
    after = after.gather(1, _backwards(inputs, steps).unsqueeze(2).expand(table))
    after = after.gather(2, states.unsqueeze(1).expand(table))
    after = after.masked_fill(_behind(2 * lengths + 1, table[2]).unsqueeze(1), -_INFINITY)
    classes_of = labels.new_full((batch, table[2]), blank)
    classes_of[:, 1::2].copy_(labels)
    scores = log_probs.transpose(0, 1)
    places = classes_of.unsqueeze(1).expand(table)
    seen = log_alpha + after - scores.gather(2, places) + neg_log_likelihood.reshape(-1, 1, 1)
    none = scores.new_zeros((batch, steps, classes))
    made = scores.exp() - none.scatter_add(2, places, seen.exp())
    unlikely = neg_log_likelihood.eq(_INFINITY).reshape(-1, 1, 1)
    made = made.masked_fill(unlikely, _NAN) * grad.reshape(-1, 1, 1)
    if zero_infinity:
        made = made.masked_fill(unlikely, 0)
    ended = _behind(inputs, steps).unsqueeze(2)
    return made.masked_fill(ended, 0).transpose(0, 1).contiguous()


@op("_ctc_loss_backward.Tensor")
def _ctc_loss_backward_tensor(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    *rest: Any,
) -> Tensor:
    """`_ctc_loss_backward` with lengths in tensors."""
    lengths = _lengths(input_lengths), _lengths(target_lengths)
    return ops.aten._ctc_loss_backward.default(grad, log_probs, targets, *lengths, *rest)


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
        log_probs, targets, input_lengths, target_lengths, blank, zero_infinity
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
