"""Window functions, symmetric unless `sym=False` asks for periodic ones.

All take `dtype` (float32 or float64), `layout` and `device` by keyword, and raise ValueError for a
negative number of points M, for other dtypes, and for parameters out of range. Formulas: Harris,
On the use of windows for harmonic analysis with the discrete Fourier transform (1978).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from aten._core.base.device import device, layout
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _options(
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    requires_grad: bool = False,
) -> dict[str, Any]:
    element = dtype or get_default_dtype()
    if element.name not in ("float32", "float64"):
        raise ValueError(f"windows: expected dtype float32 or float64, got {element}")
    if layout is not None and layout.name != "strided":
        raise ValueError(f"windows: expected a strided layout, got {layout}")
    if requires_grad:
        raise RuntimeError("windows: requires_grad=True needs gradients, which are not there")
    return {"dtype": element, "layout": layout, "device": device}


def _window(
    points: int,
    sym: bool,
    given: dict[str, Any],
    first: float,
    step: Callable[[int], float],
    weights: Callable[[Tensor], Tensor],
) -> Tensor:
    """`weights` of evenly spaced numbers from `first` on; the step follows from the period."""
    options = _options(**given)
    if points < 0:
        raise ValueError(f"windows: expected M >= 0, got {points}")
    if points < 2:
        return ops.aten.ones((points,), **options)
    last = first + (points - 1) * step(points - sym)
    return weights(ops.aten.linspace(first, last, points, **options))


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """Σ (-1)^i a_i cos(2πik/n).

    Example:

        >>> aten.signal.windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """

    def weights(angle: Tensor) -> Tensor:
        if not isinstance(a, Iterable):
            raise TypeError(f"general_cosine: expected a list of numbers a, got {type(a)}")
        amplitudes = [(-1) ** order * amplitude for order, amplitude in enumerate(a)]
        if not amplitudes:
            raise ValueError("general_cosine: expected at least one number in a")
        total: Tensor = ops.aten.full_like(angle, amplitudes[0])
        for order, amplitude in enumerate(amplitudes[1:], 1):
            total.add_(angle.mul(order).cos_(), alpha=amplitude)
        return total

    return _window(M, sym, options, 0.0, lambda period: 2 * math.pi / period, weights)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """alpha - (1 - alpha) cos(2πk/n).

    Example:

        >>> aten.signal.windows.general_hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_cosine(M, a=(alpha, 1 - alpha), sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """Hamming's window: 0.54 - 0.46 cos(2πk/n).

    Example:

        >>> aten.signal.windows.hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """Hann's window: a raised cosine, 0 at the ends.

    Example:

        >>> aten.signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """Blackman's three cosines.

    Example:

        >>> aten.signal.windows.blackman(4)
        tensor([-1.4901e-08,  6.3000e-01,  6.3000e-01, -1.4901e-08])
    """
    return general_cosine(M, a=(0.42, 0.5, 0.08), sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """Nuttall, Some windows with very good sidelobe behavior (1981): four cosines.

    Example:

        >>> aten.signal.windows.nuttall(4)
        tensor([3.6280e-04, 5.2923e-01, 5.2923e-01, 3.6280e-04])
    """
    return general_cosine(M, a=(0.3635819, 0.4891775, 0.1365995, 0.0106411), sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """A triangle, 0 at the ends.

    Example:

        >>> aten.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window(M, sym, options, -1.0, lambda period: 2 / period, lambda k: 1 - k.abs())


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """Half of a sine's period.

    Example:

        >>> aten.signal.windows.cosine(4)
        tensor([0.3827, 0.9239, 0.9239, 0.3827])
    """
    step = math.pi / (M + (not sym)) if M > 0 else 0.0
    return _window(M, sym, options, step / 2, lambda _: step, lambda k: k.sin())


def exponential(
    M: int,  # noqa: N803
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    **options: Any,
) -> Tensor:
    """exp(-|k - center| / tau); the center is in the middle, or chosen for a periodic window.

    Example:

        >>> aten.signal.windows.exponential(5)
        tensor([0.1353, 0.3679, 1.0000, 0.3679, 0.1353])
    """
    if tau <= 0:
        raise ValueError(f"exponential: expected tau > 0, got {tau}")
    if sym and center is not None:
        raise ValueError("exponential: a symmetric window has its center in the middle")
    if center is None:
        center = (M - sym) / 2
    elif M == 1:
        return exponential(2, center=center, tau=tau, sym=False, **options).narrow(0, 0, 1)
    return _window(M, sym, options, -center / tau, lambda _: 1 / tau, lambda k: k.abs().neg().exp())


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """A normal density of deviation `std`, 1 in the middle.

    Example:

        >>> aten.signal.windows.gaussian(5)
        tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    if std <= 0:
        raise ValueError(f"gaussian: expected std > 0, got {std}")
    step = 1 / (std * math.sqrt(2))
    first = -(M - sym) / 2 * step
    return _window(M, sym, options, first, lambda _: step, lambda k: k.square().neg().exp())


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:  # noqa: N803
    """Kaiser & Schafer, On the use of the I0-sinh window for spectrum analysis (1980).

    Example:

        >>> aten.signal.windows.kaiser(5)
        tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01, 5.2773e-05])
    """
    if beta < 0:
        raise ValueError(f"kaiser: expected beta >= 0, got {beta}")

    def weights(k: Tensor) -> Tensor:
        heights = (beta * beta - k.square()).clamp(min=0).sqrt()
        return ops.aten.i0(heights) / ops.aten.i0(ops.aten.full_like(k, beta))

    return _window(M, sym, options, -beta, lambda period: 2 * beta / period, weights)
