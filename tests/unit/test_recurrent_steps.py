"""The compiled steps of an LSTM: near to float64, and a sequence's bits its own."""

from __future__ import annotations

from math import ceil

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.matrix import matrix_tiles
from aten.backends.cpu.kernels.matrix.recurrent import lstm_steps, units_of_a_block
from aten.ops.networks.gates import MANY_STEPS

EPSILON = 2.0**-24


def operands(steps: int, batch: int, width: int, element: aten.dtype = aten.float32):
    generator = aten.Generator().manual_seed(steps + batch + width)
    sizes = (steps, batch, 4 * width), (batch, width), (batch, width), (4 * width, width)
    made = [aten.randn(size, generator=generator).to(element) for size in sizes]
    made[3] /= width**0.5
    return made


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def array(tensor):
    return numpy.array(tensor.tolist(), dtype=numpy.float64)


@pytest.mark.parametrize("width", [1, 3, 16, 17, 64, 100, 192])
@pytest.mark.parametrize("batch", [1, 2, 7, 33])
def test_near_to_float64(batch, width):
    """Each step, from the states that the one before gave.

    A sum is off by (width + 2) u of the sum of its products' sizes, a gate, whose slope is at most
    1, by as much and two units in its last place more; what is made of gates adds up their errors.
    """
    given = operands(6, batch, width)
    hiddens, cells, gates = map(array, aten.ops.fused.lstm_sequence(*given))
    added, hidden, cell, weight = map(array, given)
    for step, one in enumerate(added):
        sums = one + hidden @ weight.T
        sizes = abs(one) + abs(hidden) @ abs(weight.T)
        exact = sigmoid(sums)
        exact[:, 2 * width : 3 * width] = numpy.tanh(sums[:, 2 * width : 3 * width])
        off = (width + 2) * EPSILON * sizes + 4 * EPSILON
        assert (abs(gates[step] - exact) <= off).all()
        entering, keeping, candidate, leaving = numpy.split(exact, 4, axis=1)
        off_entering, off_keeping, off_candidate, off_leaving = numpy.split(off, 4, axis=1)
        exact_cell = keeping * cell + entering * candidate
        off_cell = off_entering + off_keeping * abs(cell) + off_candidate
        off_cell += 3 * EPSILON * (abs(cell) + 1)
        assert (abs(cells[step] - exact_cell) <= off_cell).all()
        off_hidden = off_leaving + off_cell + 6 * EPSILON
        assert (abs(hiddens[step] - leaving * numpy.tanh(exact_cell)) <= off_hidden).all()
        hidden, cell = hiddens[step], cells[step]


@pytest.mark.parametrize(("batch", "width"), [(1, 256), (5, 128), (8, 192), (16, 64)])
def test_threads_and_other_sequences_change_no_bit(batch, width):
    added, hidden, cell, weight = operands(5, batch, width)
    threads = aten.get_num_threads()
    expected = aten.ops.fused.lstm_sequence(added, hidden, cell, weight)
    try:
        aten.set_num_threads(1)
        alone = aten.ops.fused.lstm_sequence(added, hidden, cell, weight)
    finally:
        aten.set_num_threads(threads)
    for one, other in zip(alone, expected, strict=True):
        assert aten.equal(one, other)
    for row in range(batch):
        single = aten.ops.fused.lstm_sequence(
            added[:, row : row + 1], hidden[row : row + 1], cell[row : row + 1], weight
        )
        for one, other in zip(single, expected, strict=True):
            assert aten.equal(one, other[:, row : row + 1])


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize(("batch", "width"), [(1, 256), (1, 150), (3, 150), (1, 7), (9, 48)])
def test_blocks_of_any_size_give_the_same_bits(batch, width, vector_bytes):
    """Those of the weight as it lies, which few steps read: one row has a kernel of its own."""
    widest = matrix_tiles.vector_bytes()
    if vector_bytes > widest:
        pytest.skip("the processor has no such vectors")
    given = operands(MANY_STEPS, batch, width)
    matrix_tiles.set_vector_bytes(vector_bytes)
    try:
        expected = [aten.cat(one) for one in zip(*stepwise(MANY_STEPS, *given), strict=True)]
        lanes = vector_bytes // 4
        for units in (lanes, 2 * lanes, 3 * lanes):
            found = aten.ops.fused.lstm_blocks_sequence(*given[:3], in_blocks(given[3], units))
            for one, other in zip(found, expected, strict=True):
                assert aten.equal(one, other)
    finally:
        matrix_tiles.set_vector_bytes(widest)


def stepwise(steps, added, hidden, cell, weight):
    """What each step alone makes of the states of the one before."""
    for step in range(steps):
        made = aten.ops.fused.lstm_sequence(added[step : step + 1], hidden, cell, weight)
        hidden, cell = made[0][0], made[1][0]
        yield made


def in_blocks(weight, units):
    width = weight.shape[1]
    count = -(-width // units)
    blocks = aten.zeros(4, count * units, width)
    blocks[:, :width] = weight.view(4, width, width)
    return blocks.view(4, count, units, width).permute(1, 0, 3, 2).contiguous()


def test_blocks_are_whole_vectors_and_alike():
    threads = aten.get_num_threads()
    lanes = matrix_tiles.vector_bytes() // 4
    try:
        for count in (1, 2, 3, 4):
            aten.set_num_threads(count)
            for width in (1, 64, 96, 128, 250, 257, 650):
                for batch in (1, 3, 64):
                    units = units_of_a_block(width, batch)
                    assert units in (lanes, 2 * lanes, 3 * lanes)
                    blocks = ceil(width / units)
                    share = ceil(blocks / count) * units
                    assert share < width / count + 3 * lanes
    finally:
        aten.set_num_threads(threads)


def test_blocks_that_are_otherwise_are_served():
    """Of units that are no whole vectors, of doubles, turned: by the definition."""
    given = operands(5, 3, 40)
    expected = aten.ops.fused.lstm_sequence(*given)
    blocks = in_blocks(given[3], 10)
    others = [one.double() for one in given[:3]]
    turned = blocks.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    for before, after in ((given[:3], blocks), (others, blocks.double()), (given[:3], turned)):
        found = aten.ops.fused.lstm_blocks_sequence(*before, after)
        for one, other in zip(found, expected, strict=True):
            assert aten.allclose(one.float(), other, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="lstm_blocks_sequence: expected blocks"):
        aten.ops.fused.lstm_blocks_sequence(*given[:3], blocks[:3])
    with pytest.raises(RuntimeError, match="lstm_blocks_sequence: expected blocks"):
        aten.ops.fused.lstm_blocks_sequence(*given[:3], given[3])


@pytest.mark.parametrize("batch", [1, 5])
def test_programs_lay_weights_out_once(batch):
    model = aten.nn.LSTM(24, 50, num_layers=2).eval()
    rows = aten.randn(7, batch, 24)
    with aten.inference_mode():
        expected, (hidden, cell) = model(rows)
        compiled = aten.compile(lambda x: model(x))
        found, states = compiled(rows)
        (program,) = compiled.programs()
        called = [node.target for node in program.graph.nodes]
        assert called.count("fused.lstm_blocks_sequence.default") == 2
        assert aten.allclose(found, expected, atol=1e-6)
        assert aten.allclose(states[0], hidden, atol=1e-6)
        assert aten.allclose(states[1], cell, atol=1e-6)
    with aten.no_grad():
        model.weight_hh_l1.mul_(0.5)
    with aten.inference_mode():
        assert aten.allclose(compiled(rows)[0], model(rows)[0], atol=1e-6)


def test_extreme_numbers():
    added, hidden, cell, weight = operands(4, 1, 8)
    values = [0.0, -0.0, 1e-30, -1e-30, 90.0, -90.0, float("inf"), float("-inf")]
    added[0, 0, :8] = aten.tensor(values)
    added[0, 0, 8:16] = 100.0
    added[0, 0, 16:24] = aten.tensor(values)
    hidden.zero_()
    _, cells, gates = aten.ops.fused.lstm_sequence(added, hidden, cell, weight)
    entering, candidate = gates[0, 0, :8], gates[0, 0, 16:24]
    exact = added[0, 0, :8].double()
    # A sigmoid that is no normal number is 0.
    assert aten.allclose(entering, exact.sigmoid().float(), rtol=4 * EPSILON, atol=2.0**-126)
    assert aten.allclose(candidate, exact.tanh().float(), rtol=4 * EPSILON, atol=0)
    assert not cells.isnan().any()
    added[1, 0, 3] = float("nan")
    hiddens, cells, _ = aten.ops.fused.lstm_sequence(added, hidden, cell, weight)
    assert cells[1, 0].isnan().tolist() == [place == 3 for place in range(8)]
    assert hiddens[2, 0].isnan().all()


def test_strides_and_other_types_are_served():
    given = operands(5, 3, 40)
    expected = aten.ops.fused.lstm_sequence(*given)
    turned = [one.transpose(-1, -2).contiguous().transpose(-1, -2) for one in given]
    for one, other in zip(aten.ops.fused.lstm_sequence(*turned), expected, strict=True):
        assert aten.equal(one, other)
    doubles = [one.double() for one in given]
    for one, other in zip(aten.ops.fused.lstm_sequence(*doubles), expected, strict=True):
        assert one.dtype is aten.float64
        assert aten.allclose(one.float(), other, rtol=1e-4, atol=1e-5)


def test_operands_that_do_not_go_together_are_refused():
    added, hidden, cell, weight = operands(4, 2, 8)
    weights = in_blocks(weight, matrix_tiles.vector_bytes() // 4)
    outs = aten.empty(4, 2, 8), aten.empty(4, 2, 8), aten.empty(4, 2, 32)
    assert lstm_steps(added, hidden, cell, weights, *outs)
    expected = [one.clone() for one in outs]
    assert lstm_steps(added, hidden, cell, weight, *outs)
    assert all(aten.equal(one, other) for one, other in zip(outs, expected, strict=True))
    for place, wrong in (
        (0, added[:3]),
        (0, added.double()),
        (1, hidden[:1]),
        (2, cell.t().contiguous()),
        (3, weights[..., :3].contiguous()),
        (3, weights[:, :3].contiguous()),
        (3, weights.flatten()),
        (3, weight.t().contiguous()),
    ):
        changed = [added, hidden, cell, weights, *outs]
        changed[place] = wrong
        with pytest.raises(RuntimeError, match="do not go together"):
            lstm_steps(*changed)
    with pytest.raises(RuntimeError):
        aten.ops.fused.lstm_sequence(added, hidden, cell, weight[:, :4])
