"""Rows of tables by index: embeddings, bags of them, and one-hot vectors."""

from __future__ import annotations

from aten._core.dispatch.functions import forwards
from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.registry import ops

__all__ = ["embedding", "embedding_bag", "one_hot"]

_MODES = {"sum": 0, "mean": 1, "max": 2}


@forwards("one_hot(tensor, num_classes)")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a one at the place that each element names.

    Example:

        >>> aten.nn.functional.one_hot(aten.tensor([0, 2]), num_classes=3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    return ops.aten.one_hot(tensor, num_classes)


def _renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows in question down, which gradients know nothing of."""
    with no_grad():
        ops.aten.embedding_renorm_(weight, indices, max_norm, norm_type)


@forwards("embedding(weight, input, -1, scale_grad_by_freq, sparse)")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` at `input`; with `max_norm`, longer ones are scaled down in place.

    Raises AssertionError for a `padding_idx` that is no row.

    Example:

        >>> aten.nn.functional.embedding(aten.tensor([1, 0]), aten.tensor([[0.0, 1.0], [2.0, 3.0]]))
        tensor([[2., 3.],
                [0., 1.]])
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not (-rows <= padding_idx < rows or padding_idx == 0):
            raise AssertionError(f"embedding: padding_idx {padding_idx} is not one of {rows} rows")
        padding_idx += rows if padding_idx < 0 else 0
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return ops.aten.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows: the rows of a matrix `input`, or runs of a vector.

    Raises ValueError for arguments that do not belong together, NotImplementedError for weights of
    samples in other modes than "sum".

    Example:

        >>> aten.nn.functional.embedding_bag(
        ...     aten.tensor([0, 2, 1]), aten.eye(3), aten.tensor([0, 2]), mode="sum"
        ... )
        tensor([[1., 0., 1.],
                [0., 1., 0.]])
    """
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: expected per_sample_weights of shape {list(input.shape)}, as input, "
            f"got {list(per_sample_weights.shape)}"
        )
    if weight.dim() != 2:
        raise ValueError(f"embedding_bag: weight must be 2-d, got {weight.dim()}-d")
    if mode not in _MODES:
        raise ValueError(f"embedding_bag: mode is one of {', '.join(_MODES)}, got {mode!r}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError("embedding_bag: maxima take neither scale_grad_by_freq nor sparse")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: a matrix of indices takes no offsets")
        offsets = ops.aten.arange(
            0, input.numel(), input.size(1), dtype=input.dtype, device=input.device
        )
        include_last_offset = False
        input = input.reshape((-1,))
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape((-1,))
    elif input.dim() != 1:
        raise ValueError(f"embedding_bag: input must be 1-d or 2-d, got {input.dim()}-d")
    elif offsets is None or offsets.dim() != 1:
        raise ValueError("embedding_bag: a vector of indices needs a vector of offsets")
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights are for mode 'sum' only, not {mode!r}"
        )
    return ops.aten.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]
