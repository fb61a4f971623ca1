"""Learning rates that change from epoch to epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from aten.optim.combined import ChainedScheduler, SequentialLR
from aten.optim.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from aten.optim.optimizer import Optimizer
from aten.optim.schedule import LRScheduler, set_rate

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


def _functions(name: str, optimizer: Optimizer, given: Any) -> list[Callable[[int], float]]:
    """A function of the epoch for each group."""
    count = len(optimizer.param_groups)
    found = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if len(found) != count:
        raise ValueError(f"{name}: there are {count} groups, and {len(found)} functions")
    return found


class LambdaLR(LRScheduler):
    """The initial rate times what a function gives for the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions("LambdaLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> float:
        return self.base_lrs[number] * self.lr_lambdas[number](self.last_epoch)  # type: ignore[no-any-return]


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        falls = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return group["lr"] * self.gamma if falls else group["lr"]

    def _rate_at(self, number: int, group: dict[str, Any]) -> Any:
        return self.base_lrs[number] * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each of the milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        return group["lr"] * self.gamma ** self.milestones.count(self.last_epoch)

    def _rate_at(self, number: int, group: dict[str, Any]) -> Any:
        passed = bisect_right(self.milestones, self.last_epoch)
        return self.base_lrs[number] * self.gamma**passed


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        return group["lr"] * self.gamma if self.last_epoch else group["lr"]

    def _rate_at(self, number: int, group: dict[str, Any]) -> Any:
        return self.base_lrs[number] * self.gamma**self.last_epoch


class LinearLR(LRScheduler):
    """From start_factor to end_factor of the initial rate, in total_iters even steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(
                f"LinearLR: start_factor must be in (0, 1] and end_factor in [0, 1], got "
                f"{start_factor} and {end_factor}"
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        epoch, change = self.last_epoch, self.end_factor - self.start_factor
        if epoch == 0:
            return group["lr"] * self.start_factor
        if epoch > self.total_iters:
            return group["lr"]
        before = self.total_iters * self.start_factor + (epoch - 1) * change
        return group["lr"] * (1 + change / before)

    def _rate_at(self, number: int, group: dict[str, Any]) -> Any:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return self.base_lrs[number] * factor


class ConstantLR(LRScheduler):
    """Times factor for the first total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor must be in [0, 1], got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        if self.last_epoch == 0:
            return group["lr"] * self.factor
        return group["lr"] / self.factor if self.last_epoch == self.total_iters else group["lr"]

    def _rate_at(self, number: int, group: dict[str, Any]) -> Any:
        held = self.last_epoch < self.total_iters
        return self.base_lrs[number] * (self.factor if held else 1)


class PolynomialLR(LRScheduler):
    """To 0 in total_iters epochs, along a power of what is left of them."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        left = self.total_iters - self.last_epoch
        if self.last_epoch == 0 or left < 0:
            return group["lr"]
        return group["lr"] * (left / (left + 1)) ** self.power

    def _rate_at(self, number: int, group: dict[str, Any]) -> Any:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.base_lrs[number] * (1 - share) ** self.power


class MultiplicativeLR(LRScheduler):
    """Times what a function gives for the epoch, each epoch but the first."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions("MultiplicativeLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        if self.last_epoch == 0:
            return group["lr"]
        return group["lr"] * self.lr_lambdas[number](self.last_epoch)

    def _restart(self) -> None:
        self.last_epoch = -1
        self.step()


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to eta_min in T_max epochs (Loshchilov & Hutter 2017)."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        rate, epoch, low = group["lr"], self.last_epoch, self.eta_min
        if epoch == 0:
            return rate
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return rate + (self.base_lrs[number] - low) * rise
        now, before = (1 + math.cos(math.pi * at / self.T_max) for at in (epoch, epoch - 1))
        return now / before * (rate - low) + low

    def _rate_at(self, number: int, group: dict[str, Any]) -> Any:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return self.eta_min + (self.base_lrs[number] - self.eta_min) * height


class ReduceLROnPlateau(LRScheduler):
    """Times factor once a metric has not become better for more than `patience` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ValueError("ReduceLROnPlateau: factor must be less than 1")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau: mode must be min or max, not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau: threshold_mode must be rel or abs, not {threshold_mode!r}"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.eps = eps
        self.min_lrs = self._per_group("min_lr", min_lr)
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _is_better(self, metric: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * (metric - self.best) > self.threshold
        return sign * (metric - self.best * (1 + sign * self.threshold)) > 0

    def step(self, metrics: Any = None) -> None:
        """An epoch ended with a metric."""
        if metrics is None:
            raise TypeError("ReduceLROnPlateau: step needs the metric")
        self.last_epoch += 1
        metric = float(metrics)
        better = self._is_better(metric)
        self.best = metric if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lower = max(group["lr"] * self.factor, least)
            if group["lr"] - lower > self.eps:
                set_rate(group, lower)
