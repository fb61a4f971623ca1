"""Random calls in random modes and transformations: what is left entered afterwards is a fault.

A call is made as it is, or as a function of its operands of real and complex numbers, under
`vmap`, `grad`, `vjp`, `jvp`, `linearize`, `jacrev`, `jacfwd` and `functionalize`, one around
another; and in modes that record, do not, compute in other types, or look at every call.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

from operator_calls import ALLOWED, tensors_in

import aten
from aten.overrides import TorchFunctionMode
from aten.transforms.batching.wrapping import levels
from aten.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

# Elements beyond which no Jacobian is asked for: it has their square.
_LARGE = 64


class _StoppedError(RuntimeError):
    """A mode refuses a call."""


class _FunctionMode(TorchFunctionMode):
    def __init__(self, refuses: bool) -> None:
        self.refuses = refuses

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.refuses:
            raise _StoppedError("refused")
        return func(*args, **(kwargs or {}))


class _DispatchMode(TorchDispatchMode):
    """Refuses the second call that comes to it, where it refuses any."""

    def __init__(self, refuses: bool) -> None:
        super().__init__()
        self.left = 1 if refuses else -1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.left == 0:
            raise _StoppedError("refused")
        self.left -= 1
        return func(*args, **(kwargs or {}))


def _unpacked(one: Any) -> Any:
    return one


_MODES: tuple[Callable[[random.Random], Any], ...] = (
    lambda source: aten.no_grad(),
    lambda source: aten.enable_grad(),
    lambda source: aten.set_grad_enabled(source.random() < 0.5),
    lambda source: aten.inference_mode(source.random() < 0.7),
    lambda source: aten.autocast("cpu", dtype=source.choice((aten.bfloat16, aten.float16))),
    lambda source: aten.autograd.detect_anomaly(check_nan=source.random() < 0.5),
    lambda source: aten.autograd.graph.saved_tensors_hooks(_unpacked, _unpacked),
    lambda source: aten.autograd.forward_ad.dual_level(),
    lambda source: _FunctionMode(source.random() < 0.1),
    lambda source: _DispatchMode(source.random() < 0.1),
    lambda source: aten.overrides.DisableTorchFunction(),
)


def transformed_call(
    op: Any, positional: list[Any], keywords: dict[str, Any], source: random.Random
) -> bool:
    """Whether the call succeeded, and the way back from it.

    Raises AssertionError for an exception that nothing of it may raise, and for what is left
    entered.
    """
    for tensor in tensors_in([positional, list(keywords.values())]):
        if _varies(tensor) and source.random() < 0.4:
            tensor.requires_grad_()
    count = source.choice((0, 1, 1, 2, 3))
    try:
        with contextlib.ExitStack() as stack:
            for make in source.choices(_MODES, k=count):
                stack.enter_context(make(source))
            _called(op, positional, keywords, source)
    except ALLOWED as error:
        if isinstance(error, RecursionError):
            raise AssertionError(f"{op} raised {error}") from error
        return False
    except Exception as error:
        raise AssertionError(f"{op} raised {type(error).__name__}: {error}") from error
    finally:
        _check_left(op)
    return True


def _check_left(op: Any) -> None:
    assert aten.is_grad_enabled(), f"{op} left recording off"
    assert not aten.is_inference_mode_enabled(), f"{op} left inference mode on"
    assert not aten.is_autocast_enabled("cpu"), f"{op} left autocast on"
    assert not levels.entered, f"{op} left a level of vmap"
    assert _get_current_dispatch_mode() is None, f"{op} left a mode"
    assert (aten.ones(1) + 1).item() == 2, f"{op} left something that changes calls"


def _varies(value: Any) -> bool:
    return isinstance(value, aten.Tensor) and (value.is_floating_point() or value.is_complex())


def _called(
    op: Any, positional: list[Any], keywords: dict[str, Any], source: random.Random
) -> None:
    chosen = [one for one in tensors_in([positional, list(keywords.values())]) if _varies(one)]
    count = source.choice((0, 0, 1, 1, 2, 3))

    def run(*replaced: Any) -> Any:
        places = {id(one): new for one, new in zip(chosen, replaced, strict=True)}
        given = _replaced(positional, places), _replaced(keywords, places)
        return [one for one in tensors_in([op(*given[0], **given[1])]) if _varies(one)]

    if not chosen or not count:
        results = run(*chosen)
    else:
        function: Callable[..., Any] = run
        order = 0
        for make in source.choices(_TRANSFORMS, k=count):
            order += _ORDERS.get(make, 1)
            if order <= _HIGHEST_ORDER:
                function = make(function, chosen, source)
        results = tensors_in([function(*chosen)])
    _went_back(results, source)


def _went_back(results: list[Any], source: random.Random) -> None:
    recorded = [one for one in results if one.requires_grad]
    if not recorded:
        return
    if source.random() < 0.1:
        recorded[0].register_hook(source.choice((_unpacked, lambda one: one.sum(), lambda one: 1)))
    seeds = [aten.ones_like(one.detach()) for one in recorded]
    again = source.random() < 0.3
    aten.autograd.backward(recorded, seeds, retain_graph=again, create_graph=source.random() < 0.2)
    if again:
        aten.autograd.backward(recorded, seeds)


def _replaced(value: Any, places: dict[int, Any]) -> Any:
    if isinstance(value, aten.Tensor):
        return places.get(id(value), value)
    if isinstance(value, list):
        return [_replaced(one, places) for one in value]
    if isinstance(value, dict):
        return {key: _replaced(one, places) for key, one in value.items()}
    return value


def _total(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function's results as one real number."""

    def run(*given: Any) -> Any:
        parts = [one.real if one.is_complex() else one for one in tensors_in([function(*given)])]
        total = aten.zeros(())
        for one in parts:
            total = total + one.sum()
        return total

    return run


