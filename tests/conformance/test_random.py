"""Random numbers against torch's CPU generator: the same bits, and the same state afterwards."""

from __future__ import annotations

import pytest
from comparison import torch

import aten

if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
    pytest.skip("torch's kernels for this processor fuse no operations", allow_module_level=True)

# torch warns of ranges and shapes it means to refuse one day.
pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = tuple(
    "float16 bfloat16 float32 float64 complex32 complex64 complex128 "
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64".split()
)
FILLS = [
    ("uniform_", ()),
    ("uniform_", (0.1, 0.7)),
    ("uniform_", (1.0, 1.0000001)),
    ("uniform_", (2.0, 1.0)),
    ("uniform_", (-3e38, 3e38)),
    ("normal_", ()),
    ("normal_", (0.3, 1.7)),
    ("normal_", (0.0, -1.0)),
    ("exponential_", (1.3,)),
    ("exponential_", (0.0,)),
    ("cauchy_", (0.1, 2.0)),
    ("cauchy_", (0.1, 0.0)),
    ("log_normal_", (0.1, 0.2)),
    ("log_normal_", (0.1, 0.0)),
    ("geometric_", (0.3,)),
    ("geometric_", (1.0,)),
    ("bernoulli_", (0.3,)),
    ("bernoulli_", (1.5,)),
    ("random_", ()),
    ("random_", (7,)),
    ("random_", (-3, 9)),
    ("random_", (5, 5)),
    ("random_", (0, 300)),
    ("random_", (0, 2**40)),
    ("random_", (2**30 - 5, 2**40)),
    ("random_", (-(2**30) + 3, 2**33)),
    ("random_", (-(2**63), None)),
]
LAYOUTS = {
    "few": lambda f, dtype: f.zeros(5, dtype=dtype),
    "blocks": lambda f, dtype: f.zeros(48, dtype=dtype),
    "more": lambda f, dtype: f.zeros((3, 7, 5), dtype=dtype),
    "transposed": lambda f, dtype: f.zeros((4, 6), dtype=dtype).t(),
    "with gaps": lambda f, dtype: f.zeros((4, 12), dtype=dtype)[:, ::2],
    "0-d": lambda f, dtype: f.zeros((), dtype=dtype),
    "empty": lambda f, dtype: f.zeros((2, 0), dtype=dtype),
    "shared": lambda f, dtype: f.zeros(1, dtype=dtype).expand(4),
}


def run(library, expression):
    library.manual_seed(3)
    try:
        found = expression(library)
    except Exception as error:
        return error
    return found if isinstance(found, tuple) else (found,)


def assert_same_draws(expression):
    """The same elements, dtypes, strides and state, or the same type of exception."""
    expected, given = run(torch, expression), run(aten, expression)
    if isinstance(expected, Exception):
        assert type(given) is type(expected), (given, expected)
        return
    assert not isinstance(given, Exception), given
    for ours, theirs in zip(given, expected, strict=True):
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        assert (tuple(ours.shape), ours.stride()) == (tuple(theirs.shape), theirs.stride())
        assert ours.tolist() == theirs.tolist()
    assert aten.get_rng_state().tolist() == torch.get_rng_state().tolist()


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(("fill", "arguments"), FILLS, ids=str)
def test_fills(name, fill, arguments):
    for make in LAYOUTS.values():
        assert_same_draws(lambda f, make=make: getattr(make(f, getattr(f, name)), fill)(*arguments))


def test_a_full_range_without_end():
    for name in ("float16", "bfloat16", "float32", "float64", "uint8", "int32", "int64"):
        assert_same_draws(lambda f, name=name: f.zeros(20, dtype=getattr(f, name)).random_(3, None))


FRESH = [
    lambda f, dtype: f.rand(3, 17, dtype=dtype),
    lambda f, dtype: f.randn(3, 17, dtype=dtype),
    lambda f, dtype: f.rand_like(f.zeros((4, 6), dtype=dtype).t()),
    lambda f, dtype: f.randn_like(f.zeros((4, 6), dtype=dtype).t()),
    lambda f, dtype: f.randint(5, (20,), dtype=dtype),
    lambda f, dtype: f.randint(-5, 9, (20,), dtype=dtype),
    lambda f, dtype: f.randint(0, 2**28, (20,), dtype=dtype),
    lambda f, dtype: f.randint_like(f.zeros((4, 6), dtype=dtype).t(), 5),
    lambda f, dtype: f.randint_like(f.zeros((4, 6), dtype=dtype).t(), 2, 5),
    lambda f, dtype: f.randperm(20, dtype=dtype),
    lambda f, dtype: f.randperm(300, dtype=dtype),
    lambda f, dtype: f.randperm(-1, dtype=dtype),
    lambda f, dtype: f.normal(0.5, 1.5, (40,), dtype=dtype),
    lambda f, dtype: f.rand(3, dtype=dtype, generator=f.Generator().manual_seed(5)),
    lambda f, dtype: f.randperm(3, dtype=dtype, generator=f.Generator().manual_seed(5)),
    lambda f, dtype: f.ops.aten.uniform(f.zeros((4, 12), dtype=dtype).t(), 0.1, 0.7),
    lambda f, dtype: f.ops.aten.normal_functional(f.zeros((4, 12), dtype=dtype).t()),
]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("place", range(len(FRESH)))
def test_fresh_tensors(name, place):
    assert_same_draws(lambda f: FRESH[place](f, getattr(f, name)))


