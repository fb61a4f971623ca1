"""Generators, and what does not need torch to be known of random numbers."""

from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import aten
from aten.ops.random.random import in_memory_order


def words(generator, count):
    """The engine's words."""
    made = aten.empty(count, dtype=aten.int64)
    generator.integers(made, 1 << 32, 0, False)
    return made.tolist()


def test_the_engine_is_the_mersenne_twister():
    """The C++ standard names the 10000th number of this seed."""
    assert words(aten.Generator().manual_seed(5489), 10_000)[-1] == 4123659995


def test_the_same_seed_brings_the_same_numbers():
    generator = aten.Generator().manual_seed(7)
    first = aten.rand(1000, generator=generator).tolist()
    assert generator.initial_seed() == 7
    assert aten.rand(1000, generator=generator).tolist() != first
    assert aten.rand(1000, generator=generator.manual_seed(7)).tolist() == first


def test_states_are_kept_and_brought_back():
    generator = aten.Generator().manual_seed(1)
    aten.randn(3, generator=generator)
    copies = [
        aten.Generator().set_state(generator.get_state()),
        generator.clone_state(),
        pickle.loads(pickle.dumps(generator)),
        copy.deepcopy(generator),
    ]
    expected = aten.randn(700, generator=generator).tolist()
    for other in copies:
        assert aten.randn(700, generator=other).tolist() == expected


def test_a_seed_nobody_chose():
    generator = aten.Generator()
    seeds = {generator.seed() for _ in range(4)}
    assert len(seeds) == 4
    assert generator.initial_seed() in seeds


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ([1], TypeError),
        (aten.zeros(5056), TypeError),
        (aten.zeros(10, dtype=aten.uint8), RuntimeError),
        (aten.zeros(5056, dtype=aten.uint8), RuntimeError),
        (aten.full((5056,), 255, dtype=aten.uint8), RuntimeError),
        (aten.zeros(2 * 5056, dtype=aten.uint8)[::2], RuntimeError),
    ],
)
def test_what_is_no_state_is_refused(state, error):
    generator = aten.Generator().manual_seed(1)
    with pytest.raises(error):
        generator.set_state(state)
    assert words(generator, 3) == words(aten.Generator().manual_seed(1), 3)


def test_generators_are_of_the_cpu():
    assert aten.Generator(device="cpu").device == aten.device("cpu")
    for place in ("meta", "cuda", "nowhere"):
        with pytest.raises(RuntimeError):
            aten.Generator(place)
    for other in (5, type("Generator", (), {})()):
        with pytest.raises(TypeError):
            aten.rand(3, generator=other)


def test_forks_put_the_state_back():
    aten.manual_seed(4)
    expected = aten.rand(3).tolist()
    aten.manual_seed(4)
    with pytest.raises(RuntimeError), aten.random.fork_rng():
        aten.rand(10).uniform_(2, 1)
    assert aten.rand(3).tolist() == expected
    with aten.random.fork_rng(enabled=False):
        aten.rand(10)
    assert aten.get_rng_state().tolist() != aten.Generator().manual_seed(4).get_state().tolist()


def test_threads_share_a_generator_without_drawing_twice():
    generator = aten.Generator().manual_seed(9)
    with ThreadPoolExecutor(8) as pool:
        pieces = list(pool.map(lambda _: tuple(words(generator, 5000)), range(64)))
    whole = words(aten.Generator().manual_seed(9), 5000 * 64)
    expected = {tuple(whole[place : place + 5000]) for place in range(0, len(whole), 5000)}
    assert set(pieces) == expected


def test_small_draws_between_large_ones_of_other_threads():
    def filled(sizes):
        for size in sizes:
            aten.empty(size).normal_(generator=generator)

    many, few = [20_000] * 20, [8] * 2_000
    generator = aten.Generator().manual_seed(3)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(filled, [many, few, few]))
    drawn = generator.get_state()
    generator.manual_seed(3)
    filled(many + few + few)
    # How far the engine has come does not depend on the order.
    assert drawn.tolist() == generator.get_state().tolist()


