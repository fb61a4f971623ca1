"""Optimizers' steps over lists of parameters, and what scaled gradients need.

The steps change what they are given; their functional forms change copies (`on_copies`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor import memory
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op, operation_type
from aten.registry import operator, ops

Tensors = Sequence[Tensor]


@op
def on_copies(called: OpOverload, *arguments: Any, out: Any = None, **keywords: Any) -> Any:
    """The functional form of an operator that changes its arguments: copies of them, changed.

    With out=, that is where the first of them goes; the others stay what they are, as torch's do.
    """
    overload = called._schema.name.overload
    if called.entry.variant == "out":
        overload = overload.removesuffix("out").removesuffix("_")
    changing = operator(f"{called.namespace}::{called.name}_.{overload or 'default'}")
    written = [place for place, one in enumerate(changing._schema.arguments) if one.is_write]
    given = list(arguments)
    for place in written:
        given[place] = _copied(given[place])
    changing(*given, **keywords)
    if out is None:
        results = tuple(given[place] for place in written)
        return results if len(results) > 1 else results[0]
    single = isinstance(out, Tensor)
    outs = (out,) if single else tuple(out)
    made = (given[0],) if single else tuple(given[0])
    _require_same_types(called.name, outs, made)
    memory.write_outs(called.name, outs, made, ops.aten.copy_.default)
    return out if single else None


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else [one.clone() for one in value]


def _require_same_types(name: str, outs: Tensors, made: Tensors) -> None:
    if len(outs) != len(made):
        raise RuntimeError(f"{name}: expected {len(made)} tensors as out, got {len(outs)}")
    for out, result in zip(outs, made, strict=True):
        if out.dtype is not result.dtype:
            raise RuntimeError(f"{name}: out= must be of {result.dtype}, but is of {out.dtype}")


@op
def _fused_adam_(
    self: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    *,
    weight_decay: float,
    **settings: Any,
) -> None:
    """A step of Adam. Kingma and Ba, Adam: A Method for Stochastic Optimization (2014).

    The decay is part of the gradient. With `amsgrad` the largest second moment counts: Reddi et
    al., On the Convergence of Adam and Beyond (2018).
    """

    def decay(parameter: Tensor, gradient: Tensor, rate: float) -> None:
        if weight_decay != 0:
            gradient.add_(parameter, alpha=weight_decay)

    states = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps)
    _adam("_fused_adam_", (self, grads), states, decay, **settings)


@op
def _fused_adamw_(
    self: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    *,
    weight_decay: float,
    **settings: Any,
) -> None:
    """A step of Adam whose decay is apart from the gradient.

    Loshchilov and Hutter, Decoupled Weight Decay Regularization (2019).
    """

    def decay(parameter: Tensor, gradient: Tensor, rate: float) -> None:
        if weight_decay != 0:
            parameter.mul_(1 - rate * weight_decay)

    states = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps)
    _adam("_fused_adamw_", (self, grads), states, decay, **settings)


def _adam(
    name: str,
    operands: tuple[Tensors, Tensors],
    states: tuple[Tensors, Tensors, Tensors, Tensors],
    decay: Callable[[Tensor, Tensor, float], None],
    *,
    lr: float | Tensor,
    beta1: float,
    beta2: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    averages, squares, largest, steps = states
    if not amsgrad:
        require_none(name, "max_exp_avg_sqs", largest)
    columns = (*operands, averages, squares, *((largest,) if amsgrad else ()))
    _require_alike(name, columns, steps)
    if found_inf is not None and found_inf.item() == 1:
        return
    rate, scale, taken = number_of(lr), number_of(grad_scale), [float(one.item()) for one in steps]
    for place, (parameter, gradient, average, square, *most) in _wide(columns, scale):
        step = taken[place]
        direction = -gradient if maximize else gradient.clone()
        decay(parameter, direction, rate)
        average.lerp_(direction, 1 - beta1)
        square.mul_(beta2).addcmul_(direction, direction, value=1 - beta2)
        if amsgrad:
            most[0].copy_(most[0].maximum(square))
        denominator = (most[0] if amsgrad else square).sqrt()
        length, root = corrections(rate, beta1, beta2, step)
        denominator.div_(root).add_(eps)
        parameter.addcdiv_(average, denominator, value=-length)


@op
def _fused_sgd_(
    self: Tensors,
    grads: Tensors,
    momentum_buffer_list: Tensors,
    *,
    weight_decay: float,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """A step of gradient descent, with momentum if there are buffers for it.

    Sutskever et al., On the Importance of Initialization and Momentum in Deep Learning (2013).
    """
    if momentum == 0:
        require_none("_fused_sgd_", "momentum_buffer_list", momentum_buffer_list)
    buffers = (momentum_buffer_list,) if momentum != 0 else ()
    _require_alike("_fused_sgd_", (self, grads, *buffers))
    if found_inf is not None and found_inf.item() == 1:
        return
    rate, scale = number_of(lr), number_of(grad_scale)
    for _, (parameter, gradient, *buffer) in _wide((self, grads, *buffers), scale):
        direction = -gradient if maximize else gradient.clone()
        if weight_decay != 0:
            direction.add_(parameter, alpha=weight_decay)
        if momentum != 0:
            kept = buffer[0]
            if is_first_step:
                kept.copy_(direction)
            else:
                kept.mul_(momentum).add_(direction, alpha=1 - dampening)
            direction = direction.add_(kept, alpha=momentum) if nesterov else kept
        parameter.add_(direction, alpha=-rate)


@op
def _fused_adagrad_(
    self: Tensors,
    grads: Tensors,
    state_sums: Tensors,
    state_steps: Tensors,
    *,
    lr: float | Tensor,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """A step of Adagrad. Duchi et al., Adaptive Subgradient Methods (2011)."""
    _require_alike("_fused_adagrad_", (self, grads, state_sums), state_steps)
    if found_inf is not None and found_inf.item() == 1:
        return
    rate, scale = number_of(lr), number_of(grad_scale)
    taken = [float(one.item()) for one in state_steps]
    for place, (parameter, gradient, total) in _wide((self, grads, state_sums), scale):
        direction = -gradient if maximize else gradient.clone()
        if weight_decay != 0:
            direction.add_(parameter, alpha=weight_decay)
        total.addcmul_(direction, direction)
        now = quotient(rate, 1 + (taken[place] - 1) * lr_decay)
        parameter.addcdiv_(direction, total.sqrt().add_(eps), value=-now)


def corrections(rate: float, beta1: float, beta2: float, step: float) -> tuple[float, float]:
    """The length of a step of Adam and what roots of squares are divided by.

    Both averages begin with zeros; after `step` steps they are too small by these.
    """
    missing = 1 - _power(beta2, step)
    root = math.sqrt(missing) if missing >= 0 else math.nan
    return quotient(rate, 1 - _power(beta1, step)), root


def quotient(dividend: float, divisor: float) -> float:
    """As floating point divides: by zero, too."""
    if divisor != 0:
        return dividend / divisor
    if dividend == 0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


@overload
def number_of(given: float | Tensor) -> float: ...
@overload
def number_of(given: Tensor | None) -> float | None: ...
def number_of(given: float | Tensor | None) -> float | None:
    return float(given.item()) if isinstance(given, Tensor) else given


def require_none(name: str, argument: str, given: Tensors) -> None:
    if given:
        raise RuntimeError(
            f"{name}: {argument} must be empty without what it is for, but has {len(given)} tensors"
        )


def _require_alike(name: str, columns: Sequence[Tensors], steps: Tensors | None = None) -> None:
    """Raises RuntimeError where a step would fail after it has changed something."""
    counts = [len(one) for one in (*columns, *([] if steps is None else [steps]))]
    if len(set(counts)) > 1:
        raise RuntimeError(f"{name}: lists must be equally long, but their lengths are {counts}")
    for place, row in enumerate(zip(*columns, strict=True)):
        kinds = {(one.dtype.name, tuple(one.shape), str(one.device)) for one in row}
        if len(kinds) > 1 or not row[0].is_floating_point():
            raise RuntimeError(
                f"{name}: parameters, gradients and states must be of one floating dtype, size "
                f"and device, but those at {place} are {sorted(kinds)}"
            )
        for one in row:
            memory.check_writable(one)


def _wide(columns: Sequence[Tensors], scale: float | None) -> Iterator[tuple[int, list[Tensor]]]:
    """What belongs together, in the type that arithmetic is done in, written back afterwards.

    The second column are gradients; where they are scaled, theirs is the unscaled value.
    """
    for place, narrow in enumerate(zip(*columns, strict=True)):
        wide = [one.to(operation_type(one.dtype)) for one in narrow]
        if scale is not None:
            wide[1] = wide[1] / scale
        yield place, wide
        for index, (own, one) in enumerate(zip(narrow, wide, strict=True)):
            if own is not one and (index != 1 or scale is not None):
                own.copy_(one)


_UNSCALE = "_amp_foreach_non_finite_check_and_unscale_"


@op
def _amp_foreach_non_finite_check_and_unscale_(
    self: Tensors, found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Times `inv_scale`; `found_inf` becomes 1 where an element was not finite.

    Raises RuntimeError unless both are one float32 number.
    """
    for named, one in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if one.numel() != 1 or one.dtype.name != "float32":
            raise RuntimeError(
                f"{_UNSCALE}: {named} must be one float32 number, "
                f"but it has {one.numel()} elements of {one.dtype}"
            )
    for gradient in self:
        if not gradient.is_floating_point():
            raise RuntimeError(f"{_UNSCALE}: gradients must be floating, but are {gradient.dtype}")
        memory.check_writable(gradient)
    for gradient in self:
        is_bad = gradient.isfinite().logical_not_().any()
        found_inf.masked_fill_(is_bad, 1.0)
        gradient.mul_(inv_scale.view(()).to(gradient.dtype))


@op
def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """The next scale of a loss: lower after what is not finite, higher after enough good steps.

    Micikevicius et al., Mixed Precision Training (2018). Raises RuntimeError unless the scale and
    `found_inf` are one float32 number and the tracker is one int32.
    """
    wanted = (
        ("growth_tracker", growth_tracker, "int32"),
        ("current_scale", self, "float32"),
        ("found_inf", found_inf, "float32"),
    )
    for named, one, element in wanted:
        if one.numel() != 1 or one.dtype.name != element:
            raise RuntimeError(
                f"_amp_update_scale_: {named} must be one {element} number, but it has "
                f"{one.numel()} elements of {one.dtype}"
            )
    memory.check_writable(self)
    memory.check_writable(growth_tracker)
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.zero_()
    elif growth_tracker.item() + 1 == growth_interval:
        grown = self * scale_growth_factor
        self.copy_(ops.aten.where(grown.isfinite(), grown, self))
        growth_tracker.zero_()
    else:
        growth_tracker.add_(1)
    return self
