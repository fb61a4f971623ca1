"""Optimizers that are one operator over all parameters of a group."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.optim.optimizer import Optimizer
from aten.registry import ops

__all__ = ["SGD", "Adagrad", "Adam", "AdamW"]


_FUSED_WAYS = ("foreach", "differentiable", "fused")


def _column(states: list[dict[str, Any]], name: str) -> list[Any]:
    """A state of each parameter; complex numbers step as pairs of real ones."""
    return _real([state[name] for state in states])


def _real(tensors: list[Any]) -> list[Any]:
    return [ops.aten.view_as_real(one) if one.is_complex() else one for one in tensors]


class SGD(Optimizer):
    """Down the gradient, with momentum (Sutskever et al. 2013)."""

    _known_ways = _FUSED_WAYS

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov needs momentum, and dampening of 0")
        settings = {"lr": lr, "momentum": momentum, "dampening": dampening}
        more = {"weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize}
        super().__init__(params, {**settings, **more})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
        settings = {name: group[name] for name in names}
        if not group["momentum"]:
            ops.aten._fused_sgd_(
                _real(parameters), _real(gradients), [], is_first_step=False, **settings
            )
            return
        # The operator fills new buffers in a call of their own.
        for first in (True, False):
            pairs = [
                (one, gradient)
                for one, gradient in zip(parameters, gradients, strict=True)
                if (self.state.get(one, {}).get("momentum_buffer") is None) == first
            ]
            if first:
                fresh = {id(one) for one, _ in pairs}
                for one, _ in pairs:
                    self.state[one] = {"momentum_buffer": ops.aten.empty_like(one)}
            else:
                pairs = [pair for pair in pairs if id(pair[0]) not in fresh]
            if pairs:
                chosen, given = map(list, zip(*pairs, strict=True))
                buffers = _column([self.state[one] for one in chosen], "momentum_buffer")
                ops.aten._fused_sgd_(
                    _real(chosen), _real(given), buffers, is_first_step=first, **settings
                )


class Adam(Optimizer):
    """Kingma & Ba 2015; with amsgrad, Reddi et al. 2018; with decoupled_weight_decay, AdamW."""

    _known_ways = ("foreach", "capturable", "differentiable", "fused")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        more = {"amsgrad": amsgrad, "maximize": maximize}
        decoupled = {"decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, {**settings, **more, **decoupled})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]

        def fresh(one: Tensor) -> dict[str, Any]:
            return {"step": ops.aten.zeros(()), **{n: ops.aten.zeros_like(one) for n in names}}

        states = self._states(parameters, fresh)
        steps = _column(states, "step")
        ops.aten._foreach_add_(steps, 1)
        decoupled = group.get("decoupled_weight_decay", False)
        step = ops.aten._fused_adamw_ if decoupled else ops.aten._fused_adam_
        step(
            _real(parameters),
            _real(gradients),
            _column(states, "exp_avg"),
            _column(states, "exp_avg_sq"),
            _column(states, "max_exp_avg_sq") if group["amsgrad"] else [],
            steps,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            **{name: group[name] for name in ("lr", "weight_decay", "eps", "amsgrad", "maximize")},
        )


class AdamW(Adam):
    """Adam whose weights decay by themselves, not through gradients (Loshchilov & Hutter 2019)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            decoupled_weight_decay=True,
            **ways,
        )


class Adagrad(Optimizer):
    """Duchi, Hazan & Singer 2011."""

    _known_ways = _FUSED_WAYS

    _from_zero = (*Optimizer._from_zero, "lr_decay", "initial_accumulator_value")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        settings = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
        more = {
            "initial_accumulator_value": initial_accumulator_value,
            "maximize": maximize,
        }
        super().__init__(params, {**settings, **more})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        start = group["initial_accumulator_value"]

        def fresh(one: Tensor) -> dict[str, Any]:
            return {"step": ops.aten.zeros(()), "sum": ops.aten.full_like(one, start)}

        states = self._states(parameters, fresh)
        steps = _column(states, "step")
        ops.aten._foreach_add_(steps, 1)
        names = ("lr", "lr_decay", "weight_decay", "eps", "maximize")
        settings = {name: group[name] for name in names}
        sums = _column(states, "sum")
        ops.aten._fused_adagrad_(_real(parameters), _real(gradients), sums, steps, **settings)