def numbers(f, dtype, count, scale=1.0):
    return (f.arange(count) * scale).to(dtype)


FROM_TENSORS = [
    lambda f, dtype: f.bernoulli(numbers(f, dtype, 40, 1 / 40).reshape(4, 10).t()),
    lambda f, dtype: f.bernoulli(numbers(f, dtype, 40), 0.3),
    lambda f, dtype: f.bernoulli(numbers(f, dtype, 3)),
    lambda f, dtype: f.bernoulli(numbers(f, dtype, 3, 0.3), out=f.empty(0, dtype=f.int32)),
    lambda f, dtype: f.zeros((4, 10)).t().bernoulli_(numbers(f, dtype, 40, 1 / 40).reshape(10, 4)),
    lambda f, dtype: f.zeros((4, 10)).bernoulli_(numbers(f, dtype, 10, 1 / 10)),
    lambda f, dtype: f.normal(numbers(f, dtype, 40), 2.5),
    lambda f, dtype: f.normal(numbers(f, dtype, 40).reshape(4, 10).t(), 2.5),
    lambda f, dtype: f.normal(2.5, numbers(f, dtype, 40)),
    lambda f, dtype: f.normal(2.5, numbers(f, dtype, 40, -1)),
    lambda f, dtype: f.normal(numbers(f, dtype, 40), numbers(f, dtype, 40)),
    lambda f, dtype: f.normal(numbers(f, dtype, 40), f.arange(2.0).reshape(2, 1)),
    lambda f, dtype: f.normal(numbers(f, dtype, 40), 1.0, out=f.empty(40, dtype=f.float64)),
    lambda f, dtype: f.multinomial(numbers(f, dtype, 39), 1),
    lambda f, dtype: f.multinomial(numbers(f, dtype, 39).reshape(3, 13), 7),
    lambda f, dtype: f.multinomial(numbers(f, dtype, 39).reshape(3, 13), 17, True),
    lambda f, dtype: f.multinomial(numbers(f, dtype, 39).reshape(3, 13), 17),
    lambda f, dtype: f.multinomial(numbers(f, dtype, 5, -1), 2),
    lambda f, dtype: f.multinomial(numbers(f, dtype, 5), 2, out=f.empty(2)),
    lambda f, dtype: f.poisson(numbers(f, dtype, 80, 0.4).reshape(20, 4).t()),
    lambda f, dtype: f.poisson(numbers(f, dtype, 5, -1)),
    lambda f, dtype: f.binomial(numbers(f, dtype, 80, 0.5).floor(), numbers(f, dtype, 80, 1 / 80)),
    lambda f, dtype: f.binomial(numbers(f, dtype, 80, 5), numbers(f, dtype, 80, 1 / 80)),
    lambda f, dtype: f.binomial(numbers(f, dtype, 3), f.ones(3, dtype=f.float64)),
    lambda f, dtype: f.dropout(numbers(f, dtype, 80, 1 / 80), 0.3, True),
    lambda f, dtype: f.dropout(numbers(f, dtype, 80, 1 / 80), 1.0, True),
    lambda f, dtype: f.dropout(numbers(f, dtype, 80, 1 / 80), 1.5, True),
    lambda f, dtype: f.dropout_(numbers(f, dtype, 80, 1 / 80), 0.3, True),
    lambda f, dtype: f.native_dropout(numbers(f, dtype, 80, 1 / 80).reshape(8, 10).t(), 0.3, True),
    lambda f, dtype: f.native_dropout(numbers(f, dtype, 80, 1 / 80), 0.3, False),
    lambda f, dtype: f.alpha_dropout(numbers(f, dtype, 80, 1 / 80), 0.3, True),
    lambda f, dtype: f.feature_dropout(numbers(f, dtype, 80).reshape(4, 5, 4), 0.3, True),
    lambda f, dtype: f.feature_alpha_dropout(numbers(f, dtype, 80).reshape(4, 5, 4), 0.3, True),
    lambda f, dtype: f.feature_dropout(numbers(f, dtype, 8), 0.3, True),
    lambda f, dtype: f.rrelu(numbers(f, dtype, 80, -0.1), 0.1, 0.3, True),
    lambda f, dtype: f.rrelu(numbers(f, dtype, 80, -0.1).reshape(8, 10).t(), 0.1, 0.3, True),
    lambda f, dtype: f.rrelu(numbers(f, dtype, 80, -0.1)),
    lambda f, dtype: f.rrelu(numbers(f, dtype, 8), 0.3, 0.1),
    lambda f, dtype: f.ops.aten.rrelu_with_noise(
        numbers(f, dtype, 80, -0.1), f.zeros(80, dtype=dtype), 0.1, 0.3, True
    ),
]


