"""The standard's extension for Fourier transforms, along one axis or several.

`norm` scales by 1/n: "backward" the inverse transform, "forward" the other, "ortho" both by the
root of it. Raised everywhere: RuntimeError for other words, for lengths that are not positive and
for axes given twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aten import registry
from aten._core.base.device import device as Device  # noqa: N812
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, plain, wrap

_ops = registry.ops.aten
# Function of one axis → what it gives for each vector of an axis.
_SINGLE = {
    "fft": "the transform",
    "ifft": "the inverse transform",
    "rfft": "the first half of the transform of real numbers, n // 2 + 1 numbers",
    "irfft": "the real numbers that `rfft` gives the vector of",
    "hfft": "the transform, real, of the first half of a vector with Hermitian symmetry",
    "ihfft": "the vector that `hfft` gives these real numbers of",
}
# Function of several axes → what it gives.
_SEVERAL = {
    "fftn": "The transform",
    "ifftn": "The inverse transform",
    "rfftn": "The transform of real numbers, half of it along the last axis,",
    "irfftn": "The real numbers that `rfftn` gives the array of,",
}
__all__ = [*_SINGLE, *_SEVERAL, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _single(name: str, what: str) -> Callable[..., Array]:
    packet = registry.packet("aten", f"fft_{name}")

    def function(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        return wrap(packet(plain(x), n, axis, norm))

    return _named(
        function,
        name,
        f"Of each vector along an axis: {what}.\n\n"
        "It is cut, or filled up with zeros, to `n` elements first.",
    )


def _several(name: str, what: str) -> Callable[..., Array]:
    packet = registry.packet("aten", f"fft_{name}")

    def function(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Array:
        return wrap(packet(plain(x), s, axes, norm))

    return _named(
        function,
        name,
        f"{what} along axes, all of them or the last of as many as `s` has.\n\n"
        "They are cut, or filled up with zeros, to the sizes `s` first.",
    )


def _named(function: Callable[..., Array], name: str, text: str) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: dtype | None = None,
    device: Device | str | None = None,
) -> Array:
    """The frequencies of the elements that `fft` gives n samples at a distance of `d`."""
    return wrap(_ops.fft_fftfreq(n, d, dtype=dtype, device=device))


def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: dtype | None = None,
    device: Device | str | None = None,
) -> Array:
    """The frequencies of the elements that `rfft` gives n samples at a distance of `d`."""
    return wrap(_ops.fft_rfftfreq(n, d, dtype=dtype, device=device))


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The array with frequency 0 in the middle of the axes, or of all."""
    return wrap(_ops.fft_fftshift(plain(x), [axes] if isinstance(axes, int) else axes))


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The array with frequency 0, in the middle of the axes or of all, first again."""
    return wrap(_ops.fft_ifftshift(plain(x), [axes] if isinstance(axes, int) else axes))


globals().update({name: _single(name, what) for name, what in _SINGLE.items()})
globals().update({name: _several(name, what) for name, what in _SEVERAL.items()})
