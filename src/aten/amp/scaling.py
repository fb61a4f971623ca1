"""Losses scaled so that gradients in float16 do not vanish."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["GradScaler"]


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it, and leaves out steps that overflow.

    The scale grows by `growth_factor` after `growth_interval` steps without overflow, and is
    multiplied by `backoff_factor` after one with.

    Example:

        >>> scaler = aten.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(aten.tensor(2.0))
        tensor(16.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device != "cpu":
            warnings.warn(
                f"GradScaler: there is no device {device!r} here: nothing is scaled", stacklevel=2
            )
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError(f"GradScaler: growth_factor must be over 1, got {growth_factor}")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError(
                f"GradScaler: backoff_factor must be under 1, got {backoff_factor}"
            )
        self._enabled = enabled
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        # By the identity of an optimizer: whether its gradients overflowed, and if it has stepped.
        self._found: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """The tensor, or those of an iterable, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return ops.aten.mul(outputs, self._scale)
        if isinstance(outputs, Iterable):
            made = [self.scale(one) for one in outputs]
            return made if isinstance(outputs, list) else tuple(made)
        raise ValueError("GradScaler.scale: outputs must be a tensor or an iterable of tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale.

        Raises RuntimeError a second time before `update`, and after `step`.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is called after step(): it comes before")
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() has been called for this optimizer since update()")
        found = False
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                gradient.detach().mul_(1.0 / self._scale)
                found |= not bool(ops.aten.isfinite(gradient.detach()).all())
        self._found[id(optimizer)] = found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step`, unless a gradient overflowed.

        Raises RuntimeError a second time before `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler.step: closures are not supported while it scales")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has been called for this optimizer since update()")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        result = None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._stepped.add(id(optimizer))
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Changes the scale by what happened since the last time, or to `new_scale`.

        Raises AssertionError where no gradients were looked at.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._found:
                raise AssertionError("GradScaler.update: no gradients were looked at before")
            if any(self._found.values()):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._found.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale; 1 where nothing is scaled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Says by what the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale is multiplied after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Says by what the scale is multiplied after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Says after how many steps the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes; nothing where nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a `state_dict`. Raises RuntimeError for an empty one."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict: the state is empty, as one that scales nothing gives"
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
