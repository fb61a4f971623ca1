"""Steps of optimizers in one pass over memory, or by the definitions where that declines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.updating import updates
from aten.ops.definition import op
from aten.ops.networks import optimizers as definitions
from aten.ops.networks.optimizers import corrections, number_of, quotient, require_none

Tensors = Sequence[Tensor]


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
    """A step of Adam, whose decay is part of the gradient."""
    columns = (self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    if not _adam("_fused_adam_", columns, state_steps, weight_decay, 0, **settings):
        definitions._fused_adam_(*columns, state_steps, weight_decay=weight_decay, **settings)


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
    """A step of Adam whose decay is apart from the gradient."""
    columns = (self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
    if not _adam("_fused_adamw_", columns, state_steps, 0, weight_decay, **settings):
        definitions._fused_adamw_(*columns, state_steps, weight_decay=weight_decay, **settings)


def _adam(
    name: str,
    columns: tuple[Tensors, ...],
    steps: Tensors,
    coupled: float,
    apart: float,
    *,
    lr: float | Tensor,
    beta1: float,
    beta2: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> bool:
    """Whether the compiled pass has done it."""
    if grad_scale is not None or len(steps) != len(columns[0]):
        return False
    if not amsgrad:
        require_none(name, "max_exp_avg_sqs", columns[4])
        columns = columns[:4]
    if found_inf is not None and found_inf.item() == 1:
        return True
    rate, sign = number_of(lr), -1.0 if maximize else 1.0
    by_step: dict[float, tuple[float, ...]] = {}
    taken = [one.item() for one in steps]
    for step in set(taken):
        length, root = corrections(rate, beta1, beta2, step)
        moments = (1 - beta1, beta2, 1 - beta2, root, eps, length)
        by_step[step] = (sign, coupled, 1 - rate * apart, *moments)
    return updates.adam(columns, [by_step[step] for step in taken])


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
    """A step of gradient descent, with momentum if there are buffers for it."""
    if momentum == 0:
        require_none("_fused_sgd_", "momentum_buffer_list", momentum_buffer_list)
    if found_inf is not None and found_inf.item() == 1:
        return
    columns = (self, grads) if momentum == 0 else (self, grads, momentum_buffer_list)
    sign = -1.0 if maximize else 1.0
    if grad_scale is None and updates.descend(
        columns,
        sign,
        weight_decay,
        momentum,
        1 - dampening,
        number_of(lr),
        is_first_step,
        nesterov,
    ):
        return
    definitions._fused_sgd_(
        self,
        grads,
        momentum_buffer_list,
        weight_decay=weight_decay,
        momentum=momentum,
        lr=lr,
        dampening=dampening,
        nesterov=nesterov,
        maximize=maximize,
        is_first_step=is_first_step,
        grad_scale=grad_scale,
    )


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
    """A step of Adagrad."""
    if found_inf is not None and found_inf.item() == 1:
        return
    rate = number_of(lr)
    if grad_scale is None and len(state_steps) == len(self):
        sign = -1.0 if maximize else 1.0
        unused = (1.0, 0.0, 0.0, 0.0, 1.0)
        rates = [quotient(rate, 1 + (one.item() - 1) * lr_decay) for one in state_steps]
        settings = [(sign, weight_decay, *unused, eps, one) for one in rates]
        if updates.adagrad((self, grads, state_sums), settings):
            return
    definitions._fused_adagrad_(
        self,
        grads,
        state_sums,
        state_steps,
        lr=rate,
        lr_decay=lr_decay,
        weight_decay=weight_decay,
        eps=eps,
        maximize=maximize,
        grad_scale=grad_scale,
    )
