"""Control flow as functions of functions: run as it comes, and a part of programs captured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.graph import higher_order
from aten.graph.pytree import TreeSpec, flattened

__all__ = ["cond", "while_loop"]


class FlatFunction:
    """A function of nested values as one of their leaves."""

    def __init__(self, function: Callable[..., Any], spec: TreeSpec) -> None:
        self.function = function
        self.spec = spec
        self.out_spec: TreeSpec | None = None

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        # Operands that captured functions find in their surroundings come after the others.
        made, self.out_spec = flattened(
            self.function(*self.spec.unflatten(list(leaves[: self.spec.leaf_count])))
        )
        return tuple(made)

    def result(self, leaves: Sequence[Any]) -> Any:
        """Leaves nested as what the function gave the last time."""
        assert self.out_spec is not None
        return self.out_spec.unflatten(list(leaves))


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
    if isinstance(pred, Tensor) and higher_order.capturing() is not None:
        leaves, spec = flattened(tuple(operands))
        case = FlatFunction(true_fn, spec), FlatFunction(false_fn, spec)
        return case[0].result(higher_order.cond(pred, *case, leaves))
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
    if higher_order.capturing() is not None:
        leaves, spec = flattened(carried)
        body = FlatFunction(body_fn, spec)
        made = higher_order.while_loop(FlatFunction(cond_fn, spec), body, leaves)
        return tuple(spec.unflatten(list(made)))
    while cond_fn(*carried):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (list, tuple)) else (made,)
    return carried
