"""Fourier transforms, spectrograms and windows against torch."""

from __future__ import annotations

import pytest
from comparison import compare, torch

# torch warns of rectangular windows, and of what it means to drop.
pytestmark = pytest.mark.filterwarnings("ignore")
ONE_DIM = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY_DIMS = tuple(f"{name}{ending}" for name in ONE_DIM for ending in ("2", "n"))
DTYPES = ("float32", "float64", "complex64", "complex128", "int64", "bool", "float16", "bfloat16")
# All results are of the order of the number of points.
EXACT = {"tolerance": 1e-4, "absolute": 2e-4}


def sample(name, *shape):
    generator = torch.Generator().manual_seed(len(shape))
    numbers = torch.randn(shape, generator=generator, dtype=torch.float64)
    dtype = getattr(torch, name)
    if dtype.is_complex:
        numbers = torch.complex(numbers, torch.randn(shape, generator=generator).double())
    return numbers.to(dtype)


@pytest.mark.parametrize("name", ONE_DIM)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transforms_of_one_dimension(name, dtype):
    x = sample(dtype, 4, 6, 8)
    for arguments in (
        {},
        {"dim": 0},
        {"dim": 1, "norm": "ortho"},
        {"n": 5, "norm": "forward"},
        {"n": 20, "dim": 1, "norm": "backward"},
        {"n": 1},
        {"n": 0},
        {"n": -1},
        {"dim": 3},
        {"norm": "other"},
    ):
        compare(lambda f, x, a=arguments: getattr(f.fft, name)(x, **a), x, **EXACT)
    compare(lambda f, x: getattr(f.fft, name)(x.permute(2, 0, 1), dim=1), x, **EXACT)
    compare(lambda f, x: getattr(f.fft, name)(x[:, ::2, 1:]), x, **EXACT)
    compare(lambda f, x: getattr(f.fft, name)(x[0, 0, 0]), x)
    compare(lambda f, x: getattr(f.fft, name)(x[..., :0]), x)
    compare(lambda f, x: getattr(f.fft, name)(x[..., :0], n=3), x, strides=False)


