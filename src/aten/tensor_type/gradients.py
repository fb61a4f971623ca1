"""What tensors have for their gradients: the gradient itself, hooks, and `backward`."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from aten import registry
from aten._core.autograd import engine, node
from aten._core.base.dtypes import dtype
from aten._core.tensor.making import row_of
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import TensorImpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ones_like = registry.ops.aten.ones_like
_takes_gradients = vars(TensorImpl)["requires_grad"].__get__


def _grad(self: Tensor) -> Tensor | None:
    """The gradient that `backward` has left here, or None.

    Of a tensor that is no leaf there is none, unless `retain_grad` was called.

    Example:

        >>> x = aten.ones(2, requires_grad=True)
        >>> (x * 3).sum().backward()
        >>> x.grad
        tensor([3., 3.])
    """
    found: Tensor | None = node.gradient_of(self)
    if found is None and not self.is_leaf and not self.retains_grad:
        warnings.warn(
            "grad: the tensor is no leaf, so backward() leaves nothing here; retain_grad() does",
            stacklevel=2,
        )
    return found


def _set_grad(self: Tensor, value: Any) -> None:
    if value is None:
        node.set_gradient(self, None)
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"grad: expected a tensor or None, not {type(value).__name__}")
    if value is self:
        raise RuntimeError("grad: a tensor cannot be its own gradient")
    if tuple(value.shape) != tuple(self.shape):
        raise RuntimeError(
            f"grad: a gradient of other sizes: {list(value.shape)} for {list(self.shape)}"
        )
    if value.dtype is not self.dtype:
        raise RuntimeError(f"grad: a gradient of another dtype: {value.dtype} for {self.dtype}")
    if value.device != self.device:
        raise RuntimeError(f"grad: a gradient on another device: {value.device} for {self.device}")
    node.set_gradient(self, value)


def _requires_grad(self: Tensor) -> bool:
    """Whether gradients flow to the tensor.

    Example:

        >>> aten.ones(2).requires_grad
        False
    """
    return bool(_takes_gradients(self))


def _set_requires_grad(self: Tensor, value: Any) -> None:
    requires_grad_(self, bool(value))


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Says whether gradients flow to the tensor, a leaf; gives it back.

    Raises RuntimeError where elements are no floating point or complex numbers, for rows under
    vmap, and for False where the tensor is no leaf.

    Example:

        >>> aten.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
    """
    if not self.is_leaf:
        if requires_grad:
            return self
        raise RuntimeError(
            "requires_grad_: the tensor is no leaf; detach() gives one that requires no gradient"
        )
    if requires_grad and not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(f"requires_grad_: only inexact numbers have gradients, not {self.dtype}")
    if requires_grad and row_of(self) is not None:
        raise RuntimeError(
            "requires_grad_: a row of a batch under vmap has no place of its own in the graph; "
            "aten.func.grad differentiates by rows"
        )
    node.set_requires_grad(self, bool(requires_grad))
    return self


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds to the `grad` of every leaf that the tensor depends on; see `aten.autograd.backward`.

    Example:

        >>> x = aten.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    if gradient is None and inputs is None and self.numel() == 1 and self.is_floating_point():
        keep = create_graph if retain_graph is None else retain_graph
        engine.run_backward((self,), (_ones_like(self),), keep, create_graph)
        return
    from aten import autograd

    autograd.backward(self, gradient, retain_graph, create_graph, inputs)


def detach_(self: Tensor) -> Tensor:
    """Takes the tensor out of the graph: it is a leaf to which no gradients flow.

    Raises RuntimeError for views: their base would still be in the graph.

    Example:

        >>> (aten.ones(2, requires_grad=True) * 2).detach_()
        tensor([2., 2.])
    """
    if self._is_view() and self.requires_grad:
        raise RuntimeError(
            "detach_: a view stays in its base's graph; detach() gives a tensor in none"
        )
    node.forget_history(self)
    return self


def register_hook(self: Tensor, hook: Callable[..., Any]) -> Any:
    """`hook(gradient)` runs when the tensor's gradient is known; what it gives is taken on instead.

    Returns a handle with `remove()`. Raises RuntimeError for tensors that require no gradient.

    Example:

        >>> x = aten.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda gradient: gradient * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
    """
    if not self.requires_grad:
        raise RuntimeError("register_hook: the tensor does not require grad")
    return node.add_tensor_hook(self, hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[..., Any]) -> Any:
    """`hook(tensor)` runs after `backward` has added to a leaf's `grad`.

    Returns a handle with `remove()`. Raises RuntimeError for tensors that are no leaves.

    Example:

        >>> x = aten.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> x.sum().backward()
        tensor([1., 1.])
    """
    if not self.requires_grad:
        raise RuntimeError("register_post_accumulate_grad_hook: the tensor does not require grad")
    if not self.is_leaf:
        raise RuntimeError("register_post_accumulate_grad_hook: the tensor is no leaf")
    return node.add_post_hook(self, hook)


def retain_grad(self: Tensor) -> None:
    """Has `backward` keep the gradient of a tensor that is no leaf, too.

    Raises RuntimeError for tensors that require no gradient.

    Example:

        >>> x = aten.ones(2, requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> y.sum().backward()
        >>> y.grad
        tensor([1., 1.])
    """
    if not self.requires_grad:
        raise RuntimeError("retain_grad: the tensor does not require grad")
    node.retain_gradient(self)


def _grad_dtype(self: Tensor) -> dtype:
    """The dtype that a gradient would have.

    Example:

        >>> aten.ones(2).grad_dtype
        aten.float32
    """
    return self.dtype


GRADIENTS: dict[str, Any] = {
    "grad": property(_grad, _set_grad, doc=_grad.__doc__),
    "grad_dtype": property(_grad_dtype),
    "requires_grad": property(_requires_grad, _set_requires_grad, doc=_requires_grad.__doc__),
    **{
        function.__name__: function
        for function in (
            backward,
            detach_,
            register_hook,
            register_post_accumulate_grad_hook,
            requires_grad_,
            retain_grad,
        )
    },
}
