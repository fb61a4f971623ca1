"""Optimizers that look at a parameter as a matrix: Adafactor and Muon."""

from __future__ import annotations

import math
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.optim.optimizer import Optimizer
from aten.registry import ops
from aten.type_info import finfo

__all__ = ["Adafactor", "Muon"]


class Adafactor(Optimizer):
    """Steps by squares of gradients, of which a matrix keeps the means of rows and columns alone
    (Shazeer & Stern 2018). `eps` bounds these from below, and a parameter's size; `d` the step."""

    _from_zero = (*(name for name in Optimizer._from_zero if name != "eps"),)
    _known_ways = ("foreach",)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **ways: Any,
    ) -> None:
        self._take_ways(ways)
        if beta2_decay > 0:
            raise ValueError(f"Adafactor: beta2_decay must not be above 0, got {beta2_decay}")
        if (eps[0] is not None and eps[0] < 0) or eps[1] < 0:
            raise ValueError(f"Adafactor: eps must not be below 0, got {eps}")
        if d < 1:
            raise ValueError(f"Adafactor: d must be at least 1, got {d}")
        settings = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d}
        super().__init__(params, {**settings, "weight_decay": weight_decay, "maximize": maximize})

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        self._refuse_complex(parameters)
        for one, state, gradient in zip(
            parameters, self._states(parameters, _factors), gradients, strict=True
        ):
            self._step_one(group, one, state, -gradient if group["maximize"] else gradient)

    def _step_one(
        self, group: dict[str, Any], one: Tensor, state: dict[str, Any], gradient: Any
    ) -> None:
        state["step"].add_(1)
        step, rate = float(state["step"]), group["lr"]
        least = finfo(one.dtype).eps if group["eps"][0] is None else group["eps"][0]
        fresh = step ** group["beta2_decay"]
        size = float(ops.aten.linalg_vector_norm(one)) / math.sqrt(one.numel())
        length = max(group["eps"][1], size) * min(rate, 1 / math.sqrt(step))
        if group["weight_decay"]:
            one.mul_(1 - rate * group["weight_decay"])
        update = _squares(state, gradient, fresh, least).clamp_(min=least * least).rsqrt_()
        update.mul_(gradient)
        spread = float(ops.aten.linalg_vector_norm(update)) / math.sqrt(update.numel())
        one.add_(update, alpha=-length / max(1.0, spread / group["d"]))


def _factors(one: Tensor) -> dict[str, Any]:
    step = ops.aten.zeros(())
    if one.dim() < 2:
        return {"step": step, "variance": ops.aten.zeros_like(one)}
    rows, columns = (*one.shape[:-1], 1), (*one.shape[:-2], 1, one.shape[-1])
    return {
        "step": step,
        "row_var": ops.aten.new_zeros(one, rows),
        "col_var": ops.aten.new_zeros(one, columns),
    }


def _squares(state: dict[str, Any], gradient: Any, fresh: float, least: float) -> Any:
    """What the squares of gradients are about, after a step's own have come in."""
    if gradient.dim() < 2:
        state["variance"].lerp_(gradient * gradient, fresh)
        return state["variance"].clone()
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_((gradient * gradient).mean(-1, keepdim=True), fresh)
    columns.lerp_((gradient * gradient).mean(-2, keepdim=True), fresh)
    return (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=least))


class Muon(Optimizer):
    """Momentum made orthogonal: steps turn a matrix, equally in all directions (Jordan 2024).

    For matrices alone. `adjust_lr_fn` fits the step's length to their sizes: None or "original",
    or "match_rms_adamw".
    """

    _from_zero = (*Optimizer._from_zero, "ns_steps")
    _known_ways = ()

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        self._take_ways({})
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Muon: there is no adjust_lr_fn {adjust_lr_fn!r}")
        if ns_steps >= 100:
            raise ValueError(f"Muon: ns_steps must be below 100, got {ns_steps}")
        settings = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "eps": eps}
        more = {"nesterov": nesterov, "ns_coefficients": ns_coefficients, "ns_steps": ns_steps}
        super().__init__(params, {**settings, **more, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for one in group["params"]:
                if one.dim() != 2:
                    raise ValueError(f"Muon: parameters must be matrices, got {list(one.shape)}")

    def _step_group(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Any]
    ) -> None:
        self._refuse_complex(parameters)
        states = self._states(parameters, _buffer)
        for one, state, gradient in zip(parameters, states, gradients, strict=True):
            moving = state["momentum_buffer"]
            moving.lerp_(gradient, 1 - group["momentum"])
            update = gradient.lerp(moving, group["momentum"]) if group["nesterov"] else moving
            update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            one.mul_(1 - group["lr"] * group["weight_decay"])
            one.add_(update, alpha=-group["lr"] * _fitting(group["adjust_lr_fn"], one))


def _buffer(one: Tensor) -> dict[str, Any]:
    return {"momentum_buffer": ops.aten.zeros_like(one)}


def _fitting(way: str | None, matrix: Tensor) -> float:
    rows, columns = matrix.shape
    if way == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(matrix: Any, factors: tuple[float, float, float], steps: int, eps: float) -> Any:
    """The nearest orthogonal matrix, about: a polynomial of odd powers, repeated, that takes
    singular values to 1 (Newton and Schulz)."""
    first, third, fifth = factors
    turned = matrix.shape[0] > matrix.shape[1]
    found = (matrix.t() if turned else matrix).to(DTYPES["bfloat16"])
    found = found / ops.aten.linalg_vector_norm(found).clamp(min=eps)
    for _ in range(steps):
        square = found @ found.t()
        change = ops.aten.addmm(square, square, square, beta=third, alpha=fifth)
        found = ops.aten.addmm(found, change, found, beta=first)
    return (found.t() if turned else found).to(matrix.dtype)