@pytest.mark.parametrize("name", [name for name in DTYPES if not name.startswith("uint")])
@pytest.mark.parametrize("place", range(len(FROM_TENSORS)))
def test_draws_that_tensors_describe(name, place):
    assert_same_draws(lambda f: FROM_TENSORS[place](f, getattr(f, name)))


@pytest.mark.parametrize(
    "name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "rrelu"]
)
@pytest.mark.parametrize("rank", range(1, 6))
@pytest.mark.parametrize("inplace", [False, True])
def test_functions(name, rank, inplace):
    def call(f):
        function = getattr(f.nn.functional, name)
        x = f.arange(2.0**rank).reshape((2,) * rank) - 3
        return function(x, inplace=inplace), x, function(x, training=True, inplace=inplace)

    assert_same_draws(call)
    assert_same_draws(lambda f: getattr(f.nn.functional, name)(f.ones((2,) * rank), 1.5))


def test_attention_with_dropout_draws_for_every_weight():
    aten.manual_seed(1)
    query = aten.ones((2, 4, 8))
    value = aten.ones((2, 6, 3))
    dropped = aten.nn.functional.scaled_dot_product_attention(
        query, aten.ones((2, 6, 8)), value, dropout_p=0.5
    )
    # Weights of 1/6, doubled or left out.
    thirds = {round(3 * number, 5) for number in dropped.flatten().tolist()}
    assert thirds <= set(range(7))
    assert len(thirds) > 1


def test_long_sequences_and_large_tensors():
    for count in (623, 624, 625, 100_003):
        assert_same_draws(lambda f, count=count: f.randn(count))
        assert_same_draws(lambda f, count=count: f.rand(count, dtype=f.float64))
        assert_same_draws(lambda f, count=count: f.randperm(count))


MANY = [
    lambda f, n: f.rand(n),
    lambda f, n: f.rand(n, dtype=f.float64),
    lambda f, n: f.empty(n).uniform_(-3.0, 0.7),
    lambda f, n: f.randn(n),
    lambda f, n: f.randn(n, dtype=f.float64),
    lambda f, n: f.randint(3, (n,)),
    lambda f, n: f.randint(1, (n,)),
    lambda f, n: f.randint(-5, (1 << 28) - 7, (n,)),
    lambda f, n: f.randint(2**40, 2**40 + 1000, (n,)),
    lambda f, n: f.empty(n).exponential_(2.0),
    lambda f, n: f.empty(n).geometric_(0.3),
    lambda f, n: f.empty(n).bernoulli_(0.25),
    lambda f, n: f.empty(n).bernoulli_(f.arange(n) / n),
    lambda f, n: f.empty(n, dtype=f.float64).bernoulli_(f.arange(n, dtype=f.float64) / n),
]


@pytest.mark.parametrize("count", [17, 311, 312, 313, 623, 624, 625, 9001, 70001])
@pytest.mark.parametrize("before", [0, 1, 7, 624])
@pytest.mark.parametrize("place", range(len(MANY)))
def test_many_numbers_begin_and_end_anywhere_among_the_words(place, before, count):
    assert_same_draws(lambda f: (f.rand(before), MANY[place](f, count), f.rand(3)))


def test_states_go_from_one_library_to_the_other():
    torch.manual_seed(11)
    torch.randn(3)  # leaves a spare number behind
    aten.set_rng_state(aten.tensor(torch.get_rng_state().tolist(), dtype=aten.uint8))
    assert aten.randn(5).tolist() == torch.randn(5).tolist()
    torch.set_rng_state(torch.tensor(aten.get_rng_state().tolist(), dtype=torch.uint8))
    assert aten.randn(50).tolist() == torch.randn(50).tolist()


@pytest.mark.parametrize("seed", [0, -1, 2**64 - 1, -(2**63), 2**64, -(2**63) - 1, 1.5, True, "1"])
def test_seeds(seed):
    def of_generator(f):
        return f.Generator().manual_seed(seed).initial_seed()

    def of_library(f):
        f.manual_seed(seed)
        return f.initial_seed()

    for expression in (of_generator, of_library):
        expected, given = run(torch, expression), run(aten, expression)
        if isinstance(expected, Exception):
            assert type(given) is type(expected)
        else:
            assert given == expected


@pytest.mark.parametrize("element", ["float16", "bfloat16", "float32", "float64"])
def test_many_draws_from_many_weights(element):
    """Sums of so many weights that half types could not hold them; rows that lie apart."""

    def draw(library):
        generator = library.Generator().manual_seed(7)
        weights = library.rand(300, 6, generator=generator) + 0.01
        rows = weights.to(getattr(library, element)).t()
        return library.multinomial(rows, 500, True, generator=generator).tolist()

    assert draw(aten) == draw(torch)


def test_rows_without_weights_have_nothing_to_draw():
    with pytest.raises(RuntimeError, match="positive sum"):
        aten.multinomial(aten.empty(50, 0), 1, True)
    assert aten.multinomial(aten.empty(0, 5), 3).shape == (0, 3)
