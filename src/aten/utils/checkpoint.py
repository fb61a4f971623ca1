"""Functions run again on the way back, so that what they compute need not be kept."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from aten._core.base.keys import gradient_modes
from aten._core.tensor.tensor import Tensor
from aten.amp.autocasting import autocast, get_autocast_dtype, is_autocast_enabled
from aten.autograd import Function, backward
from aten.autograd.graph import saved_tensors_hooks
from aten.grad_mode import enable_grad, no_grad
from aten.random import get_rng_state, set_rng_state
from aten.utils.selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "noop_context_fn",
]

_Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class CheckpointError(RuntimeError):
    """What a function saves when it is run again differs from what it saved before."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The default of `context_fn`: nothing is changed, neither before nor when run again."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: _Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, which runs again on the way back instead of keeping tensors.

    With `use_reentrant` the function runs unrecorded, and a walk of its own goes back through it;
    an argument has to require gradients. Without, what it would save is computed when it is first
    asked for. `context_fn` gives contexts for the two runs. `determinism_check` compares sizes,
    types and devices of what both save ("default"), or nothing ("none"). `preserve_rng_state` has
    the second run draw the same random numbers.

    Raises:
        ValueError: another `determinism_check`; with `use_reentrant`, a `context_fn` or keywords.
        CheckpointError: the second run saves other tensors.

    Example:

        >>> x = aten.tensor([1.0, 2.0], requires_grad=True)
        >>> y = aten.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad is None
        False
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: say use_reentrant=True or use_reentrant=False; False is taken",
            stacklevel=2,
        )
        use_reentrant = False
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"checkpoint: determinism_check must be 'default' or 'none', not {determinism_check!r}"
        )
    if not use_reentrant:
        run = _Run(function, args, kwargs, context_fn, determinism_check, preserve_rng_state)
        run.stops = early_stop
        return run.first()
    if kwargs:
        raise ValueError(f"checkpoint: use_reentrant=True takes no keywords: {', '.join(kwargs)}")
    if context_fn is not noop_context_fn or debug:
        raise ValueError("checkpoint: context_fn and debug are for use_reentrant=False")
    if gradient_modes()[0] and not any(
        isinstance(one, Tensor) and one.requires_grad for one in args
    ):
        warnings.warn(
            "checkpoint: no argument requires gradients, so that none come back", stacklevel=2
        )
    return _Reentrant.apply(function, preserve_rng_state, *args)


class _Surroundings:
    """Random numbers and autocast as they were when this was made."""

    def __init__(self, preserves: bool) -> None:
        self.random = get_rng_state() if preserves else None
        self.enabled = is_autocast_enabled("cpu")
        self.element = get_autocast_dtype("cpu")

    @contextmanager
    def again(self) -> Iterator[None]:
        """The same once more."""
        now = get_rng_state()
        if self.random is not None:
            set_rng_state(self.random)
        try:
            with autocast("cpu", dtype=self.element, enabled=self.enabled):
                yield
        finally:
            if self.random is not None:
                set_rng_state(now)


class _Reentrant(Function):
    @staticmethod
    def forward(ctx: Any, function: Any, preserves: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.surroundings = _Surroundings(preserves)
        ctx.args = [None if isinstance(one, Tensor) else one for one in args]
        ctx.save_for_backward(*[one if isinstance(one, Tensor) else None for one in args])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        given: list[Any] = []
        for one, tensor in zip(ctx.args, ctx.saved_tensors, strict=True):
            if tensor is not None:
                one = tensor.detach().requires_grad_(tensor.requires_grad)
            given.append(one)
        with ctx.surroundings.again(), enable_grad():
            results = ctx.function(*given)
        listed = results if isinstance(results, tuple) else (results,)
        pairs = [
            (one, gradient)
            for one, gradient in zip(listed, gradients, strict=True)
            if isinstance(one, Tensor) and one.requires_grad
        ]
        if not pairs:
            raise RuntimeError("checkpoint: no result of the function requires gradients")
        backward([one for one, _ in pairs], [gradient for _, gradient in pairs])
        return None, None, *[one.grad if isinstance(one, Tensor) else None for one in given]


class _EnoughError(Exception):
    """Everything that was saved before has been saved again."""


class _Handle:
    """Stands in the graph for a tensor that is not kept."""

    __slots__ = ("about", "run", "value")

    def __init__(self, run: _Run, about: Any) -> None:
        self.run = run
        self.about = about
        self.value: Tensor | None = None


class _Run:
    """One call of a function, which can be made again."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context_fn: _Contexts,
        determinism_check: str,
        preserves: bool,
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.contexts = context_fn()
        self.checks = determinism_check == "default"
        self.surroundings = _Surroundings(preserves)
        self.stops = True
        self.handles: list[_Handle] = []

    def first(self) -> Any:
        """The function's results; what it saves is left out."""
        with saved_tensors_hooks(self.left_out, _unpacked), self.contexts[0]:
            return self.function(*self.args, **self.kwargs)

    def left_out(self, tensor: Tensor) -> _Handle:
        """What is saved in the place of a tensor."""
        handle = _Handle(self, _described(tensor))
        self.handles.append(handle)
        return handle

    def again(self) -> None:
        """Runs the function again, and lets the handles have what it saves."""
        count = 0

        def keep(tensor: Tensor) -> Tensor:
            nonlocal count
            if count < len(self.handles):
                handle = self.handles[count]
                if self.checks and handle.about != _described(tensor):
                    self.refuse(count, handle.about, _described(tensor))
                handle.value = tensor.detach()
            count += 1
            if self.stops and count == len(self.handles):
                raise _EnoughError
            return tensor.detach()

        with (
            contextlib.suppress(_EnoughError),
            self.surroundings.again(),
            enable_grad(),
            saved_tensors_hooks(keep, lambda kept: kept),
            self.contexts[1],
        ):
            self.function(*self.args, **self.kwargs)
        if count != len(self.handles):
            raise CheckpointError(
                f"checkpoint: run again, the function saved {count} tensors, and "
                f"{len(self.handles)} before"
            )

    def refuse(self, number: int, before: Any, now: Any) -> NoReturn:
        raise CheckpointError(
            f"checkpoint: tensor {number} that the function saved was {before}, and run again it "
            f"is {now}: the function must do the same every time"
        )


def _described(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), str(tensor.dtype), str(tensor.device)


def _unpacked(handle: _Handle) -> Tensor:
    """The tensor, computed again when it is the first of its run, or one asked for twice."""
    if handle.value is None:
        handle.run.again()
    value, handle.value = handle.value, None
    assert value is not None
    return value


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """The functions (a Sequential or a list) one after another, in checkpointed segments.

    The last segment is kept as usual. Raises ValueError for keywords but `preserve_rng_state`.

    Example:

        >>> layers = [aten.sin, aten.exp, aten.cos, aten.sum]
        >>> x = aten.zeros(2, requires_grad=True)
        >>> y = aten.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False)
        >>> y.backward()
        >>> x.grad
        tensor([-0.8415, -0.8415])
    """
    preserves = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"checkpoint_sequential: unexpected keywords: {', '.join(kwargs)}")
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: say use_reentrant=True or use_reentrant=False; False is taken",
            stacklevel=2,
        )
        use_reentrant = False
    layers = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(layers) // segments
    last = size * (segments - 1)
    for start in range(0, last, size or 1):
        input = checkpoint(
            _chained(layers[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserves,
        )
    return _chained(layers[last:])(input)


def _chained(layers: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for layer in layers:
            value = layer(value)
        return value

    return run
