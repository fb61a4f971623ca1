"""A softmax over many classes, rare ones in clusters of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.construction import tensor
from aten.nn import functional
from aten.nn.modules.containers import ModuleList, Sequential
from aten.nn.modules.linear import Linear
from aten.nn.modules.module import Module
from aten.registry import ops

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _AdaptiveResult(NamedTuple):
    """The logarithm of each target's probability, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Rows (N, in_features) and classes (N): classes below `cutoffs[0]` in the head, others in
    clusters whose rows are narrower by `div_value` each (Grave et al. 2017).

    Raises ValueError for cutoffs that do not increase or are no classes.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        given = list(cutoffs)
        rising = given == sorted(set(given)) and all(isinstance(one, int) for one in given)
        if not given or not rising or given[0] <= 0 or given[-1] > n_classes - 1:
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs must be increasing ints from 1 to "
                f"{n_classes - 1}, got {given}"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*given, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = given[0], len(given)
        self.head_size = self.shortlist_size + self.n_clusters
        made = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **made)
        self.tail = ModuleList()
        for number in range(self.n_clusters):
            width = int(in_features // div_value ** (number + 1))
            count = self.cutoffs[number + 1] - self.cutoffs[number]
            narrow = Linear(in_features, width, False, **made)
            self.tail.append(Sequential(narrow, Linear(width, count, False, **made)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _AdaptiveResult:
        if target_.dim() > 1 or input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: expected rows (N, in_features) and classes (N), or "
                f"one of each, got {tuple(input_.shape)} and {tuple(target_.shape)}"
            )
        single = target_.dim() == 0
        rows, classes = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if rows.shape[0] != classes.shape[0]:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: {rows.shape[0]} rows for {classes.shape[0]} classes"
            )
        if bool(((classes < 0) | (classes >= self.n_classes)).any()):
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: classes must be from 0 to {self.n_classes - 1}"
            )
        # A class of a cluster counts in the head as its cluster.
        ends = tensor(self.cutoffs[:-1], device=classes.device)
        cluster = ops.aten.searchsorted(ends, classes, right=True)
        places = ops.aten.where(cluster > 0, self.shortlist_size + cluster - 1, classes)
        head = functional.log_softmax(self.head(rows), 1)
        found = head.gather(1, places.unsqueeze(1)).squeeze(1)
        for number, tail in enumerate(self.tail):
            chosen = (cluster == number + 1).nonzero().squeeze(1)
            if chosen.numel() == 0:
                continue
            within = functional.log_softmax(tail(rows.index_select(0, chosen)), 1)
            wanted = classes.index_select(0, chosen) - self.cutoffs[number]
            more = within.gather(1, wanted.unsqueeze(1)).squeeze(1)
            found = found.index_add(0, chosen, more)
        loss = (-found).mean()
        return _AdaptiveResult(found.squeeze(0) if single else found, loss)

    def log_prob(self, input: Tensor) -> Any:
        """The logarithms of all classes' probabilities, (N, n_classes)."""
        head = functional.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            place = self.shortlist_size + number
            parts.append(functional.log_softmax(tail(input), 1) + head[:, place : place + 1])
        return ops.aten.cat(parts, 1)

    def predict(self, input: Tensor) -> Any:
        """The most likely class of each row, (N)."""
        return self.log_prob(input).argmax(1)
