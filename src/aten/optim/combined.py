"""Schedules of several schedules: one after another, and all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from aten.optim.optimizer import Optimizer
from aten.optim.schedule import LRScheduler, set_rate

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Several(LRScheduler):
    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
        """Keep schedules. Raises ValueError for none, for those of other optimizers, and for such
        as need a metric; TypeError for what is none."""
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name}: there must be a schedule at least")
        for one in schedulers:
            if not isinstance(one, LRScheduler):
                raise TypeError(f"{name}: expected schedules, got {type(one).__name__}")
            if type(one).__name__ == "ReduceLROnPlateau":
                raise ValueError(f"{name}: ReduceLROnPlateau steps by a metric, which is not here")
        self.optimizer = optimizer or schedulers[0].optimizer
        if any(one.optimizer is not self.optimizer for one in schedulers):
            raise ValueError(f"{name}: the schedules must be of one optimizer")
        self._schedulers = list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, and the states of the schedules."""
        states = [one.state_dict() for one in self._schedulers]
        return {**super().state_dict(), "_schedulers": states}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave."""
        own = {name: value for name, value in state_dict.items() if name != "_schedulers"}
        vars(self).update(own)
        for one, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            one.load_state_dict(state)

    def _undo(self) -> None:
        """Before the first epoch again."""
        for one in self._schedulers:
            if isinstance(one, _Several):
                one._undo()
            else:
                one.last_epoch -= 1
                one._step_count = 0


class SequentialLR(_Several):
    """The first schedule up to the first milestone, then the second one from its start, …"""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedules have {len(schedulers) - 1} milestones "
                f"between them, got {len(milestones)}"
            )
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        self._undo()
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first.step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """The next epoch begins."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        current = self._schedulers[place]
        if place and self._milestones[place - 1] == self.last_epoch:
            current._restart()
        else:
            current.step()
        self._last_lr = current.get_last_lr()


class ChainedScheduler(_Several):
    """All schedules at each epoch, one on the rates of the other."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """The next epoch begins."""
        for one in self._schedulers:
            one.step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]
