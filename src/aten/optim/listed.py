"""Optimizers in operators on lists, each over all parameters of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.optim.optimizer import Optimizer
from aten.registry import ops

__all__ = ["Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "by_step", "fresh_state", "prepared"]


def prepared(group: dict[str, Any], parameters: list[Tensor], gradients: Any) -> Any:
    """Gradients in the direction to go, with the decay of weights in them."""
    if group["maximize"]:
        gradients = ops.aten._foreach_neg(gradients)
    if group["weight_decay"]:
        gradients = ops.aten._foreach_add(gradients, parameters, alpha=group["weight_decay"])
    return gradients


def by_step(steps: list[Any], *columns: list[Any]) -> dict[float, tuple[list[Any], ...]]:
    """The columns' parts that are at one step: parameters without a gradient stay behind."""
    numbers = [float(one) for one in steps]
    if len(set(numbers)) == 1:
        return {numbers[0]: columns}
    return {
        wanted: tuple(
            [one for one, step in zip(column, numbers, strict=True) if step == wanted]
            for column in columns
        )
        for wanted in dict.fromkeys(numbers)
    }


def fresh_state(*names: str) -> Callable[[Tensor], dict[str, Any]]:
    """What makes a parameter's first state: step 0, and zeros of these names."""

    def fresh(one: Tensor) -> dict[str, Any]:
        return {"step": ops.aten.zeros(()), **{name: ops.aten.zeros_like(one) for name in names}}

    return fresh


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
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
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

        parameters, gradients, states = self._real_lists(parameters, gradients, fresh)
        columns = {name: [state[name] for state in states] for name in names}
        ops.aten._foreach_add_([state["step"] for state in states], 1)
        gradients = prepared(group, parameters, gradients)
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
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
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

        parameters, gradients, states = self._real_lists(parameters, gradients, fresh)
        first, second = group["betas"]
        if group["decoupled_weight_decay"] and group["weight_decay"]:
            ops.aten._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            group = {**group, "weight_decay": 0}
        gradients = prepared(group, parameters, gradients)
        steps = [state["step"] for state in states]
        ops.aten._foreach_add_(steps, 1)
        whole = (parameters, gradients, states)
        for step, (chosen, given, owned) in by_step(steps, *whole).items():
            now, later = (
                first * (1 - 0.5 * 0.96 ** (at * group["momentum_decay"]))
                for at in (step, step + 1)
            )
            products = [state["mu_product"] for state in owned]
            ops.aten._foreach_mul_(products, now)
            means = [state["exp_avg"] for state in owned]
            squares = [state["exp_avg_sq"] for state in owned]
            ops.aten._foreach_lerp_(means, given, 1 - first)
            ops.aten._foreach_mul_(squares, second)
            ops.aten._foreach_addcmul_(squares, given, given, 1 - second)
            scales = ops.aten._foreach_div(squares, 1 - second**step)
            ops.aten._foreach_sqrt_(scales)
            ops.aten._foreach_add_(scales, group["eps"])
            # Parameters that began together have one product, but those of two groups may not.
            numbers = [float(one) for one in products]
            by_gradient = [-group["lr"] * (1 - now) / (1 - one) for one in numbers]
            by_mean = [-group["lr"] * later / (1 - one * later) for one in numbers]
            ops.aten._foreach_addcdiv_(chosen, given, scales, by_gradient)
            ops.aten._foreach_addcdiv_(chosen, means, scales, by_mean)