def _mapped(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    dims = [source.choice((0, 0, -1, None)) if one.dim() else None for one in chosen]
    chunk = source.choice((None, None, 1, 2))
    randomness = source.choice(("error", "same", "different"))
    out = source.choice((0, 0, -1))
    return aten.vmap(function, tuple(dims), out, randomness, chunk_size=chunk)


def _differentiated(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    numbers = tuple(sorted(source.sample(range(len(chosen)), source.randint(1, len(chosen)))))
    make = source.choice((aten.func.grad, aten.func.grad_and_value))
    return make(_total(function), numbers)


def _changed(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    def run(*given: Any) -> Any:
        return aten.func.jvp(function, given, tuple(aten.ones_like(one) for one in given))

    return run


def _linearized(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    def run(*given: Any) -> Any:
        output, change = aten.func.linearize(function, *given)
        return output, change(*(aten.ones_like(one) for one in given))

    return run


def _back(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    def run(*given: Any) -> Any:
        output, back = aten.func.vjp(function, *given)
        return back([aten.ones_like(one) for one in output])

    return run


def _jacobian(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    if sum(one.numel() for one in chosen) > _LARGE:
        return function
    make = source.choice((aten.func.jacrev, aten.func.jacfwd, aten.func.hessian))
    return make(_total(function) if make is aten.func.hessian else function)


def _functional(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    return aten.func.functionalize(function)


def _dual(function: Callable[..., Any], chosen: list[Any], source: random.Random) -> Any:
    def run(*given: Any) -> Any:
        forward = aten.autograd.forward_ad
        with forward.dual_level():
            duals = [
                forward.make_dual(one, aten.ones_like(one)) if source.random() < 0.6 else one
                for one in given
            ]
            return [list(forward.unpack_dual(one)) for one in tensors_in([function(*duals)])]

    return run


_TRANSFORMS = (
    _mapped, _mapped, _differentiated, _changed, _linearized, _back, _jacobian, _functional, _dual,
)  # fmt: skip
# How often each goes back through the function. Every order has hundreds of kernels of its own,
# derived and compiled when they are first met: a sixth derivative takes half a minute.
_ORDERS: dict[Any, int] = {
    _mapped: 0, _functional: 0, _changed: 2, _linearized: 2, _jacobian: 2, _dual: 2,
}  # fmt: skip
_HIGHEST_ORDER = 3
