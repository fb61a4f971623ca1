"""A classifier's last layer and its loss in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.nn import functional
from aten.nn.modules.linear import Linear
from aten.nn.modules.module import Module

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")
_ACCUMULATORS = ("float16", "bfloat16", "float32", "float64")


@dataclass
class LinearCrossEntropyOptions:
    """Hints how the scores may be made piece by piece, which are not needed here.

    Raises ValueError for sizes, methods, policies and dtypes that there are not.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"acc_policy must be one of {_POLICIES}, not {self.acc_policy!r}")
        if not _is_method(self.chunking_method):
            raise ValueError(
                f"chunking_method must be None, 'auto', or 'aspect_ratio' with a factor behind a "
                f"colon, not {self.chunking_method!r}"
            )
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be a positive int or None, not {size!r}")
        known = [DTYPES[name] for name in _ACCUMULATORS]
        if self.acc_dtype is not None and self.acc_dtype not in known:
            raise ValueError(f"acc_dtype must be None or one of {known}, not {self.acc_dtype}")


def _is_method(given: str | None) -> bool:
    if given is None or given == "auto":
        return True
    name, colon, factor = given.partition(":")
    return name == "aspect_ratio" and (not colon or (factor.isdigit() and int(factor) > 0))


class LinearCrossEntropyLoss(Module):
    """`nn.functional.linear_cross_entropy` with a linear layer of its own.

    Input (N, in_features) or (in_features); target (N, *out_features), of classes. Its weight is
    (num_classes · out_features, in_features).
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.in_features, self.num_classes = in_features, num_classes
        self.out_features = tuple(out_features)
        self.reduction, self.ignore_index = reduction, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        rows = num_classes
        for size in self.out_features:
            rows *= size
        self.linear = Linear(in_features, rows, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Any:
        sizes = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            self.linear.weight.view(*sizes, self.in_features),
            target,
            linear_bias=None if bias is None else bias.view(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
