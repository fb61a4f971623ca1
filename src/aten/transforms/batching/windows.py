"""Convolutions, pooling and resampling: rows of a batch become images of one, or channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops
from aten.transforms.batching.call import Call, called, one_by_one, writes


def convolution(call: Call) -> Any:
    """One convolution: rows of images alone are more images, rows of weights are groups."""
    given = call.given
    image, weight, bias = given["input"], given["weight"], given["bias"]
    if image.dim() != weight.dim():
        return one_by_one(call)
    if bias is not None and call.has_any((weight, bias)):
        made = called(call.op, {**given, "bias": None})
        return ops.aten.add(made, ops.aten.view(bias, [-1, *([1] * (weight.dim() - 2))]))
    if not call.has(weight):
        return fold(call, image.dim())
    return _grouped(call, image, weight)


def _grouped(call: Call, image: Tensor, weight: Tensor) -> Any:
    count = call.size
    images = ops.aten.transpose(call.front(image), 0, 1)
    images = ops.aten.reshape(images, [image.shape[0], count * image.shape[1], *image.shape[2:]])
    weights = ops.aten.flatten(call.inner(weight), 0, 1)
    groups = call.given["groups"] * count
    made = called(call.op, {**call.given, "input": images, "weight": weights, "groups": groups})
    split = ops.aten.view(made, [made.shape[0], count, made.shape[1] // count, *made.shape[2:]])
    return call.rows(ops.aten.transpose(split, 0, 1))


def fold(call: Call, full: int, names: tuple[str, ...] = ("input", "self")) -> Any:
    """Rows' images as one batch of images; `full` dimensions have those that are in one."""
    images = [name for name in names if name in call.given]
    changed: dict[str, Any] = {}
    count = 0
    for name in images:
        given = call.given[name]
        if given.dim() not in (full, full - 1) or writes(call.op):
            return one_by_one(call)
        value = call.front(given)
        folded = given.dim() == full
        count = given.shape[0] if folded else 1
        changed[name] = ops.aten.flatten(value, 0, 1) if folded else value
    others = [name for name in call.given if name not in changed]
    if any(call.has_any(call.given[name]) for name in others) or not images:
        return one_by_one(call)
    folded = call.given[images[0]].dim() == full
    results = called(call.op, {**call.given, **changed})
    if not folded:
        return call.rows(results)

    def unfolded(one: Any) -> Any:
        return ops.aten.view(one, [call.size, count, *one.shape[1:]])

    if isinstance(results, Tensor):
        return call.rows(unfolded(results))
    return call.rows(tuple(unfolded(one) for one in results))


def _pooled(dims: int) -> Callable[[Call], Any]:
    return lambda call: fold(call, dims + 2)


def _resampled(dims: int, *names: str) -> Callable[[Call], Any]:
    """As `_pooled`, of operators that take no image without its batch."""

    def rule(call: Call) -> Any:
        chosen = names or ("input", "self")
        if any(call.given[name].dim() != dims + 2 for name in chosen if name in call.given):
            return one_by_one(call)
        return fold(call, dims + 2, chosen)

    return rule


_POOLED = {
    "max_pool2d_with_indices": 2,
    "max_pool3d_with_indices": 3,
    "adaptive_max_pool2d": 2,
    "adaptive_max_pool3d": 3,
    "avg_pool2d": 2,
    "avg_pool3d": 3,
    "_adaptive_avg_pool2d": 2,
    "_adaptive_avg_pool3d": 3,
    "reflection_pad1d": 1,
    "reflection_pad2d": 2,
    "reflection_pad3d": 3,
    "replication_pad1d": 1,
    "replication_pad2d": 2,
    "replication_pad3d": 3,
    "im2col": 2,
}
_RESAMPLED = {
    "upsample_nearest1d": 1,
    "upsample_nearest2d": 2,
    "upsample_nearest3d": 3,
    "upsample_linear1d": 1,
    "upsample_bilinear2d": 2,
    "upsample_bicubic2d": 2,
    "upsample_trilinear3d": 3,
}
WINDOWS: dict[str, Callable[[Call], Any]] = {
    "convolution": convolution,
    "_convolution": convolution,
    **{name: _pooled(dims) for name, dims in _POOLED.items()},
    **{name: _resampled(dims) for name, dims in _RESAMPLED.items()},
    "grid_sampler_2d": _resampled(2, "input", "grid"),
    "grid_sampler_3d": _resampled(3, "input", "grid"),
}