class RAdam(Optimizer):
    """Adam whose rate is rectified while its variance is not known well (Liu et al. 2020)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        more = {"decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize}
        super().__init__(params, {**settings, **more})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        parameters, gradients, states = self._real_lists(
            parameters, gradients, fresh_state("exp_avg", "exp_avg_sq")
        )
        first, second = group["betas"]
        if group["decoupled_weight_decay"] and group["weight_decay"]:
            ops.aten._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            group = {**group, "weight_decay": 0}
        gradients = prepared(group, parameters, gradients)
        means = [state["exp_avg"] for state in states]
        squares = [state["exp_avg_sq"] for state in states]
        steps = [state["step"] for state in states]
        ops.aten._foreach_add_(steps, 1)
        ops.aten._foreach_lerp_(means, gradients, 1 - first)
        ops.aten._foreach_mul_(squares, second)
        ops.aten._foreach_addcmul_(squares, gradients, gradients, 1 - second)
        for step, (chosen, mean, square) in by_step(steps, parameters, means, squares).items():
            rate = -group["lr"] / (1 - first**step)
            rectified = _rectification(second, step)
            if rectified is None:
                ops.aten._foreach_add_(chosen, mean, alpha=rate)
                continue
            scales = ops.aten._foreach_sqrt(square)
            ops.aten._foreach_add_(scales, group["eps"])
            ops.aten._foreach_addcdiv_(chosen, mean, scales, rate * rectified)


def _rectification(second: float, step: float) -> float | None:
    """What the rate is multiplied by; None while there are too few steps to know a variance."""
    bias = 1 - second**step
    longest = 2 / (1 - second) - 1
    length = longest - 2 * step * second**step / bias
    if length <= 5:
        return None
    part = (length - 4) * (length - 2) * longest
    whole = (longest - 4) * (longest - 2) * length
    return float((part / whole) ** 0.5 * bias**0.5)


class Adamax(Optimizer):
    """Adam with the largest gradient in the place of the variance (Kingma & Ba 2015)."""

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "maximize": maximize})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        parameters, gradients, states = self._real_lists(
            parameters, gradients, fresh_state("exp_avg", "exp_inf")
        )
        first, second = group["betas"]
        gradients = prepared(group, parameters, gradients)
        means = [state["exp_avg"] for state in states]
        largest = [state["exp_inf"] for state in states]
        steps = [state["step"] for state in states]
        ops.aten._foreach_add_(steps, 1)
        ops.aten._foreach_lerp_(means, gradients, 1 - first)
        sizes = ops.aten._foreach_abs(gradients)
        ops.aten._foreach_add_(sizes, group["eps"])
        ops.aten._foreach_mul_(largest, second)
        ops.aten._foreach_maximum_(largest, sizes)
        for step, (chosen, mean, scale) in by_step(steps, parameters, means, largest).items():
            rate = -group["lr"] / (1 - first**step)
            ops.aten._foreach_addcdiv_(chosen, mean, scale, rate)


class Adadelta(Optimizer):
    """Steps in the parameters' own units (Zeiler 2012)."""

    _from_zero = (*Optimizer._from_zero, "rho")

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        if rho > 1:
            raise ValueError(f"Adadelta: invalid rho: {rho}")
        settings = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "maximize": maximize})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        parameters, gradients, states = self._real_lists(
            parameters, gradients, fresh_state("square_avg", "acc_delta")
        )
        gradients = prepared(group, parameters, gradients)
        squares = [state["square_avg"] for state in states]
        changes = [state["acc_delta"] for state in states]
        rho, eps = group["rho"], group["eps"]
        ops.aten._foreach_add_([state["step"] for state in states], 1)
        ops.aten._foreach_mul_(squares, rho)
        ops.aten._foreach_addcmul_(squares, gradients, gradients, 1 - rho)
        scales = ops.aten._foreach_sqrt(ops.aten._foreach_add(squares, eps))
        found = ops.aten._foreach_sqrt(ops.aten._foreach_add(changes, eps))
        ops.aten._foreach_div_(found, scales)
        ops.aten._foreach_mul_(found, gradients)
        ops.aten._foreach_mul_(changes, rho)
        ops.aten._foreach_addcmul_(changes, found, found, 1 - rho)
        ops.aten._foreach_add_(parameters, found, alpha=-group["lr"])
