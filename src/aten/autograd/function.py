"""Functions that say themselves how gradients go back through them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from aten._core.autograd import node, saving
from aten._core.base.keys import gradient_modes, set_gradient_modes
from aten._core.tensor.making import row_of
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

# (function, arguments) → results, where rows of a batch are among the arguments.
_function_of_rows: Callable[[type[Any], tuple[Any, ...]], Any]


def set_function_of_rows(serve: Callable[[type[Any], tuple[Any, ...]], Any]) -> None:
    """Says what serves Functions under `vmap`; the package that has it is above this one."""
    global _function_of_rows
    _function_of_rows = serve


# (function, arguments, keywords) → results where arguments have tangents, else None; nothing until
# forward mode is entered.
_function_of_duals: Callable[..., Any] | None = None


def set_function_of_duals(serve: Callable[..., Any]) -> None:
    """Says what serves Functions whose arguments have tangents."""
    global _function_of_duals
    _function_of_duals = serve


class FunctionCtx:
    """What a Function's `forward` leaves for its `backward`."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._saved: tuple[Any, ...] | None = None
        self._is_forgotten = False
        self._node: Any = None
        self._dirty: tuple[Tensor, ...] = ()
        self._without: tuple[Tensor, ...] = ()
        self._for_forward: tuple[Tensor | None, ...] | None = None
        self._goes_forward = False

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps operands, results or others: `saved_tensors` gives them back."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for `jvp`."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which operands `forward` has written to; they have to be among its results."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which results have no gradients."""
        self._without = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for results without a gradient."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept; in `jvp` what `save_for_forward` did.

        Raises RuntimeError after a walk that did not retain the graph, and where a tensor was
        written to since.
        """
        if self._goes_forward and self._for_forward is not None:
            return self._for_forward
        if self._saved is None:
            return self._to_save
        if self._is_forgotten:
            saving.refuse_second_walk(self._node)
        return tuple(
            None if one is None else saving.given_back(one, self._node) for one in self._saved
        )


class FunctionNode(node.Node):
    """A call of a Function in the graph."""

    def __init__(self, function: type[Function], ctx: FunctionCtx) -> None:
        self.title = f"{function.__name__}Backward"
        self.function = function
        self.ctx = ctx

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What the function kept."""
        return self.ctx.saved_tensors

    def let_go(self) -> None:
        if self.ctx._saved:
            self.ctx._saved, self.ctx._is_forgotten = (), True

    def run(self, gradients: list[Any]) -> list[Any]:
        if self.ctx.materialize_grads:
            pairs = zip(gradients, self.output_infos, strict=True)
            gradients = [
                _zeros(info) if one is None and info is not None else one for one, info in pairs
            ]
        if self.function.vjp is not Function.vjp:
            given = self.function.vjp(self.ctx, *gradients)
        else:
            given = self.function.backward(self.ctx, *gradients)
        listed = given if isinstance(given, tuple) else (given,)
        wanted = len(self.goes_on)
        extra = listed[wanted:]
        if len(listed) < wanted or any(one is not None for one in extra):
            raise RuntimeError(f"{self.title}: expected {wanted} gradients, got {len(listed)}")
        for place, one in enumerate(listed[:wanted]):
            if one is not None and not isinstance(one, Tensor):
                raise RuntimeError(
                    f"{self.title}: gradient {place} must be a tensor or None, not "
                    f"{type(one).__name__}"
                )
        return [
            one if goes_on else None for one, goes_on in zip(listed, self.goes_on, strict=False)
        ]


def _zeros(info: Any) -> Tensor:
    return ops.aten.zeros(info.sizes, dtype=info.dtype, device=info.device)


