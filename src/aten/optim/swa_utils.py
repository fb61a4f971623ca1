"""Averages of a model's weights over training, and the schedule that goes with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, ClassVar

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.nn.modules.module import Module
from aten.nn.modules.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from aten.optim.optimizer import Optimizer
from aten.optim.schedule import LRScheduler
from aten.registry import ops

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """What moves an average by 1 - decay towards a tensor. Raises ValueError outside of [0, 1].

    Example:

        >>> from aten.optim.swa_utils import get_ema_avg_fn
        >>> get_ema_avg_fn(0.75)(aten.zeros(1), aten.ones(1), 3)
        tensor([0.2500])
    """
    _check_decay(decay)

    def moved(average: Tensor, current: Tensor, count: Any) -> Any:
        return decay * average + (1 - decay) * current

    wrapped: Callable[..., Any] = no_grad()(moved)
    return wrapped


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """`get_ema_avg_fn` for lists of tensors, in place.

    Example:

        >>> from aten.optim.swa_utils import get_ema_multi_avg_fn
        >>> average = aten.zeros(1)
        >>> get_ema_multi_avg_fn(0.75)([average], [aten.ones(1)], 3)
        >>> average
        tensor([0.2500])
    """
    _check_decay(decay)

    def move(averages: list[Tensor], currents: list[Tensor], count: Any) -> None:
        _move(averages, currents, 1 - decay)

    wrapped: Callable[..., None] = no_grad()(move)
    return wrapped


def get_swa_avg_fn() -> Callable[..., Any]:
    """What takes one more tensor into a plain mean of `count`.

    Example:

        >>> from aten.optim.swa_utils import get_swa_avg_fn
        >>> get_swa_avg_fn()(aten.zeros(1), aten.ones(1), 3)
        tensor([0.2500])
    """

    def moved(average: Tensor, current: Tensor, count: Any) -> Any:
        return average + (current - average) / (count + 1)

    wrapped: Callable[..., Any] = no_grad()(moved)
    return wrapped


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """`get_swa_avg_fn` for lists of tensors, in place.

    Example:

        >>> from aten.optim.swa_utils import get_swa_multi_avg_fn
        >>> average = aten.zeros(1)
        >>> get_swa_multi_avg_fn()([average], [aten.ones(1)], 3)
        >>> average
        tensor([0.2500])
    """

    def move(averages: list[Tensor], currents: list[Tensor], count: Any) -> None:
        _move(averages, currents, 1 / (float(count) + 1))

    wrapped: Callable[..., None] = no_grad()(move)
    return wrapped


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn: decay must be from 0 to 1, got {decay}")


def _move(averages: list[Tensor], currents: list[Tensor], part: float) -> None:
    for average, current in zip(averages, currents, strict=True):
        if average.is_floating_point() or average.is_complex():
            average.lerp_(current, part)
        else:
            # Counts of batches, say: the mean's whole part.
            average.copy_(average + (current - average) * part)


class AveragedModel(Module):
    """A copy of a model, with averages of its parameters: means, or what `avg_fn` makes of them.

    Args:
        avg_fn: `avg_fn(average, current, count)` gives the next average of a tensor.
        multi_avg_fn: the same in place, for lists of tensors.
        use_buffers: whether buffers are averaged too; otherwise they are the model's.

    Example:

        >>> model = aten.nn.Linear(2, 1)
        >>> averaged = aten.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged
        tensor(1)
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: give avg_fn or multi_avg_fn, not both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = ops.aten.zeros((), dtype=DTYPES["int64"], device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _kept(self, model: Module) -> list[Tensor]:
        buffers = list(model.buffers()) if self.use_buffers else []
        return [one.detach() for one in (*model.parameters(), *buffers)]

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters, as they are now, into the averages."""
        averages, currents = self._kept(self.module), self._kept(model)
        currents = [one.to(average.device) for one, average in zip(currents, averages, strict=True)]
        with no_grad():
            if self.n_averaged == 0:
                for average, current in zip(averages, currents, strict=True):
                    average.copy_(current)
            elif self.avg_fn is not None:
                for average, current in zip(averages, currents, strict=True):
                    average.copy_(self.avg_fn(average, current, self.n_averaged))
            else:
                move = self.multi_avg_fn or get_swa_multi_avg_fn()
                move(averages, currents, self.n_averaged)
            if not self.use_buffers:
                pairs = zip(self.module.buffers(), model.buffers(), strict=True)
                for mine, theirs in pairs:
                    mine.detach().copy_(theirs.detach())
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Have batch norms within `model` take their statistics from all of `loader` anew.

    Of batches that are lists or tuples the first member is what the model is called with.

    Example:

        >>> model = aten.nn.BatchNorm1d(1)
        >>> aten.optim.swa_utils.update_bn([aten.tensor([[1.0], [3.0]])], model)
        >>> model.running_mean
        tensor([2.])
    """
    norms = [one for one in model.modules() if isinstance(one, _BATCH_NORMS)]
    if not norms:
        return
    momenta = [one.momentum for one in norms]
    training = model.training
    model.train()
    for one in norms:
        one.reset_running_stats()
        one.momentum = None
    with no_grad():
        for batch in loader:
            input = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(input if device is None else input.to(device))
    for one, momentum in zip(norms, momenta, strict=True):
        one.momentum = momentum
    model.train(training)


_BATCH_NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d)


class SWALR(LRScheduler):
    """From the rate of now to `swa_lr` within `anneal_epochs`, by half a cosine or along a line.

    Example:

        >>> optimizer = aten.optim.SGD([aten.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = aten.optim.swa_utils.SWALR(
        ...     optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear"
        ... )
        >>> rates = []
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     schedule.step()
        ...     rates.append(schedule.get_last_lr()[0])
        >>> rates
        [0.75, 0.5, 0.5]
    """

    _hidden: ClassVar[tuple[str, ...]] = (*LRScheduler._hidden, "_way")

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"SWALR: anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs must be 0 or more, got {anneal_epochs!r}")
        self.optimizer = optimizer
        for group, rate in zip(
            optimizer.param_groups, self._per_group("swa_lr", swa_lr), strict=True
        ):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _part(self, epoch: int) -> float:
        along = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return along if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * along)) / 2

    def _rate(self, number: int, group: dict[str, Any]) -> float:
        epoch = max(0, self.last_epoch if self.anneal_epochs else max(1, self.last_epoch))
        before = self._part(max(0, epoch - 1))
        target, rate = group["swa_lr"], group["lr"]
        first = target if before == 1 else (rate - before * target) / (1 - before)
        part = self._part(epoch)
        result: float = target * part + first * (1 - part)
        return result
