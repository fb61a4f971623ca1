"""Gradients: `backward`, `grad`, functions with derivatives of their own, hooks and modes.

The graph and the walk back through it are in `_core/autograd/`, what operators do there in
`derivatives.yaml` and, derived, in `derivation.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from aten._core.autograd import engine, node
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from aten.autograd import functional as functional
    from aten.autograd import graph as graph
    from aten.autograd.anomaly import detect_anomaly, set_detect_anomaly
    from aten.autograd.finite_differences import GradcheckError, gradcheck, gradgradcheck
    from aten.autograd.function import Function, FunctionCtx, once_differentiable
    from aten.autograd.graph import GradientEdge

    Tensors: TypeAlias = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]

Node = node.Node

__all__ = [
    "Function",
    "FunctionCtx",
    "GradcheckError",
    "Node",
    "Variable",
    "backward",
    "detect_anomaly",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "once_differentiable",
    "set_detect_anomaly",
]

Variable = Tensor
Gradients = Tensor | Sequence[Tensor | None] | None


def _listed(given: Any) -> tuple[Any, ...]:
    if given is None or isinstance(given, Tensor) or _is_edge(given):
        return (given,)
    return tuple(given)


def _edge(one: Any) -> tuple[Any, int]:
    """The node that a tensor's gradient goes to, and which of its results the tensor is."""
    return one if _is_edge(one) else node.gradient_node(one)


def _is_edge(one: Any) -> bool:
    from aten.autograd.graph import GradientEdge

    return isinstance(one, GradientEdge)


def _gradients_of(tensors: tuple[Any, ...], given: Gradients, batched: bool) -> tuple[Any, ...]:
    """A gradient for each tensor: ones for numbers that have none.

    Raises RuntimeError for other shapes, and for tensors of several elements without a gradient.
    """
    listed = _listed(given)
    if given is None:
        listed = listed * len(tensors)
    for one in listed:
        if one is not None and not isinstance(one, Tensor):
            raise TypeError(
                f"backward: a gradient must be a tensor or None, not {type(one).__name__}"
            )
    if len(listed) != len(tensors):
        raise RuntimeError(
            f"got {len(tensors)} tensors and {len(listed)} gradients: there must be one for each"
        )
    pairs = zip(tensors, listed, strict=True)
    return tuple(_gradient_of(tensor, one, batched) for tensor, one in pairs)


