"""Control flow as functions of functions, run as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["cond", "while_loop"]


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """What `true_fn` gives for the operands where `pred` holds, else what `false_fn` does.

    `pred` is a bool or a tensor of one element. Raises TypeError where the functions are none.

    Example:

        >>> aten.cond(True, lambda x: x + 1, lambda x: x - 1, (aten.ones(2),))
        tensor([2., 2.])
    """
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("cond(): expected functions for both cases")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]
) -> tuple[Any, ...]:
    """What `body_fn` makes of the inputs again and again, as long as `cond_fn` says of them.

    Example:

        >>> aten.while_loop(lambda x: x < 10, lambda x: (x * 2,), (aten.tensor(3),))
        (tensor(12),)
    """
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (list, tuple)) else (made,)
    return carried
