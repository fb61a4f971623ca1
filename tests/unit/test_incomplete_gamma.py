"""The incomplete gamma function and divisors: digits, how many steps it takes, elements alone."""

import math
import random

import mpmath
import pytest
from definitions import check, moved

import aten
from aten.ops.pointwise import gamma

FUNCTIONS = {"igamma": (0, None), "igammac": (None, mpmath.inf)}


def operands(largest, count):
    """Shapes up to `largest`, and arguments that are not far from them."""
    source = random.Random(3)
    shapes = [source.random() * largest + 1e-3 for _ in range(count)]
    return shapes, [max(1e-6, a * (1 + source.gauss(0, 1.5 / math.sqrt(a + 1)))) for a in shapes]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("largest", "most"), [(1, 1e-14), (100, 4e-14), (1e4, 4e-14), (9e5, 1e-12)]
)
def test_digits(name, largest, most):
    shapes, arguments = operands(largest, 15)
    wide = {"dtype": aten.float64}
    found = getattr(aten, name)(aten.tensor(shapes, **wide), aten.tensor(arguments, **wide))
    for a, x, value in zip(shapes, arguments, found.tolist(), strict=True):
        with mpmath.workdps(40):
            low, high = (x if bound is None else bound for bound in FUNCTIONS[name])
            exact = mpmath.gammainc(a, low, high, regularized=True)
            assert abs(value - exact) <= most * exact, (a, x)


class Counting(aten.transforms.DispatchMode):
    count = 0

    def call(self, op, args, kwargs):
        self.count += 1
        return op(*args, **kwargs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_ends_once_only_rounding_is_left(name):
    shapes, arguments = (aten.tensor(one, dtype=aten.float64) for one in operands(10, 200))
    with Counting() as counting:
        getattr(gamma, name)(shapes, arguments)
    assert 20 < counting.count < 4000


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_definition_gives_the_same(name):
    """With what is no number or not finite, and shapes for which an asymptotic form serves."""
    shapes, arguments = (aten.tensor(one, dtype=aten.float64) for one in operands(2e3, 40))
    check(name, shapes, arguments, tolerance=1e-12)
    check(name, shapes.float(), arguments.float(), tolerance=1e-6)
    special = aten.tensor([0.0, 1.0, math.inf, math.nan, -1.0, 1e-300, 3e6, 3.1e6, 1e308])
    square = aten.meshgrid([special.double(), special.double()], indexing="ij")
    found, expected = getattr(aten, name)(*square), getattr(gamma, name)(*square)
    assert aten.allclose(found, expected, rtol=1e-12, atol=1e-300, equal_nan=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_is_rounded_once(name):
    """What the last step of a float32 leaves out is less than a unit in the last place."""
    shapes, arguments = (aten.tensor(one) for one in operands(200, 2000))
    found = getattr(aten, name)(shapes, arguments)
    wide = getattr(aten, name)(shapes.double(), arguments.double())
    assert ((found.double() - wide).abs() <= 2.0**-23 * wide).all()


@pytest.mark.parametrize("dtype", [aten.uint8, aten.int8, aten.int16, aten.int32, aten.int64])
def test_divisors(dtype):
    """Of what is in no order, too, and of the least numbers, which have no absolute value."""
    bounds = aten.iinfo(dtype)
    left = aten.randint(max(bounds.min, -300), min(bounds.max, 300), (40, 30)).to(dtype)
    right = aten.randint(max(bounds.min, -300), min(bounds.max, 300), (30,)).to(dtype)
    left[0, :4] = bounds.min
    left[1, :4] = bounds.max
    left[:4, 3] = 0
    right[2] = bounds.min
    wide = left.to(aten.int64) * (1 << 40), right.to(aten.int64)
    pairs = (left, right), (left.t(), right[:, None]), (left[::2, ::3], right[::3]), wide
    for pair in pairs:
        there = moved(pair, "reference")
        assert aten.equal(aten.gcd(*pair), aten.gcd(*there).cpu())
        assert aten.equal(aten.lcm(*pair), aten.lcm(*there).cpu())
    found = aten.gcd(left.abs(), right.abs()).tolist()
    rows = zip(left.abs().tolist(), found, strict=True)
    for row, divisors in rows:
        for one, other, divisor in zip(row, right.abs().tolist(), divisors, strict=True):
            if min(one, other) >= 0:
                assert divisor == math.gcd(one, other)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_element_does_not_depend_on_what_is_beside_it(name):
    shapes, arguments = operands(5e4, 40)
    a, x = (aten.tensor(one, dtype=aten.float64) for one in (shapes, arguments))
    together = getattr(aten, name)(a, x)
    alone = [getattr(aten, name)(a[i : i + 1], x[i : i + 1]) for i in range(40)]
    assert aten.equal(together, aten.cat(alone))
    square = getattr(aten, name)(a.view(5, 8).t(), x.view(5, 8).t())
    assert aten.equal(square.t().reshape(-1), together)
