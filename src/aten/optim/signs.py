"""Averages of the way so far, and steps by the signs of gradients."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.optim.listed import by_step, prepared
from aten.optim.optimizer import Optimizer
from aten.registry import ops

__all__ = ["ASGD", "Rprop"]


class ASGD(Optimizer):
    """Down the gradient, with an average of where it has been in "ax" (Polyak & Juditsky 1992)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        settings = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0}
        super().__init__(params, {**settings, "weight_decay": weight_decay, "maximize": maximize})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        def fresh(one: Tensor) -> dict[str, Any]:
            rates = {"eta": ops.aten.full((), group["lr"]), "mu": ops.aten.ones(())}
            return {"step": ops.aten.zeros(()), **rates, "ax": ops.aten.zeros_like(one)}

        parameters, gradients, states = self._real_lists(parameters, gradients, fresh)
        gradients = prepared(group, parameters, gradients)
        steps = [state["step"] for state in states]
        ops.aten._foreach_add_(steps, 1)
        whole = (parameters, gradients, states)
        for step, (chosen, given, owned) in by_step(steps, *whole).items():
            etas = [state["eta"] for state in owned]
            shares = [state["mu"] for state in owned]
            averages = [state["ax"] for state in owned]
            eta, share = float(etas[0]), float(shares[0])
            ops.aten._foreach_mul_(chosen, 1 - group["lambd"] * eta)
            ops.aten._foreach_add_(chosen, given, alpha=-eta)
            if share == 1:
                ops.aten._foreach_copy_(averages, chosen)
            else:
                ops.aten._foreach_lerp_(averages, chosen, share)
            falling = (1 + group["lambd"] * group["lr"] * step) ** group["alpha"]
            for one in etas:
                one.fill_(group["lr"] / falling)
            for one in shares:
                one.fill_(1 / max(1, step - group["t0"]))


class Rprop(Optimizer):
    """Steps of each element's own size, which grows while its gradient keeps its sign
    (Riedmiller & Braun 1993)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop: invalid etas: {etas[0]}, {etas[1]}")
        settings = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, settings)

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        def fresh(one: Tensor) -> dict[str, Any]:
            rate = group["lr"]
            sizes = ops.aten.full_like(one, complex(rate, rate) if one.is_complex() else rate)
            return {
                "step": ops.aten.zeros(()),
                "prev": ops.aten.zeros_like(one),
                "step_size": sizes,
            }

        parameters, gradients, states = self._real_lists(parameters, gradients, fresh)
        if group["maximize"]:
            gradients = list(ops.aten._foreach_neg(gradients))
        before = [state["prev"] for state in states]
        sizes = [state["step_size"] for state in states]
        ops.aten._foreach_add_([state["step"] for state in states], 1)
        signs = ops.aten._foreach_sign(ops.aten._foreach_mul(gradients, before))
        shrink, grow = group["etas"]
        # 1 + (grow - 1) where the sign stays, 1 - (1 - shrink) where it turned.
        factors = ops.aten._foreach_mul(ops.aten._foreach_clamp_min(signs, 0), grow - 1)
        turned = ops.aten._foreach_clamp_max(signs, 0)
        ops.aten._foreach_add_(factors, turned, alpha=1 - shrink)
        ops.aten._foreach_add_(factors, 1)
        ops.aten._foreach_mul_(sizes, factors)
        ops.aten._foreach_clamp_min_(sizes, group["step_sizes"][0])
        ops.aten._foreach_clamp_max_(sizes, group["step_sizes"][1])
        # Where it turned there is no step this time; infinities must not make NaN of that.
        kept = [
            ops.aten.where(sign < 0, 0, gradient)
            for sign, gradient in zip(signs, gradients, strict=True)
        ]
        ops.aten._foreach_addcmul_(parameters, ops.aten._foreach_sign(kept), sizes, -1)
        ops.aten._foreach_copy_(before, kept)
