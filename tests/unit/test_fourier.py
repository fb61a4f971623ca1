"""Fourier transforms: every way a length is gone through, and bits that nothing beside changes."""

from __future__ import annotations

import cmath
import math

import pytest

import aten
from aten.backends.cpu.kernels.fourier.fourier import transform
from aten.backends.cpu.kernels.fourier.lengths import generator, is_prime, radices, smooth

# Powers of each radix, their products, odd radices, primes done as convolutions, matrices.
LENGTHS = [*range(1, 34), 49, 61, 64, 67, 96, 121, 122, 127, 134, 360, 1000, 1021, 4096, 5000, 8192]
LONG = [3 * 4096, 65536, 4099, 4099 * 2, 12289]


def signal(*shape: int, dtype: aten.dtype = aten.complex128) -> aten.Tensor:
    generator = aten.Generator().manual_seed(sum(shape))
    return aten.randn(shape, dtype=dtype, generator=generator)


def plain(x: aten.Tensor) -> aten.Tensor:
    """The sums themselves, of a few of the results."""
    count = len(x)
    values = x.tolist()
    places = sorted({0, 1, count // 3, count // 2, count - 1} & set(range(count)))
    sums = [
        sum(
            value * cmath.exp(-2j * math.pi * (j * k % count) / count)
            for j, value in enumerate(values)
        )
        for k in places
    ]
    return aten.tensor(places), aten.tensor(sums, dtype=aten.complex128)


@pytest.mark.parametrize("length", LENGTHS + LONG)
def test_sums(length: int) -> None:
    x = signal(length)
    places, expected = plain(x)
    bound = 1e-14 * math.sqrt(length) * max(1.0, math.log2(length))
    for dtype, worse in ((aten.complex128, 1.0), (aten.complex64, 2.0**29)):
        found = aten.fft.fft(x.to(dtype))[places].to(aten.complex128)
        assert float((found - expected).abs().max()) <= bound * worse
        back = aten.fft.ifft(aten.fft.fft(x.to(dtype)))
        assert float((back - x).abs().max()) <= 1e-14 * worse


@pytest.mark.parametrize("length", LENGTHS + LONG)
def test_real_numbers(length: int) -> None:
    x = signal(length, dtype=aten.float64)
    full = aten.fft.fft(x.to(aten.complex128))
    half = aten.fft.rfft(x)
    bound = 1e-14 * math.sqrt(length) * max(1.0, math.log2(length))
    assert half.shape == (length // 2 + 1,)
    assert float((half - full[: length // 2 + 1]).abs().max()) <= bound
    assert float((aten.fft.fft(x) - full).abs().max()) <= bound
    assert float((aten.fft.irfft(half, length) - x).abs().max()) <= 1e-14
    # Exactly conjugate, and real where it has to be.
    mirrored = aten.fft.fft(x)[1:].flip(0).conj().resolve_conj()
    assert aten.equal(aten.fft.fft(x)[1:], mirrored) or length < 2
    for place in {0, length // 2} if length % 2 == 0 else {0}:
        assert math.copysign(1.0, float(half[place].imag)) == 1.0
        assert half[place].imag == 0


@pytest.mark.parametrize("dtype", [aten.complex64, aten.complex128], ids=str)
@pytest.mark.parametrize("length", [5, 8, 31, 64, 134, 257, 1000, 1021, 4096, 9216])
def test_bits_depend_on_the_line_alone(length: int, dtype: aten.dtype) -> None:
    lines = signal(21, length, dtype=dtype)
    rows = aten.fft.fft(lines)
    columns = aten.fft.fft(lines.T.contiguous(), dim=0)
    spread = aten.empty(21, 2 * length, dtype=dtype)[:, ::2].copy_(lines)
    alone = aten.stack([aten.fft.fft(line) for line in lines])
    threads = aten.get_num_threads()
    try:
        aten.set_num_threads(1)
        by_one = aten.fft.fft(lines)
    finally:
        aten.set_num_threads(threads)
    for other in (columns.T, aten.fft.fft(spread), alone, by_one):
        assert aten.equal(other, rows)


@pytest.mark.parametrize("dtype", [aten.complex64, aten.complex128], ids=str)
@pytest.mark.parametrize("length", [2, 8, 12, 15, 31, 49, 64, 96, 100, 125, 360, 512, 1000, 4096])
def test_bits_of_columns_where_they_lie(length: int, dtype: aten.dtype) -> None:
    """Those of two dimensions, in vectors and what is left."""
    x = signal(2, length, 37, dtype=dtype)
    for both, one in ((aten.fft.fft2, aten.fft.fft), (aten.fft.ifft2, aten.fft.ifft)):
        alone = [one(x[i, :, j].contiguous()) for i in range(2) for j in range(37)]
        columns = aten.stack(alone).view(2, 37, length).transpose(1, 2).contiguous()
        assert aten.equal(both(x), one(columns))


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64], ids=str)
@pytest.mark.parametrize("length", [2, 6, 16, 30, 62, 64, 128, 250, 256, 1000, 1024, 2042, 8192])
def test_bits_of_half_a_spectrum_depend_on_the_line_alone(length: int, dtype: aten.dtype) -> None:
    lines = signal(21, length, dtype=dtype)
    rows = aten.fft.rfft(lines)
    columns = aten.fft.rfft(lines.T.contiguous(), dim=0)
    spread = aten.empty(21, 2 * length, dtype=dtype)[:, ::2].copy_(lines)
    alone = aten.stack([aten.fft.rfft(line) for line in lines])
    back = aten.fft.irfft(rows)
    back_alone = aten.stack([aten.fft.irfft(row) for row in rows])
    for other in (columns.T, aten.fft.rfft(spread), alone):
        assert aten.equal(other, rows)
    assert aten.equal(back_alone, back)
    assert float((back - lines).abs().max()) <= 100 * aten.finfo(dtype).eps


def test_infinities_spread_as_the_sums_say() -> None:
    found = aten.fft.rfft(aten.tensor([math.inf, 1.0]))
    assert found.real.tolist() == [math.inf, math.inf]
    assert found.imag.tolist() == [0.0, 0.0]
    assert aten.fft.fft(aten.tensor([math.nan, 1.0, 2.0])).isnan().all()


def test_numbers_that_mirror_themselves_have_no_imaginary_part() -> None:
    """What stands there is not looked at, as everywhere."""
    for length in (4, 5):
        half = signal(length // 2 + 1)
        changed = half.clone()
        changed[0] += 7j
        if length == 4:
            changed[-1] += 7j
        assert aten.equal(aten.fft.irfft(half, length), aten.fft.irfft(changed, length))


def test_operands_that_do_not_go_together_are_refused() -> None:
    line, real = aten.ones(4, dtype=aten.complex64), aten.ones(4)
    wrong = (
        (line, aten.ones(4, dtype=aten.complex128), 0, 4, False),
        (line, aten.ones(5, dtype=aten.complex64), 0, 4, False),
        (line, line, 1, 4, False),
        (line, line, -1, 4, False),
        (line, line, 0, 5, False),
        (line, real, 0, 4, True),
        (real, line, 0, 4, True),
        (real, real, 0, 4, False),
        (line, aten.ones(3, dtype=aten.float32), 0, 6, False),
        (aten.ones(4, dtype=aten.int64), line, 0, 4, False),
        (aten.ones(2, 4, dtype=aten.complex64), aten.ones(3, 4, dtype=aten.complex64), 1, 4, False),
        (line.to("meta"), line, 0, 4, False),
    )
    for given, out, dim, length, inverse in wrong:
        with pytest.raises(ValueError, match="transform"):
            transform(given, out, dim, length, inverse, 1.0)


def test_what_lengths_are_made_of() -> None:
    primes = [number for number in range(3, 300) if all(number % one for one in range(2, number))]
    assert [number for number in range(1, 300) if is_prime(number)] == primes
    for prime in primes:
        assert len({pow(generator(prime), power, prime) for power in range(prime - 1)}) == prime - 1
    for length in range(1, 2000):
        found = radices(length, 61)
        assert found is None or (math.prod(found) == length and max(found, default=1) <= 61)
        assert smooth(length) >= length
    assert radices(4 * 67, 61) is None
    assert radices(3 * 1024, 61) == [8, 8, 4, 4, 3]
