"""Optimizers in operators on lists, each over all parameters of a group."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.optim.optimizer import Optimizer
from aten.registry import ops

__all__ = ["NAdam", "RMSprop"]


def _prepared(group: dict[str, Any], parameters: list[Tensor], gradients: Any) -> Any:
    """Gradients in the direction to go, with the decay of weights in them."""
    if group["maximize"]:
        gradients = ops.aten._foreach_neg(gradients)
    if group["weight_decay"]:
        gradients = ops.aten._foreach_add(gradients, parameters, alpha=group["weight_decay"])
    return gradients


class RMSprop(Optimizer):
    """Hinton 2012; centered, Graves 2013."""

    _from_zero = (*Optimizer._from_zero, "alpha")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        more = {"momentum": momentum, "centered": centered, "maximize": maximize}
        super().__init__(params, {**settings, **more})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        names = ["square_avg"]
        names += ["momentum_buffer"] if group["momentum"] else []
        names += ["grad_avg"] if group["centered"] else []

        def fresh(one: Tensor) -> dict[str, Any]:
            return {"step": ops.aten.zeros(()), **{n: ops.aten.zeros_like(one) for n in names}}

        states = self._states(parameters, fresh)
        columns = {name: [state[name] for state in states] for name in names}
        ops.aten._foreach_add_([state["step"] for state in states], 1)
        gradients = _prepared(group, parameters, gradients)
        squares: Any = columns["square_avg"]
        alpha = group["alpha"]
        ops.aten._foreach_mul_(squares, alpha)
        ops.aten._foreach_addcmul_(squares, gradients, gradients, 1 - alpha)
        if group["centered"]:
            averages = columns["grad_avg"]
            ops.aten._foreach_lerp_(averages, gradients, 1 - alpha)
            squares = ops.aten._foreach_addcmul(squares, averages, averages, -1)
        scales = ops.aten._foreach_sqrt(squares)
        ops.aten._foreach_add_(scales, group["eps"])
        if not group["momentum"]:
            ops.aten._foreach_addcdiv_(parameters, gradients, scales, -group["lr"])
            return
        buffers = columns["momentum_buffer"]
        ops.aten._foreach_mul_(buffers, group["momentum"])
        ops.aten._foreach_addcdiv_(buffers, gradients, scales)
        ops.aten._foreach_add_(parameters, buffers, alpha=-group["lr"])


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    _from_zero = (*Optimizer._from_zero, "momentum_decay")

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        more = {
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, {**settings, **more})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        def fresh(one: Tensor) -> dict[str, Any]:
            scalars = {"step": ops.aten.zeros(()), "mu_product": ops.aten.ones(())}
            return {**scalars, **{n: ops.aten.zeros_like(one) for n in ("exp_avg", "exp_avg_sq")}}

        states = self._states(parameters, fresh)
        first, second = group["betas"]
        if group["decoupled_weight_decay"] and group["weight_decay"]:
            ops.aten._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            group = {**group, "weight_decay": 0}
        gradients = _prepared(group, parameters, gradients)
        for one, gradient, state in zip(parameters, gradients, states, strict=True):
            state["step"] += 1
            step = float(state["step"])
            now, later = (
                first * (1 - 0.5 * 0.96 ** (at * group["momentum_decay"]))
                for at in (step, step + 1)
            )
            state["mu_product"] *= now
            product = float(state["mu_product"])
            mean = state["exp_avg"].lerp_(gradient, 1 - first)
            square = state["exp_avg_sq"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
            scale = (square / (1 - second**step)).sqrt_().add_(group["eps"])
            one.addcdiv_(gradient, scale, value=-group["lr"] * (1 - now) / (1 - product))
            one.addcdiv_(mean, scale, value=-group["lr"] * later / (1 - product * later))
