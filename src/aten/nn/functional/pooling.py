"""Poolings: the largest, average or power-average elements of windows, and back.

Where a function says `return_indices`, True makes it return the elements' places in their planes,
too; the functions named `…_with_indices` always do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Sizes = int | Sequence[int]
Ratios = float | Sequence[float]
_Results = Tensor | tuple[Tensor, Tensor]


def _repeated(given: Any, rank: int) -> list[Any]:
    return [given] * rank if isinstance(given, (int, float)) else list(given)


def _pooled_largest(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def max_pool_with_indices(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and where it is; steps are windows unless given.

        Example:

            >>> x = aten.arange({cells}.0).view({sizes})
            >>> [found.shape for found in aten.nn.functional.{name}(x, 2)]
            [aten.Size([{halves}]), aten.Size([{halves}])]
        """
        pool = getattr(ops.aten, f"max_pool{rank}d_with_indices")
        steps = () if stride is None else stride
        return pool(input, kernel_size, steps, padding, dilation, ceil_mode)  # type: ignore[no-any-return]

    def max_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> _Results:
        """The largest element of each window; steps are windows unless given.

        Example:

            >>> aten.nn.functional.{name}(aten.ones({sizes}), 2).shape
            aten.Size([{halves}])
        """
        if return_indices:
            return max_pool_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        pool = getattr(ops.aten, f"max_pool{rank}d")
        steps = () if stride is None else stride
        return pool(input, kernel_size, steps, padding, dilation, ceil_mode)  # type: ignore[no-any-return]

    return _named(max_pool, rank), _named(max_pool_with_indices, rank)


def _named(function: Callable[..., Any], rank: int) -> Callable[..., Any]:
    name = function.__name__.replace("pool", f"pool{rank}d")
    function.__name__ = function.__qualname__ = name
    # Its example is of that rank, too.
    function.__doc__ = (function.__doc__ or "").format(
        name=name,
        cells=4**rank,
        last=4**rank - 1,
        sizes=", ".join("1" + "4" * rank),
        halves=", ".join("1" + "2" * rank),
    )
    return function


