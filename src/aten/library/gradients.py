"""How gradients go back through operators of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aten._core.autograd import node, operators, saving
from aten._core.base.keys import DispatchKey, DispatchKeySet, gradient_modes
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.autograd.function import FunctionCtx
from aten.library.registration import library_of, name_of
from aten.registry import operator, ops

if TYPE_CHECKING:
    from aten.library.registration import Library, NamedOperator

_RECORDING = DispatchKey.__members__["AutogradRecording"]


def register_autograd(
    op: str | OpOverload | NamedOperator,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
    replace: bool = False,
) -> None:
    """Registers `backward(ctx, *gradients)`, which gives a gradient, or None, for each argument.

    `setup_context(ctx, inputs, output)` keeps what that needs: `ctx.save_for_backward` for tensors,
    attributes for everything else. Where the operator has keyword-only arguments, it gets them as
    `keyword_only_inputs`. A list of tensors has a list of gradients.

    Raises:
        LookupError: there is no such operator.
        RuntimeError: it writes to its arguments or returns no tensors, so that there is nothing to
            go back through; or it has a gradient already.
    """
    found = operator(name_of(op))
    refusal = _why_not(found)
    if refusal is not None:
        raise RuntimeError(f"{found.qualified_name}: cannot register a gradient: {refusal}")
    library = library_of(found.namespace) if lib is None else lib
    recorder = _Recorder(found, backward, setup_context)
    known = _recorder_of(found)
    if known is not None and (replace or known.backward is None):
        known.backward, known.setup_context = backward, setup_context
        return
    library.impl(found.qualified_name, recorder, "AutogradRecording", with_keyset=True)


def refuse_gradients(op: OpOverload, library: Library) -> None:
    """Lets calls of the operator run with gradients, but none come back through it."""
    if _why_not(op) is None:
        library.impl(
            op.qualified_name, _Recorder(op, None, None), "AutogradRecording", with_keyset=True
        )


def has_gradient(op: OpOverload) -> bool:
    """Whether somebody has said how gradients go back through the operator."""
    known = _recorder_of(op)
    return known is not None and known.backward is not None


def _recorder_of(op: OpOverload) -> _Recorder | None:
    kernels = op.registrations.kernels.get(_RECORDING, ())
    functions = [getattr(one, "function", None) for one in kernels]
    return next((one for one in functions if isinstance(one, _Recorder)), None)


def _why_not(op: OpOverload) -> str | None:
    schema = op._schema
    if any(argument.is_write for argument in schema.arguments):
        return f"it writes to arguments ({schema})"
    if not any(str(one.type).startswith("Tensor") for one in schema.returns):
        return f"it returns no tensors ({schema})"
    return None


class OwnCtx(FunctionCtx):
    """What `setup_context` leaves for `backward`."""


class OwnNode(node.Node):
    """A call of an operator of one's own in the graph."""

    def __init__(
        self,
        op: OpOverload,
        backward: Callable[..., Any] | None,
        ctx: OwnCtx,
        arguments: Sequence[Any],
    ) -> None:
        self.title = f"GeneratedBackwardFor_{op.namespace}_{op.name}_{op._overloadname}Backward"
        self.op = op
        self.backward = backward
        self.ctx = ctx
        # The length of an argument that is a list of tensors; -1 for any other.
        self.lengths = [len(one) if _is_list(one) else -1 for one in arguments]
        # The same of results, once there are some.
        self.returned: list[int] = []

    def run(self, gradients: list[Any]) -> list[Any]:
        if self.backward is None:
            raise RuntimeError(
                f"{self.op}: no gradient goes back through it, as nobody has said how: see "
                f"register_autograd"
            )
        if self.ctx.materialize_grads:
            pairs = zip(gradients, self.output_infos, strict=True)
            gradients = [
                _zeros(info) if one is None and info is not None else one for one, info in pairs
            ]
        given = self.backward(self.ctx, *_grouped(gradients, self.returned))
        listed = given if isinstance(given, tuple) else (given,)
        if len(listed) != len(self.lengths):
            raise RuntimeError(
                f"{self.op}: backward gave {len(listed)} gradients for {len(self.lengths)} "
                f"arguments: there must be one, or None, for each"
            )
        made: list[Any] = []
        for place, (one, length) in enumerate(zip(listed, self.lengths, strict=True)):
            made += [one] if length < 0 else self._listed(one, length, place)
        edges = zip(made, self.goes_on, strict=True)
        return [one if goes_on else None for one, goes_on in edges]

    def _listed(self, given: Any, length: int, place: int) -> list[Any]:
        if given is None:
            return [None] * length
        if not isinstance(given, (list, tuple)) or len(given) != length:
            raise RuntimeError(
                f"{self.op}: backward must give a list of {length} gradients for argument {place}, "
                f"not {type(given).__name__}"
            )
        return list(given)