class Function:
    """A function with a derivative of its own: subclass it, and call `apply`.

    `forward(ctx, *args)` computes, unrecorded; `backward(ctx, *gradients)` gives a gradient, or
    None, for each argument. Or `forward(*args)` computes and `setup_context(ctx, inputs, output)`
    says what is kept.

    Example:

        >>> class Cube(aten.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x ** 3
        ...
        ...     @staticmethod
        ...     def backward(ctx, gradient):
        ...         (x,) = ctx.saved_tensors
        ...         return gradient * 3 * x ** 2
        >>> x = aten.tensor(2.0, requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor(12.)
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the results; subclasses say how."""
        raise NotImplementedError("Function: a subclass needs forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """What is kept of a call, for functions whose `forward` has no `ctx`."""
        raise NotImplementedError("Function: there is no setup_context")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of the arguments; subclasses say how."""
        raise NotImplementedError("Function: a subclass needs backward or vjp")

    @staticmethod
    def vjp(ctx: Any, *gradients: Any) -> Any:
        """Another name for `backward`."""
        raise NotImplementedError

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The changes of the results, for those of the arguments: zeros for tensors that do not
        change, None for what is no tensor. Without it forward mode goes back twice."""
        raise NotImplementedError("Function: a subclass needs jvp")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The results for batches, and the dimensions of these that the rows lie along.

        `info` has `batch_size` and `randomness`; `in_dims` says of each argument which dimension
        its rows lie along, or None.
        """
        raise NotImplementedError("Function: a subclass needs vmap")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """The function's results, with their place in the graph."""
        if any(row_of(one) is not None for one in args):
            return _function_of_rows(cls, args)
        if _function_of_duals is not None:
            served = _function_of_duals(cls, args, kwargs)
            if served is not None:
                return served[0]
        ctx = FunctionCtx()
        return cls._called(ctx, args, kwargs)

    @classmethod
    def _called(cls, ctx: FunctionCtx, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensors = [one for one in args if isinstance(one, Tensor)]
        ctx.needs_input_grad = tuple(isinstance(one, Tensor) and one.requires_grad for one in args)
        recorded = gradient_modes()[0] and any(ctx.needs_input_grad)
        made = FunctionNode(cls, ctx) if recorded else None
        if made is not None:
            made.connect([one if isinstance(one, Tensor) else None for one in args], [])
        results = _without_gradients(cls._computed, ctx, args, kwargs)
        single = not isinstance(results, tuple)
        listed = (results,) if single else results
        if made is not None:
            listed = _recorded(made, ctx, tensors, listed)
        return listed[0] if single else listed

    @classmethod
    def _computed(cls, ctx: FunctionCtx, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args, **kwargs)
        results = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, results)
        return results


def _without_gradients(function: Callable[..., Any], *args: Any) -> Any:
    grad, inference = gradient_modes()
    set_gradient_modes(False, inference)
    try:
        return function(*args)
    finally:
        set_gradient_modes(grad, inference)


def _recorded(
    made: FunctionNode, ctx: FunctionCtx, operands: list[Tensor], results: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The results, as the node's. Raises RuntimeError where a leaf was written to."""
    for one in ctx._dirty:
        whole = one._base if one._is_view() else one
        if whole is not None and whole.is_leaf and whole.requires_grad:
            raise RuntimeError(
                f"mark_dirty: forward wrote to a leaf that requires grad, or a view of one, of "
                f"{list(one.shape)}: its value is what gradients are of"
            )
    given: list[Any] = []
    for one in results:
        if isinstance(one, Tensor) and any(one is operand for operand in operands):
            if not any(one is dirty for dirty in ctx._dirty):
                one = _without_gradients(ops.aten.alias, one)
        elif isinstance(one, Tensor) and one._is_view():
            one = _without_gradients(ops.aten.detach, one)
        given.append(one)
    outputs = [
        one
        if isinstance(one, Tensor)
        and (one.is_floating_point() or one.is_complex())
        and not any(
            one is other or other is was
            for other in ctx._without
            for was in results[place : place + 1]
        )
        else None
        for place, one in enumerate(given)
    ]
    made.connect([], outputs)
    ctx._node = made
    ctx._saved = tuple(
        None if one is None else _saved(one, results, given, made) for one in ctx._to_save
    )
    ctx._to_save = ()
    return tuple(given)


def _saved(tensor: Tensor, results: tuple[Any, ...], given: list[Any], made: Any) -> Any:
    for place, one in enumerate(results):
        if one is tensor and given[place].grad_fn is made:
            return saving.saved_tensor(given[place], made, place)
    return saving.saved_tensor(tensor)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a `backward` that cannot be recorded itself: going back through it raises."""

    @wraps(function)
    def run(ctx: Any, *gradients: Any) -> Any:
        recorded = gradient_modes()[0] and any(
            isinstance(one, Tensor) and one.requires_grad for one in gradients
        )
        given = _without_gradients(function, ctx, *gradients)
        if not recorded:
            return given
        listed = given if isinstance(given, tuple) else (given,)
        marked = tuple(_refusing(one) if isinstance(one, Tensor) else one for one in listed)
        return marked if isinstance(given, tuple) else marked[0]

    return run


class _RefusingNode(node.Node):
    def __init__(self) -> None:
        self.title = "DelayedErrorBackward0"

    def run(self, gradients: list[Any]) -> list[Any]:
        raise RuntimeError(
            "a function marked once_differentiable cannot be gone back through a second time"
        )


def _refusing(tensor: Tensor) -> Tensor:
    made = tensor.detach()
    _RefusingNode().connect([], [made])
    return made


__all__ = ["Function", "FunctionCtx", "FunctionNode", "once_differentiable"]
