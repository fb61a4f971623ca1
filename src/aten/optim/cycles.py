"""Learning rates that go up and down, step by step, and momentums that go the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aten.optim.optimizer import Optimizer
from aten.optim.schedule import LRScheduler, momentum_name, set_momentum, set_rate

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to eta_min, again and again, each T_mult times as long as the one before
    (Loshchilov & Hutter 2017)."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0 or not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(
                f"CosineAnnealingWarmRestarts: T_0 and T_mult must be ints of at least 1, got "
                f"{T_0} and {T_mult}"
            )
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, float(last_epoch)
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return self.eta_min + (self.base_lrs[number] - self.eta_min) * height

    def step(self, epoch: float | None = None) -> None:
        """The next epoch begins, or the given one, which may be between two."""
        if epoch is None:
            self.T_cur = 0 if self.last_epoch < 0 else self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
            self.last_epoch = math.floor(epoch) - 1
        super().step()

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: epoch must not be negative: {epoch}")
        self.T_i, self.T_cur = self.T_0, epoch
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult


_SCALES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda gamma, at: 1.0),
    "triangular2": ("cycle", lambda gamma, at: 1 / 2.0 ** (at - 1)),
    "exp_range": ("iterations", lambda gamma, at: gamma**at),
}


class CyclicLR(LRScheduler):
    """From base_lr to max_lr and back, over and over (Smith 2017); momentum goes the other way."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"expected an Optimizer, got {type(optimizer).__name__}")
        if scale_fn is None and mode not in _SCALES:
            raise ValueError(f"CyclicLR: mode must be one of {', '.join(_SCALES)}, got {mode!r}")
        self.optimizer = optimizer
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self.scale_fn = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _SCALES[mode][0]
        self.max_lrs = self._per_group("max_lr", max_lr)
        for group, rate in zip(
            optimizer.param_groups, self._per_group("base_lr", base_lr), strict=True
        ):
            if last_epoch == -1:
                set_rate(group, rate)
                group["initial_lr"] = rate
        self.momentum = momentum_name(optimizer) if cycle_momentum else None
        if cycle_momentum and self.momentum is None:
            raise ValueError("CyclicLR: the optimizer has no momentum: give cycle_momentum=False")
        self.base_momentums = self._per_group("base_momentum", base_momentum)
        self.max_momentums = self._per_group("max_momentum", max_momentum)
        super().__init__(optimizer, last_epoch)

    def _height(self) -> float:
        """How far up: 0 at the low rate, 1 at the high one, scaled."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        within = 1.0 + self.last_epoch / self.total_size - cycle
        up = within <= self.step_ratio
        share = within / self.step_ratio if up else (within - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.scale_fn is not None:
            return share * self.scale_fn(at)
        return share * _SCALES[self.mode][1](self.gamma, at)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        height = self._height()
        if self.momentum is not None:
            low, high = self.base_momentums[number], self.max_momentums[number]
            set_momentum(group, self.momentum, high - (high - low) * height)
        low = self.base_lrs[number]
        return low + (self.max_lrs[number] - low) * height


class OneCycleLR(LRScheduler):
    """Up to max_lr, and far below where it began (Smith & Topin 2018); momentum the other way.

    The number of steps is `total_steps`, or `epochs` times `steps_per_epoch`. Raises ValueError for
    neither, for shares and strategies that are none, and for steps beyond the last.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"expected an Optimizer, got {type(optimizer).__name__}")
        if total_steps is None and epochs is not None and steps_per_epoch is not None:
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps <= 0:
            raise ValueError(
                "OneCycleLR: give total_steps, or epochs and steps_per_epoch, as ints of at least 1"
            )
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start must be a float in [0, 1], got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: anneal_strategy must be cos or linear, got {anneal_strategy!r}"
            )
        self.optimizer, self.total_steps, self.anneal_strategy = (
            optimizer,
            total_steps,
            anneal_strategy,
        )
        top = pct_start * total_steps - 1
        # Where each phase ends, and the rates and momentums it goes to.
        self.phases: list[tuple[float, str, str]] = [(top, "max_lr", "base_momentum")]
        if three_phase:
            self.phases.append((2 * top, "initial_lr", "max_momentum"))
        self.phases.append((total_steps - 1, "min_lr", "max_momentum"))
        self.momentum = momentum_name(optimizer) if cycle_momentum else None
        if cycle_momentum and self.momentum is None:
            raise ValueError("OneCycleLR: the optimizer has no momentum: give cycle_momentum=False")
        if last_epoch == -1:
            highest = self._per_group("max_lr", max_lr)
            low = self._per_group("base_momentum", base_momentum)
            high = self._per_group("max_momentum", max_momentum)
            for number, group in enumerate(optimizer.param_groups):
                group["max_lr"] = highest[number]
                group["initial_lr"] = highest[number] / div_factor
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if self.momentum is not None:
                    group["base_momentum"], group["max_momentum"] = low[number], high[number]
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"OneCycleLR: step {self.last_epoch} of {self.total_steps}: there are no more"
            )
        began, rate, momentum = 0.0, "initial_lr", "max_momentum"
        last = self.phases[-1]
        for phase in self.phases:
            end, next_rate, next_momentum = phase
            if self.last_epoch <= end or phase is last:
                break
            began, rate, momentum = end, next_rate, next_momentum
        share = (self.last_epoch - began) / (end - began)
        if self.momentum is not None:
            value = self._between(group[momentum], group[next_momentum], share)
            set_momentum(group, self.momentum, value)
        return self._between(group[rate], group[next_rate], share)
