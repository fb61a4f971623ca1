"""Pooling: maxima and averages over windows; the loops are in _core/pooling.pyx."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from aten._core.dtypes import DTYPES
from aten._core.pooling import average_pool, max_pool
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops

_INT64 = DTYPES["int64"]
_FLOAT32 = DTYPES["float32"]
_Windows = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@lru_cache(maxsize=1024)
def _windows(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> _Windows:
    """Where each window begins and ends in a dimension of `size`, and its extent with padding.

    A window begins at its first element outside of the padding; it ends behind its last.
    """
    begins, ends, extents = [], [], []
    for place in range(_window_count(size, kernel, stride, padding, dilation, ceil_mode)):
        start = place * stride - padding
        stop = start + (kernel - 1) * dilation + 1
        extents.append(min(stop, size + padding) - start)
        begins.append(
            start if start >= 0 else start + (-start + dilation - 1) // dilation * dilation
        )
        ends.append(min(stop, size))
    return tuple(begins), tuple(ends), tuple(extents)


def _window_count(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    # No window begins in the padding behind the end.
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


@lru_cache(maxsize=1024)
def _adaptive_windows(size: int, count: int) -> _Windows:
    """`count` windows that cover a dimension of `size` evenly."""
    begins = tuple(place * size // count for place in range(count))
    ends = tuple(-(-(place + 1) * size // count) for place in range(count))
    return begins, ends, tuple(end - begin for begin, end in zip(begins, ends, strict=True))


def _for_each_dim(name: str, what: str, given: Sequence[int], rank: int) -> tuple[int, ...]:
    if len(given) not in (1, rank):
        words = {1: "one int", 2: "two ints", 3: "three ints"}
        raise RuntimeError(
            f"{name}: {what} must either be a single int, or a tuple of {words[rank]}"
        )
    return tuple(given) * (rank // len(given)) if len(given) != rank else tuple(given)


def _check_input(name: str, self: Tensor, rank: int) -> None:
    if self.dim() in (rank + 1, rank + 2) and 0 not in self.shape[-rank - 1 :]:
        return
    raise RuntimeError(
        f"{name}: Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim "
        f"batch size for input, but got: {list(self.shape)}"
    )


def _window_lists(
    name: str,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    rank: int,
) -> list[_Windows]:
    """The windows in each spatial dimension. Raises RuntimeError for impossible ones."""
    kernel = _for_each_dim(name, "kernel_size", kernel_size, rank)
    steps = _for_each_dim(name, "stride", stride, rank) if len(stride) else kernel
    padding = _for_each_dim(name, "padding", padding, rank)
    dilation = _for_each_dim(name, "dilation", dilation, rank)
    if min(kernel) <= 0:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got kernel_size={list(kernel)}"
        )
    if 0 in steps:
        raise RuntimeError("stride should not be zero")
    if min(steps) < 0:
        raise RuntimeError(f"stride should be greater than zero, but got stride={list(steps)}")
    if min(dilation) <= 0:
        raise RuntimeError(
            f"dilation should be greater than zero, but got dilation={list(dilation)}"
        )
    for one, pad, spread in zip(kernel, padding, dilation, strict=True):
        if pad < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
        if pad > ((one - 1) * spread + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={pad}, "
                f"kernel_size={one} and dilation={spread}"
            )
        if pad > one // 2:
            raise RuntimeError(
                f"pad should be smaller than or equal to half of kernel size, but got pad={pad}, "
                f"kernel_size={one}"
            )
    _check_input(name, self, rank)
    windows = [
        _windows(*each, bool(ceil_mode))
        for each in zip(self.shape[-rank:], kernel, steps, padding, dilation, strict=True)
    ]
    if not all(begins for begins, _, _ in windows):
        counts = [
            _window_count(*each, bool(ceil_mode))
            for each in zip(self.shape[-rank:], kernel, steps, padding, dilation, strict=True)
        ]
        channels = self.shape[-rank - 1]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, self.shape[-rank - 1 :]))}). Calculated "
            f"output size: ({'x'.join(map(str, [channels, *counts]))}). Output size is too small"
        )
    return windows


def _result(self: Tensor, windows: list[_Windows], element: object = None) -> Tensor:
    sizes = [*self.shape[: -len(windows)], *(len(begins) for begins, _, _ in windows)]
    made: Tensor = ops.aten.empty.memory_format(
        sizes, dtype=element or self.dtype, device=self.device
    )
    return made


def _batched(self: Tensor, rank: int) -> Tensor:
    return self if self.dim() == rank + 2 else self.unsqueeze(0)


def _widened(self: Tensor) -> Tensor:
    """Half types as float32."""
    if self.dtype.name not in ("float16", "bfloat16"):
        return self
    return ops.aten._to_copy.default(self, dtype=_FLOAT32)  # type: ignore[no-any-return]


def _narrowed(out: Tensor, self: Tensor) -> Tensor:
    if out.dtype is self.dtype:
        return out
    return ops.aten._to_copy.default(out, dtype=self.dtype)  # type: ignore[no-any-return]


def _max_pooled(
    name: str,
    self: Tensor,
    windows: list[_Windows],
    dilation: Sequence[int],
    with_indices: bool,
) -> tuple[Tensor, Tensor | None]:
    rank = len(windows)
    source = self if self.is_meta else _widened(self)
    out = _result(source, windows)
    indices = _result(source, windows, _INT64) if with_indices else None
    if not self.is_meta:
        max_pool(
            _batched(source, rank),
            _batched(out, rank),
            None if indices is None else _batched(indices, rank),
            [begins for begins, _, _ in windows],
            [ends for _, ends, _ in windows],
            _for_each_dim(name, "dilation", dilation, rank),
        )
    return _narrowed(out, self), indices


@op
def max_pool2d_with_indices(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window of (N, C, H, W) or (C, H, W), and where it is.

    Positions count through the rows of the plane. A NaN is larger than all numbers. Raises
    RuntimeError for windows and sizes that do not go together.
    """
    windows = _window_lists(
        "max_pool2d", self, kernel_size, stride, padding, dilation, ceil_mode, 2
    )
    out, indices = _max_pooled("max_pool2d", self, windows, dilation, True)
    assert indices is not None
    return out, indices


