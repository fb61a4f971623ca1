"""The incomplete gamma function: digits, how many steps it takes, elements on their own."""

import math
import random

import mpmath
import pytest

import aten

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
    shapes, arguments = operands(10, 2000)
    with Counting() as counting:
        getattr(aten, name)(aten.tensor(shapes), aten.tensor(arguments))
    assert counting.count < 4000


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_element_does_not_depend_on_what_is_beside_it(name):
    shapes, arguments = operands(5e4, 40)
    a, x = (aten.tensor(one, dtype=aten.float64) for one in (shapes, arguments))
    together = getattr(aten, name)(a, x)
    alone = [getattr(aten, name)(a[i : i + 1], x[i : i + 1]) for i in range(40)]
    assert aten.equal(together, aten.cat(alone))
    square = getattr(aten, name)(a.view(5, 8).t(), x.view(5, 8).t())
    assert aten.equal(square.t().reshape(-1), together)