def test_nothing_is_drawn_for_meta():
    state = aten.get_rng_state().tolist()
    made = aten.randn((3, 4), device="meta").uniform_()
    assert made.is_meta
    assert aten.bernoulli(made).shape == (3, 4)
    assert aten.multinomial(made, 2).shape == (3, 2)
    assert aten.nn.functional.dropout(made).shape == (3, 4)
    assert aten.randperm(5, device="meta").dtype is aten.int64
    assert aten.get_rng_state().tolist() == state


def test_refused_fills_leave_everything_as_it_was():
    held = aten.arange(6.0)
    state = aten.get_rng_state().tolist()
    shared = held[:1].expand(4)
    for call in (shared.uniform_, shared.normal_, lambda: held.uniform_(2, 1)):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(RuntimeError):
        held.bernoulli_(aten.tensor([0.5, 2.0]).repeat(3))
    assert held.tolist() == list(range(6))
    assert aten.get_rng_state().tolist() == state


@pytest.mark.parametrize(
    ("draw", "dtype"),
    [
        (lambda out: aten.randn(2, 5, out=out), aten.uint8),
        (lambda out: aten.rand(2, 5, out=out), aten.int64),
        (lambda out: aten.normal(0.0, 1.0, (2, 5), out=out), aten.int8),
        (lambda out: aten.randint(9, (1 << 33, 1 << 8), out=out), aten.int8),
    ],
)
def test_results_that_are_refused_have_the_sizes_they_had(draw, dtype):
    out = aten.arange(24).to(dtype).view(4, 6)[1:, ::2]
    before = out.clone(), out.stride(), out.storage_offset()
    state = aten.get_rng_state()
    with pytest.raises(RuntimeError):
        draw(out)
    assert aten.equal(out, before[0])
    assert (out.stride(), out.storage_offset()) == before[1:]
    assert aten.equal(aten.get_rng_state(), state)


def test_writing_random_numbers_counts_as_writing():
    held = aten.zeros(3)
    version = held._version
    held.uniform_()
    assert held._version > version


def test_memory_order_is_that_of_the_strides():
    held = aten.zeros((2, 3, 4)).permute(2, 0, 1)
    assert in_memory_order(held, held).is_contiguous()
    assert in_memory_order(aten.zeros((4, 2, 3)), held).shape == (2, 3, 4)


def test_dropout_keeps_the_mean():
    aten.manual_seed(0)
    kept = aten.nn.functional.dropout(aten.ones(100_000), 0.3)
    assert set(kept.tolist()) == {0.0, float(aten.ones(()) / 0.7)}
    assert abs(float(kept.mean()) - 1) < 0.02


def test_numbers_that_are_none_are_no_end_of_drawing():
    nothing = aten.tensor([float("nan")])
    assert aten.binomial(nothing, aten.tensor([0.1])).isnan().all()
    assert aten.binomial(aten.tensor([3.0]), nothing).isnan().all()
    for call in (
        lambda: aten.poisson(nothing),
        lambda: aten.bernoulli(nothing),
        lambda: aten.multinomial(nothing, 1),
        lambda: aten.rand(3).uniform_(float("nan"), 1),
        lambda: aten.rand(3, dtype=aten.float64).uniform_(-float("inf"), float("inf")),
        lambda: aten.rand(3).geometric_(float("nan")),
        lambda: aten.rand(3).exponential_(float("nan")),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_children_draw_after_a_fork():
    aten.rand(3)
    child = os.fork()
    if child == 0:
        os._exit(0 if aten.rand(3).numel() == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_absurd_sizes_are_refused():
    with pytest.raises((RuntimeError, MemoryError)):
        aten.rand(1 << 60)
    with pytest.raises((RuntimeError, MemoryError)):
        aten.randperm(1 << 60)


def test_rates_that_became_none_end_all_the_same():
    rates = aten.tensor([-5.0, float("nan"), 3.0], dtype=aten.float64)
    drawn = aten.empty(3, dtype=aten.float64)
    aten.Generator().draw("poisson", drawn, rates)
    assert drawn[2] >= 0