class _Recorder:
    """The kernel that records calls of one operator."""

    def __init__(
        self,
        op: OpOverload,
        backward: Callable[..., Any] | None,
        setup_context: Callable[..., Any] | None,
    ) -> None:
        self.op = op
        self.backward = backward
        self.setup_context = setup_context

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        op = self.op
        operands = [*args, *kwargs.values()]
        tensors = [one for value in operands for one in (value if _is_list(value) else [value])]
        below = keys.remove(_RECORDING)
        if not gradient_modes()[0] or not any(_takes_gradients(one) for one in tensors):
            return operators.below_recording(op.redispatch, below, *args, **kwargs)
        ctx = OwnCtx()
        wanted: list[Any] = [
            [_takes_gradients(one) for one in value] if _is_list(value) else _takes_gradients(value)
            for value in operands
        ]
        ctx.needs_input_grad = tuple(wanted)
        made = OwnNode(op, self.backward, ctx, args)
        arguments = [one for value in args for one in (value if _is_list(value) else [value])]
        made.connect([one if isinstance(one, Tensor) else None for one in arguments], [])
        result = operators.below_recording(op.redispatch, below, *args, **kwargs)
        if self.setup_context is not None:
            operators.below_recording(self._set_up, ctx, args, kwargs, result)
        results = [result] if isinstance(result, Tensor) or len(op._schema.returns) == 1 else result
        made.returned = [len(one) if _is_list(one) else -1 for one in results]
        flat = [one for value in results for one in (value if _is_list(value) else [value])]
        made.connect([], [one if _has_gradients(ctx, one) else None for one in flat])
        _save(ctx, made, flat)
        return result

    def _set_up(
        self, ctx: OwnCtx, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        assert self.setup_context is not None
        if kwargs:
            self.setup_context(ctx, args, kwargs, result)
        else:
            self.setup_context(ctx, args, result)


def _save(ctx: OwnCtx, made: OwnNode, results: list[Any]) -> None:
    ctx._node = made
    ctx._saved = tuple(None if one is None else _saved(one, made, results) for one in ctx._to_save)
    ctx._to_save = ()


def _saved(tensor: Tensor, made: OwnNode, results: list[Any]) -> Any:
    for place, one in enumerate(results):
        if one is tensor and tensor.grad_fn is made:
            return saving.saved_tensor(tensor, made, place)
    return saving.saved_tensor(tensor)


def _takes_gradients(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _has_gradients(ctx: OwnCtx, value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and (value.is_floating_point() or value.is_complex())
        and not any(value is one for one in ctx._without)
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value)


def _grouped(values: Iterable[Any], lengths: list[int]) -> list[Any]:
    rest = iter(values)
    return [next(rest) if length < 0 else [next(rest) for _ in range(length)] for length in lengths]


def _zeros(info: Any) -> Tensor:
    return ops.aten.zeros(info.sizes, dtype=info.dtype, device=info.device)
