"""LBFGS: second-order steps from the gradients of the last ones.

Nocedal & Wright, Numerical Optimization (2006): algorithm 7.4 for directions, 3.5 and 3.6 for steps
that satisfy the strong Wolfe conditions, (3.59) for cubic interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import enable_grad, no_grad
from aten.optim.optimizer import Optimizer
from aten.registry import ops

__all__ = ["LBFGS"]

_DECREASE = 1e-4  # c1 of the Wolfe conditions
_CURVATURE = 0.9  # c2
_LEAST_CURVATURE = 1e-10


class _Point(NamedTuple):
    """A place on the line: its distance, the loss there, the gradient, and that along the line."""

    at: float
    loss: float
    gradient: Tensor
    slope: float


def _cubic(first: _Point, second: _Point, least: float, most: float) -> float:
    """Where the cubic through two points is least, within bounds."""
    left, right = (first, second) if first.at <= second.at else (second, first)
    width = right.at - left.at
    bend = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.at - right.at)
    square = bend**2 - left.slope * right.slope
    if not square >= 0:
        return (least + most) / 2
    root = math.sqrt(square)
    share = (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
    return min(max(right.at - width * share, least), most)


class _LineSearch:
    """A step along a line that satisfies the strong Wolfe conditions."""

    def __init__(
        self,
        evaluate: Callable[[float], _Point],
        start: _Point,
        width: float,
        tolerance: float,
        most: int,
    ) -> None:
        self.evaluate, self.start, self.tolerance, self.most = evaluate, start, tolerance, most
        self.width = width  # the largest element of the direction
        self.count = 0

    def look(self, at: float) -> _Point:
        self.count += 1
        return self.evaluate(at)

    def too_high(self, point: _Point) -> bool:
        return point.loss > self.start.loss + _DECREASE * point.at * self.start.slope

    def flat(self, point: _Point) -> bool:
        return abs(point.slope) <= -_CURVATURE * self.start.slope

    def find(self, at: float) -> _Point:
        bracket, done = self.bracket(at)
        return bracket[0] if done else self.narrow(bracket)

    def bracket(self, at: float) -> tuple[list[_Point], bool]:
        """Points on both sides of a good one, or that one."""
        before, now = self.start, self.look(at)
        for trial in range(self.most):
            if self.too_high(now) or (trial > 1 and now.loss >= before.loss):
                return [before, now], False
            if self.flat(now):
                return [now], True
            if now.slope >= 0:
                return [before, now], False
            low, high = now.at + 0.01 * (now.at - before.at), now.at * 10
            farther = _cubic(before, now, low, high)
            before, now = now, self.look(farther)
        return [self.start, now], False

    def narrow(self, bracket: list[_Point]) -> _Point:
        """The good point between two, by interpolation; the best there is after some trials."""
        stuck = False
        low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        trials = self.count - 1
        while trials < self.most:
            places = bracket[0].at, bracket[1].at
            least, most = min(places), max(places)
            if (most - least) * self.width < self.tolerance:
                break
            at = _cubic(bracket[0], bracket[1], least, most)
            margin = 0.1 * (most - least)
            if min(most - at, at - least) < margin:
                if stuck or at >= most or at <= least:
                    at = most - margin if abs(at - most) < abs(at - least) else least + margin
                    stuck = False
                else:
                    stuck = True
            else:
                stuck = False
            now = self.look(at)
            trials += 1
            if self.too_high(now) or now.loss >= bracket[low].loss:
                bracket[high] = now
                low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
                continue
            if self.flat(now):
                bracket[low] = now
                break
            if now.slope * (bracket[high].at - bracket[low].at) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
        return bracket[low]


class LBFGS(Optimizer):
    """Quasi-Newton steps that remember the last `history_size` (Liu & Nocedal 1989).

    `step` needs a closure that computes the loss and its gradients, and calls it up to `max_eval`
    times. With `line_search_fn="strong_wolfe"` steps are as long as is good; else `lr` long.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(f"LBFGS: line_search_fn must be strong_wolfe, got {line_search_fn}")
        settings = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS: there is one group of parameters only")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        """All gradients, one after another; zeros where there is none."""
        return ops.aten.cat(
            [
                one.new_zeros(one.numel()) if one.grad is None else one.grad.reshape(-1)
                for one in self._params
            ]
        )

    def _move(self, direction: Tensor, at: float) -> None:
        """Every parameter a way along the direction."""
        parts = direction.split([one.numel() for one in self._params])
        steps = [part.view_as(one) for part, one in zip(parts, self._params, strict=True)]
        ops.aten._foreach_add_(self._params, steps, alpha=at)

    def _direction(self, state: dict[str, Any], gradient: Tensor) -> Tensor:
        """Minus the gradient times the inverse of the curvature seen so far."""
        group = self.param_groups[0]
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        change = gradient.sub(state["prev_flat_grad"])
        step = state["d"].mul(state["t"])
        curvature = change.dot(step)
        if float(curvature) > _LEAST_CURVATURE:
            if len(state["old_dirs"]) == group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(change)
            state["old_stps"].append(step)
            state["ro"].append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        found = gradient.neg()
        shares = []
        remembered = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
        for one, way, inverse in reversed(remembered):
            shares.append(way.dot(found) * inverse)
            found.addcmul_(one, shares[-1], value=-1)
        found = found.mul(state["H_diag"])
        for (one, way, inverse), share in zip(remembered, reversed(shares), strict=True):
            found.addcmul_(way, share - one.dot(found) * inverse)
        return found

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to `max_iter` steps; gives the loss before them.

        Raises TypeError without a closure.
        """
        if closure is None:
            raise TypeError("LBFGS: step needs a closure that computes the loss")
        self._stepped = True
        with no_grad():
            return self._steps(closure)

    def _steps(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state.setdefault(self._params[0], {})
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def computed() -> Any:
            state["func_evals"] += 1
            with enable_grad():
                return closure()

        before = computed()
        loss, gradient = float(before), self._gradient()
        calls = 1
        if float(gradient.abs().max()) <= group["tolerance_grad"]:
            return before
        for count in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient)
            last_loss = loss
            state["prev_flat_grad"] = gradient.clone()
            length = group["lr"]
            if state["n_iter"] == 1:
                length *= min(1.0, 1.0 / float(gradient.abs().sum()))
            slope = gradient.dot(direction)
            state.update(d=direction, t=length, prev_loss=last_loss)
            if float(slope) > -group["tolerance_change"]:
                break
            looked = 0
            if group["line_search_fn"] is not None:
                start = _Point(0.0, loss, gradient, float(slope))
                found, looked = self._searched(
                    computed, direction, start, length, group["max_eval"] - calls
                )
                loss, gradient, length = found.loss, found.gradient, found.at
                state["t"] = length
                self._move(direction, length)
            else:
                self._move(direction, length)
                if count != group["max_iter"]:
                    loss, gradient = float(computed()), self._gradient()
                    looked = 1
            calls += looked
            if count == group["max_iter"] or calls >= group["max_eval"]:
                break
            if float(gradient.abs().max()) <= group["tolerance_grad"]:
                break
            if float(direction.mul(length).abs().max()) <= group["tolerance_change"]:
                break
            if abs(loss - last_loss) < group["tolerance_change"]:
                break
        return before

    def _searched(
        self,
        computed: Callable[[], Any],
        direction: Tensor,
        start: _Point,
        length: float,
        most: int,
    ) -> tuple[_Point, int]:
        """The point that the line search finds, and how often it looked."""
        origin = [one.clone() for one in self._params]

        def evaluate(at: float) -> _Point:
            self._move(direction, at)
            loss, gradient = float(computed()), self._gradient()
            ops.aten._foreach_copy_(self._params, origin)
            return _Point(at, loss, gradient, float(gradient.dot(direction)))

        width = float(direction.abs().max())
        tolerance = self.param_groups[0]["tolerance_change"]
        search = _LineSearch(evaluate, start, width, tolerance, most)
        return search.find(length), search.count
