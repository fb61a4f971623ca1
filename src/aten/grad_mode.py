"""Whether a thread records operators for gradients: contexts, decorators and answers.

Each of the contexts may also be put over a function, a generator function or a class's methods,
with parentheses or, where it takes no argument, without.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Self

from aten._core.base.keys import gradient_modes, set_gradient_modes

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]


class _Modes:
    """The thread's state, which the dispatcher goes by."""

    @property
    def grad(self) -> bool:
        return gradient_modes()[0]

    @grad.setter
    def grad(self, wanted: bool) -> None:
        set_gradient_modes(wanted, self.inference)

    @property
    def inference(self) -> bool:
        return gradient_modes()[1]

    @inference.setter
    def inference(self, wanted: bool) -> None:
        set_gradient_modes(self.grad, wanted)


_modes = _Modes()


def is_grad_enabled() -> bool:
    """Whether this thread wants gradients.

    Example:

        >>> aten.is_grad_enabled()
        True
    """
    return _modes.grad and not _modes.inference


def is_inference_mode_enabled() -> bool:
    """Whether this thread is within `inference_mode()`.

    Example:

        >>> aten.is_inference_mode_enabled()
        False
    """
    return _modes.inference


class _Context:
    """What the thread says within; `_grad` and `_inference` of None leave it as it is."""

    _grad: bool | None = None
    _inference: bool | None = None

    def __new__(cls, function: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        if callable(function):
            made.__init__()  # type: ignore[misc]
            return made(function)
        return made

    def __enter__(self) -> Self:
        self._earlier = [*getattr(self, "_earlier", ()), (_modes.grad, _modes.inference)]
        if self._grad is not None:
            _modes.grad = self._grad
        if self._inference is not None:
            _modes.inference = self._inference
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _modes.grad, _modes.inference = self._earlier.pop()

    def _again(self) -> _Context:
        """A context for one more call: calls may run at the same time."""
        made = object.__new__(type(self))
        made._grad, made._inference = self._grad, self._inference
        return made

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if getattr(function, "__code__", None) and function.__code__.co_flags & _GENERATOR:
            return self._over_generator(function)

        @wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return within

    def _over_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            # What the caller does between two values is its own.
            steps = function(*args, **kwargs)
            sent: Any = None
            while True:
                try:
                    with self._again():
                        value = steps.send(sent)
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    steps.close()
                    raise

        return within


# Of a code object, that calling its function makes a generator (`inspect.CO_GENERATOR`).
_GENERATOR = 0x20


class no_grad(_Context):  # noqa: N801
    """No gradients are wanted within."""

    _grad = False


class enable_grad(_Context):  # noqa: N801
    """Gradients are wanted within, where `no_grad` is around; not in `inference_mode`."""

    _grad = True


class inference_mode(_Context):  # noqa: N801
    """No gradients are wanted within, nor ever for what is made there; with False they are.

    What is made within cannot be written to outside, nor saved for the way back: `clone` it there.
    """

    def __init__(self, mode: bool = True) -> None:
        self._inference = bool(mode)
        self._grad = not mode


class set_grad_enabled(_Context):  # noqa: N801
    """Gradients are wanted from now on, or not; as a context, until its end."""

    def __init__(self, mode: bool) -> None:
        self._earlier = [(_modes.grad, _modes.inference)]
        self._grad = bool(mode)
        _modes.grad = self._grad

    def __enter__(self) -> Self:
        # The state to go back to is the one that the constructor met.
        if getattr(self, "_earlier", ()):
            _modes.grad = bool(self._grad)
            return self
        return super().__enter__()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # As a decorator it says nothing about the code around.
        if self._earlier:
            _modes.grad, _modes.inference = self._earlier.pop()
        return super().__call__(function)
