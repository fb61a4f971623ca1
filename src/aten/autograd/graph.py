"""The graph as users look at it: nodes, edges, and hooks for what is saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from aten._core.autograd import node
from aten._core.tensor.tensor import Tensor

Node = node.Node
saved_tensor = node.SavedTensor


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node, and which of its results the tensor is."""

    node: Any
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor. Raises RuntimeError for one that requires no gradient."""
    if not tensor.requires_grad:
        raise RuntimeError("get_gradient_edge: the tensor does not require grad")
    return GradientEdge(*node.gradient_node(tensor))


class saved_tensors_hooks:  # noqa: N801
    """Within, what operators save goes through `pack_hook`, and comes back from `unpack_hook`.

    `unpack_hook(pack_hook(tensor))` has to be a tensor with the same elements.

    Example:

        >>> from aten.autograd.graph import saved_tensors_hooks
        >>> x = aten.ones(2, requires_grad=True)
        >>> with saved_tensors_hooks(lambda kept: kept.detach().numpy(), aten.from_numpy):
        ...     y = (x.detach().requires_grad_() ** 2).sum()
        >>> y
        tensor(2., grad_fn=<SumBackward0>)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        node.push_saving_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc_info: Any) -> None:
        node.pop_saving_hooks()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """What operators save within lies in the host's memory until it is needed."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.detach().to("cpu", copy=True)

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            return packed[1].to(packed[0])

        super().__init__(pack, unpack)
