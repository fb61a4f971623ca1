"""Learning rates that change from epoch to epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from aten.optim.optimizer import Optimizer

__all__ = [
    *("CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR"),
    *("MultiStepLR", "ReduceLROnPlateau", "StepLR"),
]


class LRScheduler:
    """Sets every group's "lr" once when made, and at each `step`. Subclasses write `_rate`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"expected an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def _rate(self, number: int, group: dict[str, Any]) -> float:
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """The rates that this epoch begins with, a group each."""
        return [self._rate(number, one) for number, one in enumerate(self.optimizer.param_groups)]

    def get_last_lr(self) -> list[float]:
        """The rates in use, a group each."""
        return self._last_lr

    def step(self) -> None:
        """The next epoch begins."""
        self.last_epoch += 1
        self._last_lr = self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = rate

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        hidden = ("optimizer", "lr_lambdas")
        return {name: value for name, value in vars(self).items() if name not in hidden}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave."""
        vars(self).update(state_dict)


class LambdaLR(LRScheduler):
    """The initial rate times what a function gives for the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if several else [lr_lambda] * count
        )
        if len(self.lr_lambdas) != count:
            raise ValueError(
                f"LambdaLR: there are {count} groups, and {len(self.lr_lambdas)} functions"
            )
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


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, number: int, group: dict[str, Any]) -> Any:
        return group["lr"] * self.gamma if self.last_epoch else group["lr"]


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
        part = min(self.last_epoch, self.total_iters) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * part
        return self.base_lrs[number] * factor


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
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return self.eta_min + (self.base_lrs[number] - self.eta_min) * height


class ReduceLROnPlateau:
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
        min_lr: float = 0,
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
        self.min_lr, self.eps = min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _is_better(self, metric: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * (metric - self.best) > self.threshold
        return sign * (metric - self.best * (1 + sign * self.threshold)) > 0

    def step(self, metrics: Any) -> None:
        """An epoch ended with a metric."""
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

    def _reduce(self) -> None:
        for group in self.optimizer.param_groups:
            lower = max(group["lr"] * self.factor, self.min_lr)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower
