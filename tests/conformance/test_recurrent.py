"""Recurrent cells and layers against torch: gates, layers, directions, packed sequences."""

from __future__ import annotations

import itertools

import pytest
from comparison import compare, torch

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
STEPS, BATCH, WIDTH, HIDDEN = 5, 4, 3, 2
TOLERANCE = {"tolerance": 1e-5, "absolute": 1e-5}


def numbers(*shape: int):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def weights(name: str, layers: int, directions: int, biases: bool, projection: int = 0):
    rows, made = GATES[name] * HIDDEN, []
    width = projection or HIDDEN
    for layer, _ in itertools.product(range(layers), range(directions)):
        made += [numbers(rows, width * directions if layer else WIDTH), numbers(rows, width)]
        made += [numbers(rows), numbers(rows + 1)[1:]] if biases else []
        made += [numbers(projection, HIDDEN)] if projection else []
    return made


def states(name: str, count: int, projection: int = 0):
    hidden = numbers(count, BATCH, projection or HIDDEN)
    return [hidden, numbers(count, BATCH, HIDDEN)] if name == "lstm" else hidden


@pytest.mark.parametrize("name", list(GATES))
@pytest.mark.parametrize(("layers", "bidirectional"), [(1, False), (1, True), (3, True)])
def test_layers(name, layers, bidirectional):
    directions = 1 + bidirectional
    for biases, batch_first in itertools.product((True, False), repeat=2):
        input = numbers(*((BATCH, STEPS) if batch_first else (STEPS, BATCH)), WIDTH)

        def run(library, input, hx, params, biases=biases, batch_first=batch_first):
            rest = biases, layers, 0.0, False, bidirectional, batch_first
            return getattr(library, name)(input, hx, params, *rest)

        hx = states(name, layers * directions)
        compare(run, input, hx, weights(name, layers, directions, biases), **TOLERANCE)


@pytest.mark.parametrize("name", list(GATES))
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences(name, bidirectional):
    sizes = torch.tensor([4, 4, 2, 1, 1])
    data = numbers(int(sizes.sum()), WIDTH)

    def run(library, data, sizes, hx, params):
        return getattr(library, name)(data, sizes, hx, params, True, 2, 0.0, False, bidirectional)

    directions = 1 + bidirectional
    hx = states(name, 2 * directions)
    compare(run, data, sizes, hx, weights(name, 2, directions, True), **TOLERANCE)


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_projections():
    def run(library, input, hx, params):
        return library.lstm(input, hx, params, True, 2, 0.0, False, False, False)

    params = weights("lstm", 2, 1, True, projection=1)
    compare(run, numbers(STEPS, BATCH, WIDTH), states("lstm", 2, 1), params, **TOLERANCE)


@pytest.mark.parametrize("name", list(GATES))
def test_cells(name):
    def run(library, input, hx, params):
        return getattr(library, f"{name}_cell")(input, hx, *params)

    for biases in (True, False):
        hx = states(name, 1)
        hx = [one[0] for one in hx] if name == "lstm" else hx[0]
        params = weights(name, 1, 1, biases)
        compare(run, numbers(BATCH, WIDTH), hx, params, **TOLERANCE)
        compare(run, numbers(BATCH, WIDTH + 1), hx, params)
        compare(run, numbers(BATCH + 1, WIDTH), hx, params)


@pytest.mark.parametrize("name", list(GATES))
def test_sizes_that_do_not_go_together(name):
    def run(library, input, hx, params):
        return getattr(library, name)(input, hx, params, True, 1, 0.0, False, False, False)

    params, hx = weights(name, 1, 1, True), states(name, 1)
    compare(run, numbers(0, BATCH, WIDTH), hx, params)
    if name == "lstm":  # torch takes any width and number of layers there
        return
    compare(run, numbers(STEPS, BATCH, WIDTH + 1), hx, params)
    compare(run, numbers(STEPS, BATCH, WIDTH), states(name, 2), params)
