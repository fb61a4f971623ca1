"""Layers, activations and losses as functions, with the signatures users of torch know.

A function here checks and completes its arguments and calls operators; it computes nothing. Where
an operator of the same name takes the very same arguments, it is the function itself.
"""

from __future__ import annotations

from aten._core.dispatcher import OpOverloadPacket
from aten.nn.functional.folding import (
    fold,
    unfold,
)
from aten.nn.functional.pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from aten.nn.functional.resampling import (
    affine_grid,
    grid_sample,
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from aten.registry import find_packet

# Operators that are functions of this namespace as they are.
_OPERATORS = frozenset(
    {
        "adaptive_avg_pool1d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "channel_shuffle",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "gelu",
        "hardshrink",
        "linear",
        "native_channel_shuffle",
        "pad",
        "pixel_shuffle",
        "pixel_unshuffle",
        "scaled_dot_product_attention",
        "softplus",
        "softshrink",
    }
)

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "grid_sample",
    "interpolate",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


def __getattr__(name: str) -> OpOverloadPacket:
    found = find_packet("aten", name) if name in _OPERATORS else None
    if found is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_OPERATORS})
