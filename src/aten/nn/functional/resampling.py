"""Images resized, and read at given points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = [
    "affine_grid",
    "grid_sample",
    "interpolate",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


# The operator for each mode and number of spatial dimensions.
_RESIZERS = {
    ("nearest", 1): "upsample_nearest1d",
    ("nearest", 2): "upsample_nearest2d",
    ("nearest", 3): "upsample_nearest3d",
    ("nearest-exact", 1): "_upsample_nearest_exact1d",
    ("nearest-exact", 2): "_upsample_nearest_exact2d",
    ("nearest-exact", 3): "_upsample_nearest_exact3d",
    ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d",
    ("trilinear", 3): "upsample_trilinear3d",
    ("bicubic", 2): "upsample_bicubic2d",
    ("area", 1): "adaptive_avg_pool1d",
    ("area", 2): "adaptive_avg_pool2d",
    ("area", 3): "adaptive_avg_pool3d",
}
_MODES = frozenset(mode for mode, _ in _RESIZERS)
_WITHOUT_CORNERS = ("nearest", "nearest-exact", "area")
_ANTIALIASED = {"bilinear": "_upsample_bilinear2d_aa", "bicubic": "_upsample_bicubic2d_aa"}
_SAMPLING_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(N, C, *) resized to `size`, or by `scale_factor`; exactly one of the two is to be given.

    With `recompute_scale_factor`, a factor decides on the size alone; else on the places of
    elements, too. Raises ValueError for options that do not go together, and NotImplementedError
    for modes that there are not for so many dimensions.

    Example:

        >>> aten.nn.functional.interpolate(aten.tensor([[[1.0, 2.0]]]), scale_factor=2.0)
        tensor([[[1., 1., 2., 2.]]])
    """
    _check_options(mode, align_corners, antialias, input)
    rank = input.dim() - 2
    sizes, factors = _sizes_and_factors(input, size, scale_factor, rank)
    if recompute_scale_factor and size is not None:
        raise ValueError("interpolate: recompute_scale_factor has no meaning with size")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        sizes = [
            int(own * float(factor)) for own, factor in zip(input.shape[2:], factors, strict=True)
        ]
        factors = None
    name = _RESIZERS.get((mode, rank))
    if name is None:
        if mode not in _MODES or not 1 <= rank <= 3:
            raise NotImplementedError(
                f"interpolate: there are no modes {mode!r} for {input.dim()}D input; 3D, 4D and 5D "
                f"input are taken with the modes {', '.join(sorted(_MODES))}"
            )
        raise NotImplementedError(f"interpolate: mode {mode!r} does not take {input.dim()}D input")
    if mode == "area":
        return getattr(ops.aten, name)(input, sizes)  # type: ignore[no-any-return]
    resize = getattr(ops.aten, _ANTIALIASED[mode] if antialias else name).vec
    corners = () if mode in _WITHOUT_CORNERS else (bool(align_corners),)
    return resize(input, sizes, *corners, factors)  # type: ignore[no-any-return]


def _check_options(mode: str, align_corners: bool | None, antialias: bool, input: Tensor) -> None:
    if mode in _WITHOUT_CORNERS and align_corners is not None:
        raise ValueError(f"interpolate: mode {mode!r} takes no align_corners")
    if antialias and not (mode in _ANTIALIASED and input.dim() == 4):
        raise ValueError(
            "interpolate: antialias is for 4D input and the modes bilinear and bicubic, got "
            f"{input.dim()}D input and {mode!r}"
        )


def _sizes_and_factors(
    input: Tensor, size: Any, scale_factor: Any, rank: int
) -> tuple[list[int] | None, list[float] | None]:
    """One number for each spatial dimension, for one of the two. Raises ValueError for others."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give one of size and scale_factor")
    given = scale_factor if size is None else size
    numbers = list(given) if isinstance(given, (list, tuple)) else [given] * rank
    if len(numbers) != rank:
        raise ValueError(
            f"interpolate: input of shape {list(input.shape)} takes {rank} numbers for its spatial "
            f"dimensions, but got {list(numbers)}"
        )
    if size is None:
        return None, [float(factor) for factor in numbers]
    if not all(isinstance(one, int) for one in numbers):
        raise TypeError(f"interpolate: sizes must be integers, got {numbers}")
    return numbers, None


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by its former name.

    Example:

        >>> aten.nn.functional.upsample(aten.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest", by its former name.

    Example:

        >>> aten.nn.functional.upsample_nearest(aten.tensor([[[[1.0, 2.0]]]]), scale_factor=2)
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners, by its former name.

    Example:

        >>> aten.nn.functional.upsample_bilinear(
        ...     aten.tensor([[[[1.0, 2.0]]]]), scale_factor=2
        ... ).shape
        aten.Size([1, 1, 2, 4])
    """
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values of `input` (N, C, *) at the points of `grid` (N, *, rank), from -1 to 1.

    Raises ValueError for modes that there are not.

    Example:

        >>> aten.nn.functional.grid_sample(
        ...     aten.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), aten.zeros(1, 1, 1, 2),
        ...     align_corners=False
        ... )
        tensor([[[[2.5000]]]])
    """
    if mode not in _SAMPLING_MODES:
        raise ValueError(f"grid_sample: mode is one of {list(_SAMPLING_MODES)}, but got {mode!r}")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"grid_sample: padding_mode is one of {list(_PADDING_MODES)}, but got {padding_mode!r}"
        )
    corners = _with_corners("grid_sample", align_corners)
    return ops.aten.grid_sampler(
        input, grid, _SAMPLING_MODES[mode], _PADDING_MODES[padding_mode], corners
    )


def _with_corners(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            f"{name}: align_corners is False where it is not given; it once was True",
            stacklevel=3,
        )
    return bool(align_corners)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points that the maps `theta` (N, rank, rank + 1) send those of an image of `size` to.

    Raises ValueError for other shapes, sizes and dtypes, NotImplementedError for other ranks.

    Example:

        >>> aten.nn.functional.affine_grid(
        ...     aten.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), True
        ... )
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: theta must be of floating dtype, but got {theta.dtype}")
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(f"affine_grid: expected 4 or 5 sizes, got {list(size)}")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (rank, rank + 1):
        raise ValueError(
            f"affine_grid: expected theta of shape (N, {rank}, {rank + 1}) for {list(size)}, but "
            f"got {list(theta.shape)}"
        )
    corners = _with_corners("affine_grid", align_corners)
    if min(size) <= 0:
        raise ValueError(f"affine_grid: expected sizes above zero, got {list(size)}")
    return ops.aten.affine_grid_generator(theta, size, corners)