@pytest.mark.parametrize("name", MANY_DIMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transforms_of_many_dimensions(name, dtype):
    x = sample(dtype, 4, 6, 8)
    for arguments in (
        {},
        {"dim": (0, 2)},
        {"dim": (2, 0), "norm": "ortho"},
        {"s": (5, 7), "dim": (0, 1), "norm": "forward"},
        {"s": (-1, 3), "dim": (1, 2), "norm": "backward"},
        {"dim": (1,)},
        {"dim": ()},
        {"dim": (0, 0)},
        {"dim": (0, 3)},
        {"s": (2,), "dim": (0, 1)},
        {"s": (0, 2), "dim": (0, 1)},
        {"s": (-2, 2), "dim": (0, 1)},
        {"s": (1, 2, 3, 4), "dim": None},
    ):
        if name.endswith("2") and arguments.get("dim", ()) is None:
            continue
        compare(lambda f, x, a=arguments: getattr(f.fft, name)(x, **a), x, **EXACT)
    compare(lambda f, x: getattr(f.fft, name)(x[0, 0]), x, **EXACT)
    compare(lambda f, x: getattr(f.fft, name)(x[0, 0, 0]), x, **EXACT)


@pytest.mark.parametrize("name", ONE_DIM)
def test_out(name):
    x = sample("float32", 4, 6)
    is_real = name in ("irfft", "hfft")
    for dim, dtype in ((0, "float32"), (1, "float32" if is_real else "complex64")):
        for shape in ((0,), (4, 6)):

            def call(f, x, dim=dim, dtype=dtype, shape=shape):
                out = f.empty(shape, dtype=getattr(f, dtype))
                assert getattr(f.fft, name)(x, dim=dim, out=out) is out
                return out

            compare(call, x, **EXACT)


def test_frequencies():
    for n in (0, 1, 5, 8, -1):
        for dtype in ("float32", "float64", "int64", "complex64"):
            for name in ("fftfreq", "rfftfreq"):
                compare(
                    lambda f, n=n, name=name, dtype=dtype: getattr(f.fft, name)(
                        n, 0.3, dtype=getattr(f, dtype)
                    ),
                    tolerance=1e-6,
                )
    x = torch.arange(30).reshape(5, 6)
    for dim in (None, 0, (1,), (0, 1), (), (2,)):
        compare(lambda f, x, dim=dim: f.fft.fftshift(x, dim), x)
        compare(lambda f, x, dim=dim: f.fft.ifftshift(x, dim), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"hop_length": 3, "win_length": 5},
        {"center": False},
        {"center": False, "align_to_window": True, "win_length": 4},
        {"align_to_window": True},
        {"normalized": True, "onesided": False},
        {"onesided": True},
        {"return_complex": False},
        {"return_complex": None},
        {"pad_mode": "constant"},
        {"hop_length": 0},
        {"win_length": 9},
    ],
    ids=str,
)
def test_stft(dtype, arguments):
    signal = sample(dtype, 2, 40)
    window = torch.hann_window(8)
    options = {"return_complex": True, **arguments}

    def call(f, x, window=None):
        return f.stft(x, 8, window=window, **options)

    compare(call, signal, strides=False, **EXACT)
    compare(call, signal[0], strides=False, **EXACT)
    if "win_length" not in arguments:
        compare(call, signal, window, strides=False, **EXACT)
    compare(call, signal, window[:3])
    compare(call, signal[:, :3], strides=False, **EXACT)
    compare(call, signal[None])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"hop_length": 3},
        {"center": False},
        {"length": 20},
        {"length": 70},
        {"normalized": True},
        {"onesided": False},
        {"return_complex": True},
        {"return_complex": True, "onesided": True},
        {"hop_length": 20},
    ],
    ids=str,
)
def test_istft(arguments):
    window = torch.hamming_window(8)
    whole = torch.stft(sample("complex64", 2, 48), 8, window=window, return_complex=True)
    half = torch.stft(sample("float32", 2, 48), 8, window=window, return_complex=True)

    def call(f, x, window=None):
        return f.istft(x, 8, window=window, **arguments)

    for spectra in (whole, half, half[0], half[:, :3], half.real):
        compare(call, spectra, window, strides=False, **EXACT)
        compare(call, spectra, strides=False, **EXACT)


WINDOWS = ("hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window")


@pytest.mark.parametrize("name", WINDOWS)
def test_window_operators(name):
    for arguments in ((0,), (1,), (2,), (9,), (9, False), (1, False), (-1,)):
        for dtype in ("float32", "float64", "int64", "complex64"):
            compare(
                lambda f, a=arguments, d=dtype: getattr(f, name)(*a, dtype=getattr(f, d)),
                tolerance=1e-5,
                absolute=1e-6,
            )
    compare(lambda f: getattr(f, name)(5, device="meta"))
    compare(lambda f: f.hamming_window(6, True, 0.3, 0.2), tolerance=1e-6)
    compare(lambda f: f.kaiser_window(6, True, 3.0), tolerance=1e-6)


SIGNAL_WINDOWS = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.0}, {"center": 1.0}, {"tau": 0.0}],
    "gaussian": [{}, {"std": 2.0}, {"std": 0.0}],
    "general_cosine": [{"a": [0.4, 0.3, 0.2, 0.1]}, {"a": []}, {"a": 3}],
    "general_hamming": [{}, {"alpha": 0.7}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 3.0}, {"beta": -1.0}],
    "nuttall": [{}],
}


@pytest.mark.parametrize("name", list(SIGNAL_WINDOWS))
@pytest.mark.parametrize("sym", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
def test_signal_windows(name, sym, dtype):
    for options in SIGNAL_WINDOWS[name]:
        for count in (0, 1, 2, 9, -1):
            compare(
                lambda f, n=count, o=options: getattr(f.signal.windows, name)(
                    n, sym=sym, dtype=getattr(f, dtype), **o
                ),
                tolerance=1e-5,
                absolute=2e-6,
            )
