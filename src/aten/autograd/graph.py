"""The graph as users look at it: nodes, edges, and hooks for what is saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from aten._core.autograd import engine, node, saving
from aten._core.tensor.memory import mark_written
from aten._core.tensor.tensor import Tensor

Node = node.Node
saved_tensor = saving.SavedTensor


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
        saving.push_saving_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc_info: Any) -> None:
        saving.pop_saving_hooks()


class disable_saved_tensors_hooks:  # noqa: N801
    """Within, `saved_tensors_hooks` raises RuntimeError with a message; also a decorator.

    Example:

        >>> with aten.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     (aten.ones(2, requires_grad=True) ** 2).requires_grad
        True
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        self._before = saving.refuse_saving_hooks(self.error_message)

    def __exit__(self, *exc_info: Any) -> None:
        saving.refuse_saving_hooks(self._before)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):  # noqa: N801
    """Within, what operators save may be written to: they keep a copy of what it was.

    The copy shares the memory until somebody writes to it.

    Example:

        >>> x = aten.ones(2, requires_grad=True)
        >>> with aten.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x * 3
        ...     z = (y * y).sum()
        ...     y.zero_()
        ...     z.backward()
        tensor([0., 0.], grad_fn=<ZeroBackward0>)
        >>> x.grad
        tensor([18., 18.])
    """

    def __init__(self) -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda kept: kept)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Notes a write to tensors that nobody else notes; what was saved of them is stale then.

    Example:

        >>> x = aten.ones(2)
        >>> aten.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        mark_written(one)


class _MultiHook:
    """Hooks on several tensors that call a function once in each walk back."""

    def __init__(self, tensors: Sequence[Tensor], function: Callable[..., Any], mode: str) -> None:
        # A single tensor is reached where its hook runs, and is not kept alive by it.
        self._tensors = tuple(tensors) if len(tensors) > 1 else ()
        self._count = len(tensors)
        self._function = function
        self._lock = threading.Lock()
        self._walks: dict[Any, list[Any]] = {}  # what came in walks that are not complete
        self._done: Any = None
        make = self._all if mode == "all" else self._first
        self._handles = [tensor.register_hook(make(place)) for place, tensor in enumerate(tensors)]
        engine.watch_walks(1)

    def _all(self, place: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            walk = engine.current_walk()
            with self._lock:
                if walk not in self._walks:
                    reached = sum(engine.will_reach(one) for one in self._tensors)
                    if self._count == 1:
                        reached = 1
                    self._walks[walk] = [reached, [None] * self._count]
                state = self._walks[walk]
                state[0] -= 1
                state[1][place] = gradient
                complete = state[0] == 0
                if complete:
                    del self._walks[walk]
            if complete:
                self._function(state[1])

        return hook

    def _first(self, place: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            walk = engine.current_walk()
            with self._lock:
                known, self._done = self._done is walk, walk
            if not known:
                self._function(gradient)

        return hook

    def remove(self) -> None:
        """Takes the hooks back; once more is no error."""
        if self._handles:
            engine.watch_walks(-1)
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._walks.clear()

    def __del__(self) -> None:
        """Once all the tensors are gone, or their hooks."""
        if getattr(self, "_handles", None):
            engine.watch_walks(-1)

    def __enter__(self) -> _MultiHook:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> _MultiHook:
    """`fn` is called once in each walk back: when the gradients of all `tensors` are there.

    It gets a list of them, with None for tensors that the walk does not come to; with mode "any"
    the first gradient alone, as soon as it is there. Returns a handle with `remove()`.

    Raises ValueError for another mode.

    Example:

        >>> x, y = aten.ones(2, requires_grad=True), aten.ones(2, requires_grad=True)
        >>> seen = []
        >>> handle = aten.autograd.graph.register_multi_grad_hook((x, y), seen.append)
        >>> (x * y * 2).sum().backward()
        >>> seen
        [[tensor([2., 2.]), tensor([2., 2.])]]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode must be 'all' or 'any', not {mode!r}")
    return _MultiHook(tensors, fn, mode)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """What operators save within lies in the host's memory until it is needed."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.detach().to("cpu", copy=True)

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            return packed[1].to(packed[0])

        super().__init__(pack, unpack)