@op
def max_pool3d_with_indices(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d_with_indices` with one more dimension: (N, C, D, H, W) or (C, D, H, W)."""
    windows = _window_lists(
        "max_pool3d", self, kernel_size, stride, padding, dilation, ceil_mode, 3
    )
    out, indices = _max_pooled("max_pool3d", self, windows, dilation, True)
    assert indices is not None
    return out, indices


@op
def max_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of (N, C, L) or (C, L)."""
    step = (1, *stride) if len(stride) else ()
    pooled: Tensor = ops.aten.max_pool2d_with_indices.default(
        self.unsqueeze(-2), (1, *kernel_size), step, (0, *padding), (1, *dilation), ceil_mode
    )[0]
    return pooled.squeeze(-2)


@op
def max_pool2d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    return ops.aten.max_pool2d_with_indices.default(  # type: ignore[no-any-return]
        self, kernel_size, stride, padding, dilation, ceil_mode
    )[0]


@op
def max_pool3d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    return ops.aten.max_pool3d_with_indices.default(  # type: ignore[no-any-return]
        self, kernel_size, stride, padding, dilation, ceil_mode
    )[0]


def _averaged(
    self: Tensor, windows: list[_Windows], extents: list[tuple[int, ...]], divisor: int
) -> Tensor:
    rank = len(windows)
    source = self if self.is_meta else _widened(self)
    out = _result(source, windows)
    if not self.is_meta:
        average_pool(
            _batched(source, rank),
            _batched(out, rank),
            [begins for begins, _, _ in windows],
            [ends for _, ends, _ in windows],
            extents,
            divisor,
        )
    return _narrowed(out, self)


@op
def avg_pool2d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The average of each window of (N, C, H, W) or (C, H, W).

    The divisor is the window's size, with `count_include_pad` padding included, or
    `divisor_override`. Raises RuntimeError for windows and sizes that do not go together.
    """
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    windows = _window_lists("avg_pool2d", self, kernel_size, stride, padding, (1, 1), ceil_mode, 2)
    extents = [
        extent
        if count_include_pad
        else tuple(end - begin for begin, end in zip(begins, ends, strict=True))
        for begins, ends, extent in windows
    ]
    return _averaged(self, windows, extents, divisor_override or 0)


@op
def avg_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The average of each window of (N, C, L) or (C, L)."""
    step = (1, *stride) if len(stride) else ()
    pooled: Tensor = ops.aten.avg_pool2d.default(
        self.unsqueeze(-2), (1, *kernel_size), step, (0, *padding), ceil_mode, count_include_pad
    )
    return pooled.squeeze(-2)


@op
def _adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Averages over `output_size` windows that cover (N, C, H, W) or (C, H, W) evenly.

    Raises RuntimeError for other ranks, empty dimensions and negative sizes.
    """
    if len(output_size) != 2:
        raise RuntimeError("adaptive_avg_pool2d: output_size must be 2")
    if self.dim() not in (3, 4):
        raise RuntimeError(
            f"adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {list(self.shape)}"
        )
    if min(output_size) < 0:
        raise RuntimeError(
            f"adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but "
            f"received {{{output_size[0]}, {output_size[1]}}}"
        )
    if 0 in self.shape[-3:]:
        raise RuntimeError(
            f"adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch "
            f"dimensions, but input has sizes {list(self.shape)}"
        )
    if not self.is_floating_point():
        raise NotImplementedError(
            f"\"adaptive_avg_pool2d\" not implemented for '{self.dtype.scalar_type_name}'"
        )
    windows = [
        _adaptive_windows(size, count)
        for size, count in zip(self.shape[-2:], output_size, strict=True)
    ]
    return _averaged(self, windows, [extents for _, _, extents in windows], 0)


@op
def adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    if tuple(output_size) == (1, 1) and self.dim() >= 2:
        return ops.aten.mean.dim(self, [-1, -2], True)  # type: ignore[no-any-return]
    return ops.aten._adaptive_avg_pool2d.default(self, output_size)  # type: ignore[no-any-return]


@op
def adaptive_avg_pool1d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Averages over `output_size` windows that cover (N, C, L) or (C, L) evenly."""
    pooled: Tensor = ops.aten.adaptive_avg_pool2d.default(self.unsqueeze(-2), [1, *output_size])
    return pooled.squeeze(-2)
