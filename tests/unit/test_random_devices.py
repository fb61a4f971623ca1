"""The same seed brings the same random numbers on every device, and leaves the same to come."""

from __future__ import annotations

import pytest

import aten

A = aten.ops.aten
SHAPES = [(), (3,), (4, 5), (2, 40), (0, 2)]


def filled(name, *arguments, **options):
    """An in-place operator on a tensor of a device, row-major or not."""

    def fill(place, shape, dtype, turned):
        made = aten.zeros(shape, dtype=dtype, device=place)
        if turned:
            made = made.permute(tuple(reversed(range(len(shape)))))
        return getattr(A, name)(made, *arguments, **options)

    return fill


FILLS = {
    "uniform": filled("uniform_", -1.0, 2.0),
    "normal": filled("normal_", 1.0, 3.0),
    "exponential": filled("exponential_", 0.5),
    "cauchy": filled("cauchy_", 1.0, 2.0),
    "log_normal": filled("log_normal_", 0.5, 0.25),
    "geometric": filled("geometric_", 0.3),
    "bernoulli": filled("bernoulli_", 0.3),
    "random": filled("random_"),
    "random_to": filled("random_", 17),
    "random_from": filled("random_", -5, 1 << 40),
}
INTEGERS = ("geometric", "bernoulli", "random", "random_to", "random_from")


def same_on_both(draw):
    """What `draw(place)` gives on both devices, and what comes next."""
    for seed in (0, 11):
        given = []
        for place in ("cpu", "reference"):
            aten.manual_seed(seed)
            drawn = draw(place)
            assert drawn.device.type == place
            given.append((drawn.to("cpu"), aten.rand(3), aten.randn(2)))
        (here, *rest), (there, *other) = given
        assert (here.dtype, here.shape) == (there.dtype, there.shape)
        assert aten.allclose(here, there, rtol=1e-12 if here.dtype is aten.float64 else 1e-6)
        for one, two in zip(rest, other, strict=True):
            assert aten.equal(one, two), "the generators are not in the same state"


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FILLS)
def test_fills(name, shape, turned):
    types = [aten.float32, aten.float64]
    types += [aten.int64] if name in INTEGERS else [aten.float16, aten.bfloat16]
    types += [aten.complex64] if name in ("uniform", "normal") else []
    for dtype in types:
        if name == "random_from" and dtype is aten.float16:
            continue
        same_on_both(lambda place, dtype=dtype: FILLS[name](place, shape, dtype, turned))


FACTORIES = {
    "rand": lambda place: aten.rand(3, 7, device=place),
    "randn": lambda place: aten.randn(5, 8, device=place),
    "randn of doubles": lambda place: aten.randn(3, dtype=aten.float64, device=place),
    "randint": lambda place: aten.randint(3, 9, (4, 4), device=place),
    "randperm": lambda place: aten.randperm(20, device=place),
    "normal": lambda place: aten.normal(1.0, 2.0, (3, 4), device=place),
    "rand_like": lambda place: aten.rand_like(aten.ones(2, 3, device=place)),
    "randint_like": lambda place: aten.randint_like(aten.ones(2, 3, device=place), 7),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name):
    same_on_both(FACTORIES[name])


def weights(place, *shape):
    count = 1
    for size in shape:
        count *= size
    return (aten.arange(1, count + 1, device=place) / (count + 1)).reshape(shape)


DESCRIBED = {
    "bernoulli": lambda place: aten.bernoulli(weights(place, 3, 9)),
    "bernoulli of doubles": lambda place: aten.bernoulli(weights(place, 30).double()),
    "bernoulli_": lambda place: aten.zeros(9, 3, device=place).t().bernoulli_(weights(place, 9)),
    "normal of means": lambda place: aten.normal(weights(place, 4, 5), 2.0),
    "normal of deviations": lambda place: aten.normal(0.0, weights(place, 20)),
    "normal of both": lambda place: aten.normal(weights(place, 4, 1), weights(place, 5)),
    "poisson": lambda place: aten.poisson(weights(place, 20) * 30),
    "binomial": lambda place: aten.binomial(weights(place, 9) * 40 // 1, weights(place, 9)),
    "one of many": lambda place: aten.multinomial(weights(place, 3, 8), 1),
    "without replacement": lambda place: aten.multinomial(weights(place, 3, 8), 5),
    "with replacement": lambda place: aten.multinomial(weights(place, 3, 8), 30, True),
    "dropout": lambda place: aten.dropout(weights(place, 5, 5), 0.4, True),
    "native_dropout": lambda place: A.native_dropout(weights(place, 5, 5), 0.4, True)[0],
    "feature_dropout": lambda place: aten.feature_dropout(weights(place, 3, 4, 2), 0.4, True),
    "rrelu": lambda place: aten.rrelu(weights(place, 40) - 0.5, training=True),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_distributions_that_tensors_describe(name):
    same_on_both(DESCRIBED[name])


def test_a_generator_of_ones_own_serves_other_devices():
    drawn = []
    for place in ("cpu", "reference"):
        source = aten.Generator().manual_seed(4)
        made = aten.empty(30, device=place)
        drawn.append([made.normal_(generator=source).tolist(), made.random_(9, generator=source)])
        drawn[-1][1] = drawn[-1][1].tolist()
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: aten.zeros(3, device="reference").uniform_(2.0, 1.0),
        lambda: aten.zeros(3, device="reference").normal_(0.0, -1.0),
        lambda: aten.zeros(3, device="reference").bernoulli_(1.5),
        lambda: aten.bernoulli(aten.full((3,), 2.0, device="reference")),
        lambda: aten.normal(0.0, aten.full((3,), -2.0, device="reference")),
        lambda: aten.multinomial(aten.full((3,), -2.0, device="reference"), 1),
        lambda: aten.poisson(aten.full((3,), -2.0, device="reference")),
        lambda: aten.zeros(3, device="reference").random_(5, 5),
    ],
)
def test_what_is_refused_is_refused_on_every_device(draw):
    with pytest.raises(RuntimeError):
        draw()


def test_metadata_draws_nothing():
    aten.manual_seed(1)
    expected = aten.rand(2)
    aten.manual_seed(1)
    aten.randn(3, 4, device="meta")
    aten.empty(5, device="meta").random_(3)
    aten.empty(5, 4, device="meta").t().normal_()
    aten.randperm(9, device="meta")
    assert aten.equal(aten.rand(2), expected)


SEQUENCES = {
    "arange": lambda place: aten.arange(2, 17, 3, device=place),
    "arange of floats": lambda place: aten.arange(0.5, 4.0, 0.25, device=place),
    "linspace": lambda place: aten.linspace(-1, 3, 9, device=place),
    "complex linspace": lambda place: aten.linspace(-1j, 3 + 2j, 5, device=place),
    "logspace": lambda place: aten.logspace(0, 3, 7, base=2, device=place),
    "logspace of integers": lambda place: aten.logspace(
        0, 3, 4, base=2, dtype=aten.int64, device=place
    ),
    "half": lambda place: aten.linspace(0, 1, 5, dtype=aten.float16, device=place),
    "range": lambda place: A.range.step(1, 9, 2, device=place),
    "between tensors": lambda place: aten.linspace(
        aten.tensor(1.0, device=place), aten.tensor(2.0, device=place), 5, device=place
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_are_made_where_they_are_asked_for(name):
    here, there = (SEQUENCES[name](place) for place in ("cpu", "reference"))
    assert there.device.type == "reference"
    assert (here.dtype, here.shape) == (there.dtype, there.shape)
    assert aten.allclose(there.to("cpu"), here)