def _gradient_of(tensor: Any, given: Any, batched: bool) -> Any:
    if _is_edge(tensor):
        if given is None:
            raise RuntimeError(
                "backward: where a graph is entered at an edge, a gradient is needed"
            )
        return given
    if given is None:
        if not tensor.requires_grad:
            return None
        if tensor.numel() != 1:
            raise RuntimeError(
                "backward: a tensor of several elements needs a gradient; scalars have one of 1"
            )
        if not tensor.is_floating_point():
            raise RuntimeError(
                f"backward: only real scalars have a gradient of 1, not those of {tensor.dtype}"
            )
        return ops.aten.ones_like(tensor)
    shape = given.shape[1:] if batched else given.shape
    if tuple(shape) != tuple(tensor.shape):
        raise RuntimeError(
            f"backward: a gradient of shape {list(given.shape)} does not fit a tensor of shape "
            f"{list(tensor.shape)}"
        )
    if given.is_complex() != tensor.is_complex():
        raise RuntimeError(
            f"backward: a gradient of {given.dtype} does not fit a tensor of {tensor.dtype}: both "
            f"must be complex, or neither"
        )
    return given


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds to the `grad` of every leaf that `tensors` depend on, or of `inputs` alone.

    `grad_tensors` are the gradients of `tensors`, ones where these are numbers. Graphs are let
    go of as they are walked, unless `retain_graph`; with `create_graph` the walk is recorded.

    Raises:
        RuntimeError: a tensor has no graph, a gradient does not fit, or the graph is gone.

    Example:

        >>> x = aten.tensor([1.0, 2.0], requires_grad=True)
        >>> aten.autograd.backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.])
    """
    listed = _listed(tensors)
    if inputs is not None and len(_listed(inputs)) == 0:
        raise RuntimeError("backward: inputs must not be empty")
    given = _gradients_of(listed, grad_tensors, False)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        engine.run_backward(listed, given, keep, create_graph)
        return
    chosen = _listed(inputs)
    found = engine.run_backward(listed, given, keep, create_graph, [_edge(one) for one in chosen])
    for one, gradient in zip(chosen, found, strict=True):
        if gradient is not None:
            _accumulate(one, gradient, create_graph)


def _accumulate(tensor: Tensor, gradient: Tensor, create_graph: bool) -> None:
    earlier = node.gradient_of(tensor)
    if earlier is None:
        node.set_gradient(tensor, gradient if create_graph else gradient.clone())
    elif create_graph:
        node.set_gradient(tensor, earlier + gradient)
    else:
        earlier.add_(gradient)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `inputs`, which need not be leaves; nothing is added to any `grad`.

    An input that `outputs` do not depend on has None with `allow_unused`, zeros with
    `materialize_grads`, and is an error otherwise. With `is_grads_batched` the gradients have a
    leading dimension, and so have the results.

    Raises:
        RuntimeError: as `backward`; an input requires no gradient, or is not used.

    Example:

        >>> x = aten.tensor([1.0, 2.0], requires_grad=True)
        >>> aten.autograd.grad((x * x).sum(), x)
        (tensor([2., 4.]),)
    """
    listed, chosen = _listed(outputs), _listed(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "grad: materialize_grads=True is for unused inputs; allow_unused=False forbids them"
        )
    unused = materialize_grads if allow_unused is None else allow_unused
    for one in chosen:
        if isinstance(one, Tensor) and not one.requires_grad:
            raise RuntimeError("grad: an input does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    given = _gradients_of(listed, grad_outputs, is_grads_batched)
    if is_grads_batched:
        return _for_rows(listed, chosen, given, keep, create_graph, unused)
    found = engine.run_backward(listed, given, keep, create_graph, [_edge(one) for one in chosen])
    if not unused and any(gradient is None for gradient in found):
        raise RuntimeError(
            "grad: the outputs do not depend on an input; allow_unused=True gives None for it"
        )
    if materialize_grads:
        found = [
            ops.aten.zeros_like(one) if gradient is None else gradient
            for one, gradient in zip(chosen, found, strict=True)
        ]
    return tuple(found)


def _for_rows(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    gradients: tuple[Any, ...],
    keep: bool,
    create_graph: bool,
    unused: bool,
) -> tuple[Any, ...]:
    """`grad` for all rows of the gradients, in one walk."""
    # Above this package: it is made of transformations.
    vmap = import_module("aten.transforms.batching.mapping").vmap
    given = [place for place, one in enumerate(gradients) if one is not None]
    reached: list[int] = []

    def walk(*rows: Tensor) -> tuple[Tensor, ...]:
        listed: list[Any] = [None] * len(gradients)
        for place, row in zip(given, rows, strict=True):
            listed[place] = row
        found = grad(outputs, inputs, listed, keep, create_graph, allow_unused=unused)
        reached.extend(place for place, one in enumerate(found) if one is not None)
        return tuple(found[place] for place in reached)

    found = iter(vmap(walk)(*(gradients[place] for place in given)))
    return tuple(next(found) if place in reached else None for place in range(len(inputs)))


# Imported when first asked for. Some of it stands above this package: it is made of
# transformations, or torch shows it here, too.
_LATER = {
    **{name: (f"aten.autograd.{name}", "") for name in ("functional", "graph")},
    **{name: ("aten.autograd.anomaly", name) for name in ("detect_anomaly", "set_detect_anomaly")},
    **{
        name: ("aten.autograd.function", name)
        for name in ("Function", "FunctionCtx", "once_differentiable")
    },
    **{
        name: ("aten.autograd.finite_differences", name)
        for name in ("GradcheckError", "gradcheck", "gradgradcheck")
    },
    "GradientEdge": ("aten.autograd.graph", "GradientEdge"),
    "forward_ad": ("aten.autograd.forward_ad", ""),
    "profiler": ("aten.profiler", ""),
    "grad_mode": ("aten.grad_mode", ""),
    **{
        name: ("aten.grad_mode", name)
        for name in ("enable_grad", "inference_mode", "no_grad", "set_grad_enabled")
    },
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'aten.autograd' has no attribute {name!r}")
    module, member = _LATER[name]
    found = import_module(module)
    return getattr(found, member) if member else found
