"""Quotients and remainders of integers, which kernels divide as floats where these hold them."""

from __future__ import annotations

import numpy
import pytest

import aten

SHORT = ("int8", "uint8")
LONG = ("int16", "uint16", "int32", "uint32", "int64")
COUNT = 20_000


def operands(name: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    """All pairs of bytes; of wider integers any, extreme ones and those around whole multiples."""
    limits = numpy.iinfo(name)
    if name in SHORT:
        every = numpy.arange(limits.min, limits.max + 1)
        left, right = (one.ravel().astype(name) for one in numpy.meshgrid(every, every))
        return left[right != 0], right[right != 0]
    generator = numpy.random.default_rng(0)

    def drawn() -> numpy.ndarray:
        numbers = generator.integers(limits.min, limits.max, COUNT, name, endpoint=True)
        return numbers >> generator.integers(0, limits.bits, COUNT).astype(name)

    left, right = drawn(), drawn()
    right[right == 0] = 7
    extreme = numpy.array([limits.min, limits.min + 1, 1, 2, limits.max - 1, limits.max], name)
    if limits.min:
        extreme[2] = -1
    some = slice(0, COUNT // 4)
    left[some] = generator.choice(extreme, COUNT // 4)
    right[: COUNT // 8] = generator.choice(extreme[1:], COUNT // 8)
    near = slice(COUNT // 2, None)
    with numpy.errstate(over="ignore"):
        left[near] = right[near] * generator.integers(1, 100, COUNT // 2).astype(name)
        left[near] += generator.integers(0, 3, COUNT // 2).astype(name)
        left[near] -= numpy.array(1, name)
    return left, right


@pytest.mark.parametrize("name", [*SHORT, *LONG])
def test_quotients_are_exact(name):
    left, right = operands(name)
    limits = numpy.iinfo(name)
    whole = [divmod(int(a), int(b)) for a, b in zip(left, right, strict=True)]
    floored = [quotient for quotient, _ in whole]
    cut = [quotient + (quotient < 0 and rest != 0) for quotient, rest in whole]
    rests = [int(a) - int(b) * q for a, b, q in zip(left, right, cut, strict=True)]
    expected = {
        "floor_divide": floored,
        "remainder": [rest for _, rest in whole],
        "div": cut,
        "fmod": rests,
    }
    given = aten.from_numpy(left), aten.from_numpy(right)
    for function, numbers in expected.items():
        options = {"rounding_mode": "trunc"} if function == "div" else {}
        made = getattr(aten, function)(*given, **options).numpy()
        # The least number by -1 wraps.
        wrapped = [(one - limits.min) % (1 << limits.bits) + limits.min for one in numbers]
        assert (made == numpy.array(wrapped, name)).all(), function


@pytest.mark.parametrize("name", [*SHORT, *LONG])
@pytest.mark.parametrize("place", [0, 500, 1022])
@pytest.mark.parametrize("step", [1, 3])
def test_a_zero_is_found_wherever_it_is(name, place, step):
    divisors = aten.ones(1023 * step, dtype=getattr(aten, name))[::step]
    assert int((divisors // divisors).sum()) == 1023
    divisors[place] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divisors // divisors
