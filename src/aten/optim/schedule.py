"""What schedules of learning rates share."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from aten._core.tensor.tensor import Tensor
from aten.optim.optimizer import Optimizer

__all__ = ["LRScheduler", "momentum_name", "set_momentum", "set_rate"]


class LRScheduler:
    """Sets every group's "lr" once when made, and at each `step`. Subclasses write `_rate`."""

    _hidden: ClassVar[tuple[str, ...]] = ("optimizer", "lr_lambdas", "scale_fn")

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"expected an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: group {number} has no initial_lr, which a schedule "
                    f"that goes on from epoch {last_epoch} begins with"
                )
        self.base_lrs = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self.step()

    def _rate(self, number: int, group: dict[str, Any]) -> float:
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """The rates that this epoch begins with, a group each."""
        return [self._rate(number, one) for number, one in enumerate(self.optimizer.param_groups)]

    def get_last_lr(self) -> list[float]:
        """The rates in use, a group each."""
        return self._last_lr

    def _rate_at(self, number: int, group: dict[str, Any]) -> float:
        """The rate of `last_epoch` by itself, whatever the one before was."""
        return self._rate(number, group)

    def step(self, epoch: int | None = None) -> None:
        """The next epoch begins, or the given one.

        Warns where the optimizer has not stepped before: the first rate is left out then.
        """
        if self._step_count == 1 and not self.optimizer.has_stepped():
            warnings.warn(
                "lr_scheduler.step() before optimizer.step(): the first value of the schedule is "
                "left out",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        groups = self.optimizer.param_groups
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = [self._rate_at(number, one) for number, one in enumerate(groups)]
        for group, rate in zip(groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = [_copied(group["lr"]) for group in groups]

    def _restart(self) -> None:
        """Epoch 0 begins, from the initial rates."""
        self.last_epoch, self._step_count = -1, 0
        for group in self.optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        return {name: value for name, value in vars(self).items() if name not in self._hidden}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave."""
        vars(self).update(state_dict)

    def _per_group(self, name: str, given: Any) -> list[Any]:
        """A setting of each group: one for all, or as many as there are."""
        count = len(self.optimizer.param_groups)
        if not isinstance(given, (list, tuple)):
            return [given] * count
        if len(given) != count:
            raise ValueError(
                f"{type(self).__name__}: {name} has {len(given)} values for {count} groups"
            )
        return list(given)


def _copied(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Let a group have another rate: in the same tensor, where its rate is one."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def momentum_name(optimizer: Optimizer) -> str | None:
    """What an optimizer has as momentum: "momentum", "betas", of which the first is, or None."""
    return next((name for name in ("betas", "momentum") if name in optimizer.defaults), None)


def set_momentum(group: dict[str, Any], name: str, value: float) -> None:
    """Let a group have another momentum."""
    group[name] = (value, *group[name][1:]) if name == "betas" else value