def _adaptive_largest(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def adaptive_max_pool_with_indices(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The largest elements of windows that cover `input` evenly, and where they are.

        Example:

            >>> x = aten.arange({cells}.0).view({sizes})
            >>> [found.flatten() for found in aten.nn.functional.{name}(x, 1)]
            [tensor([{last}.]), tensor([{last}])]
        """
        pool = getattr(ops.aten, f"adaptive_max_pool{rank}d")
        return pool(input, _kept_sizes(input, output_size, rank))  # type: ignore[no-any-return]

    def adaptive_max_pool(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> _Results:
        """The largest elements of windows that cover `input` evenly; None keeps a size.

        Example:

            >>> aten.nn.functional.{name}(aten.arange({cells}.0).view({sizes}), 1).flatten()
            tensor([{last}.])
        """
        found = adaptive_max_pool_with_indices(input, output_size)
        return found if return_indices else found[0]

    return _named(adaptive_max_pool, rank), _named(adaptive_max_pool_with_indices, rank)


def _kept_sizes(input: Tensor, output_size: Any, rank: int) -> Any:
    """`output_size`, one number for each dimension or for all; None stands for the input's own."""
    if isinstance(output_size, int):
        return output_size
    if len(output_size) >= input.dim():
        raise ValueError(
            f"expected fewer than {input.dim()} output sizes for this input, but got "
            f"{len(output_size)}"
        )
    own = input.shape[-len(output_size) :] if len(output_size) else ()
    return [size if given is None else given for size, given in zip(own, output_size, strict=True)]


def _fractional_largest(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def fractional_max_pool_with_indices(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The largest elements of windows that start at random, and where they are.

        How many there are says `output_size`, or `output_ratio` as a share of the input's size.
        Raises ValueError where neither is given.

        Example:

            >>> x = aten.ones({sizes})
            >>> [found.shape for found in aten.nn.functional.{name}(x, 2, output_size=2)]
            [aten.Size([{halves}]), aten.Size([{halves}])]
        """
        name = f"fractional_max_pool{rank}d"
        if output_size is None:
            if output_ratio is None:
                raise ValueError(f"{name}: give one of output_size and output_ratio")
            sizes, ratios = input.shape[-rank:], _repeated(output_ratio, rank)
            output_size = [int(size * ratio) for size, ratio in zip(sizes, ratios, strict=True)]
        if _random_samples is None:
            batch = 1 if input.dim() == rank + 1 else input.shape[0]
            _random_samples = ops.aten.rand(
                [batch, input.shape[-rank - 1], rank], dtype=input.dtype, device=input.device
            )
        pool = getattr(ops.aten, name)
        return pool(input, kernel_size, output_size, _random_samples)  # type: ignore[no-any-return]

    def fractional_max_pool(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> _Results:
        """The largest elements of windows that start at random.

        Example:

            >>> aten.nn.functional.{name}(aten.ones({sizes}), 2, output_size=2).shape
            aten.Size([{halves}])
        """
        found = fractional_max_pool_with_indices(
            input, kernel_size, output_size, output_ratio, _random_samples=_random_samples
        )
        return found if return_indices else found[0]

    return _named(fractional_max_pool, rank), _named(fractional_max_pool_with_indices, rank)


# The functions that are the same for every rank.
_MADE = {
    function.__name__: function
    for ranks, make in (
        ((1, 2, 3), _pooled_largest),
        ((1, 2, 3), _adaptive_largest),
        ((2, 3), _fractional_largest),
    )
    for rank in ranks
    for function in make(rank)
}
globals().update(_MADE)
__all__ += list(_MADE)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Averages of windows that cover (N, C, H, W) or (C, H, W) evenly; None keeps a size.

    Example:

        >>> aten.nn.functional.adaptive_avg_pool2d(aten.arange(16.0).view(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
    sizes = _kept_sizes(input, output_size, 2)
    return ops.aten.adaptive_avg_pool2d(input, sizes)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Averages of windows that cover (N, C, D, H, W) or (C, D, H, W) evenly; None keeps a size.

    Example:

        >>> aten.nn.functional.adaptive_avg_pool3d(aten.arange(8.0).view(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])
    """
    sizes = _kept_sizes(input, output_size, 3)
    return ops.aten.adaptive_avg_pool3d(input, sizes)


def _power_averages(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None,
    ceil_mode: bool,
    rank: int,
) -> Tensor:
    """The root of each window's sum of powers."""
    if input.dim() not in (rank + 1, rank + 2):
        raise ValueError(
            f"lp_pool{rank}d: expected {rank + 1}D or {rank + 2}D input, got {list(input.shape)}"
        )
    count = 1
    for size in _repeated(kernel_size, rank):
        count *= size
    pool = getattr(ops.aten, f"avg_pool{rank}d")
    powers = pool(input.pow(norm_type), kernel_size, stride or (), 0, ceil_mode)
    # Rounding may leave an average below zero, of which there is no root.
    positive = powers.sign() * ops.aten.relu(powers.abs())
    return (positive * count).pow(1.0 / norm_type)  # type: ignore[no-any-return]


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The `norm_type` norm of each window of (N, C, L) or (C, L).

    Example:

        >>> aten.nn.functional.lp_pool1d(aten.tensor([[3.0, 4.0]]), 2.0, 2)
        tensor([[5.]])
    """
    return _power_averages(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The `norm_type` norm of each window of (N, C, H, W) or (C, H, W).

    Example:

        >>> aten.nn.functional.lp_pool2d(aten.tensor([[[3.0, 4.0]]]), 2.0, (1, 2))
        tensor([[[5.]]])
    """
    return _power_averages(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The `norm_type` norm of each window of (N, C, D, H, W) or (C, D, H, W).

    Example:

        >>> aten.nn.functional.lp_pool3d(aten.tensor([[[[3.0, 4.0]]]]), 2.0, (1, 1, 2))
        tensor([[[[5.]]]])
    """
    return _power_averages(input, norm_type, kernel_size, stride, ceil_mode, 3)


def _unpooled_sizes(
    input: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_size: Sequence[int] | None,
) -> list[int]:
    """The sizes before pooling: those given, if they can be, or the ones that fit exactly."""
    rank = len(kernel)
    sizes = input.shape[-rank:]
    exact = [
        (size - 1) * step - 2 * pad + window
        for size, step, pad, window in zip(sizes, stride, padding, kernel, strict=True)
    ]
    if output_size is None:
        return exact
    given = list(output_size)
    if len(given) == rank + 2:
        given = given[2:]
    if len(given) != rank:
        raise ValueError(
            f"output_size should be a sequence of {rank} or {rank + 2} sizes, but got {len(given)}"
        )
    for wanted, least, step in zip(given, exact, stride, strict=True):
        if not least - step < wanted < least + step:
            raise ValueError(
                f"invalid output_size {given}: sizes must be less than the stride away from {exact}"
            )
    return given


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros, and the elements of `input` at the places where `max_pool1d` found them.

    Example:

        >>> aten.nn.functional.max_unpool1d(aten.tensor([[3.0]]), aten.tensor([[1]]), 2)
        tensor([[0., 3.]])
    """
    sizes, _, _ = _unpool_arguments(input, kernel_size, stride, padding, output_size, 1)
    plane = ops.aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1])
    return plane.squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros, and the elements of `input` at the places where `max_pool2d` found them.

    Example:

        >>> aten.nn.functional.max_unpool2d(aten.tensor([[[4.0]]]), aten.tensor([[[3]]]), 2)
        tensor([[[0., 0.],
                 [0., 4.]]])
    """
    sizes, _, _ = _unpool_arguments(input, kernel_size, stride, padding, output_size, 2)
    return ops.aten.max_unpool2d(input, indices, sizes)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros, and the elements of `input` at the places where `max_pool3d` found them.

    Example:

        >>> x = aten.tensor([[[[8.0]]]])
        >>> aten.nn.functional.max_unpool3d(x, aten.tensor([[[[7]]]]), 2).flatten()
        tensor([0., 0., 0., 0., 0., 0., 0., 8.])
    """
    arguments = _unpool_arguments(input, kernel_size, stride, padding, output_size, 3)
    return ops.aten.max_unpool3d(input, indices, *arguments)


def _unpool_arguments(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[int] | None,
    rank: int,
) -> tuple[list[int], list[int], list[int]]:
    kernel = _repeated(kernel_size, rank)
    steps = _repeated(kernel_size if stride is None else stride, rank)
    pads = _repeated(padding, rank)
    return _unpooled_sizes(input, kernel, steps, pads, output_size), steps, pads
