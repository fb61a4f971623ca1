"""Plans of reductions: what is cut, edges of the cuts, replay on other tensors, metadata only."""

import math

import numpy as np
import pytest

import aten
from aten._core.base.dtypes import DTYPES
from aten.backends.cpu.target import HOST
from aten.backends.plans import Memory, plan_graph, row_major
from aten.ops.folding import fold
from aten.prims import Graph, GraphInterpreter

CHUNK = HOST.chunk
LEAST = HOST.chunk * HOST.least_chunks
# Of rows whose elements lie four steps apart: one chunk, and the fewest elements that are cut.
LANES = HOST.wide // 4 * HOST.lane
LEAST_LANES = HOST.wide // 4 * HOST.least_lane


def programs_of(shape, dims, strides=None):
    """The names of the programs that a sum's plan asks for."""
    interpreter = GraphInterpreter()
    x = interpreter.input(0, DTYPES["float32"], shape)
    graph = Graph("sum", [x.payload], [fold("sum", x, dims).payload])
    names = []

    def generate(program):
        names.append(program.name)
        return 0, None

    memory = Memory(0, DTYPES["float32"], shape, strides or row_major(shape))
    plan_graph(graph, [memory], generate=generate, device_type=0, single=True)
    return names


@pytest.mark.parametrize(
    ("shape", "dims", "names"),
    [
        ((LEAST,), (0,), ["sum_partial", "sum"]),
        ((LEAST + 1,), (0,), ["sum_partial", "sum_partial", "sum"]),
        ((LEAST - 1,), (0,), ["sum"]),
        ((32, LEAST), (1,), ["sum_partial", "sum"]),
        ((33, LEAST), (1,), ["sum_partial", "sum"]),
        ((LEAST, HOST.narrow + 1), (0,), ["sum_partial", "sum"]),
        ((LEAST, 4), (0,), ["sum_partial", "sum_partial", "sum_partial", "sum"]),
        ((LANES + 1, 4), (0,), ["sum_partial", "sum_partial", "sum"]),
        ((LANES - 1, 4), (0,), ["sum_partial", "sum_partial", "sum"]),
        ((LEAST_LANES - 1, 4), (0,), ["sum"]),
    ],
)
def test_long_rows_are_cut_however_many_they_are(shape, dims, names):
    assert programs_of(shape, dims) == names


@pytest.mark.parametrize("count", [LEAST - 1, LEAST, LEAST + 1, LEAST + CHUNK - 1, LEAST + CHUNK])
def test_no_element_is_lost_at_the_cuts(count):
    x = aten.from_numpy(np.arange(count, dtype=np.int64))
    assert x.sum().item() == count * (count - 1) // 2
    assert x.amax().item() == count - 1
    ones = aten.from_numpy(np.ones(count, dtype=np.float32))
    assert ones.mean().item() == 1.0
    assert ones.argmax().item() == 0


def test_a_cut_reduction_over_strided_rows():
    x = np.random.default_rng(0).standard_normal((3, LEAST, 2)).astype(np.float32)
    ours = aten.from_numpy(x).sum(1)
    np.testing.assert_allclose(ours.numpy(), x.sum(1, dtype=np.float64), rtol=1e-3, atol=1e-2)
    exact = aten.from_numpy((x * 64).astype(np.int32)).sum((1, 2))
    assert exact.tolist() == (x * 64).astype(np.int32).sum((1, 2), dtype=np.int64).tolist()


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("step", [2, 3, 8, 32, 33])
@pytest.mark.parametrize("count", [700, 8192, 8193, 40000])
def test_interleaved_pieces_and_the_gaps_between_them(name, step, count):
    values = np.random.default_rng(0).integers(0, 3, (2, count, step)).astype(name)
    x = aten.from_numpy(values)
    exact = np.int64 if name == "int64" else np.float64
    windows = [slice(None), slice(0, 1), slice(1, 2), slice(0, None, 2), slice(1, None)]
    for columns in windows:
        found = x[:, :, columns].sum(1, dtype=aten.float64 if exact is np.float64 else None)
        expected = values[:, :, columns].sum(1, dtype=exact)
        np.testing.assert_array_equal(found.numpy(), expected)
        found = x[:, :, columns].permute(2, 1, 0).amax(1)
        np.testing.assert_array_equal(found.numpy(), values[:, :, columns].max(1).T)
    first = x[0, :, 0].sum(dtype=aten.float64 if exact is np.float64 else None)
    assert first.item() == values[0, :, 0].sum(dtype=exact)


@pytest.mark.parametrize("step", [2, 3, 8, 32])
def test_a_narrow_column_has_the_same_bits_alone(step):
    values = np.random.default_rng(0).standard_normal((9001, step)).astype(np.float32)
    x = aten.from_numpy(values)
    together = x.sum(0).tolist()
    assert together == [x[:, column].sum().item() for column in range(step)]
    assert together[1:] == x[:, 1:].sum(0).tolist()
    assert together[::2] == x[:, ::2].sum(0).tolist()
    np.testing.assert_allclose(together, values.sum(0, dtype=np.float64), rtol=1e-5, atol=1e-4)


def test_what_lies_in_the_gaps_stays_there():
    values = np.full((9001, 4), np.nan, np.float32)
    values[:, 1] = 1
    x = aten.from_numpy(values)
    assert x[:, 1].sum().item() == 9001
    assert x[:, 1:2].mean(0).tolist() == [1.0]
    assert x[:, 1:3].amax(0)[0].item() == 1


def test_one_plan_serves_all_tensors_of_a_geometry():
    x, y = aten.tensor([[1.0, 2.0], [3.0, 4.0]]), aten.tensor([[5.0, 6.0], [7.0, 8.0]])
    first, second = x.sum(1), y.sum(1)
    assert (first.tolist(), second.tolist()) == ([3.0, 7.0], [11.0, 15.0])


def test_attributes_and_layouts_have_plans_of_their_own():
    x = aten.tensor([[1.0, 2.0], [3.0, 5.0]])
    results = [x.sum(0), x.sum(1), x.t().sum(0), x.sum(0, True), x.sum(dtype=aten.int64)]
    assert [one.tolist() for one in results] == [
        [4.0, 7.0],
        [3.0, 8.0],
        [3.0, 8.0],
        [[4.0, 7.0]],
        11,
    ]
    assert x.var(1, correction=0).tolist() == [0.25, 1.0]
    assert x.var(1, correction=1).tolist() == [0.5, 2.0]
    assert x.var(1, unbiased=False).tolist() == [0.25, 1.0]


def test_more_geometries_than_a_kernel_keeps_plans_for():
    for count in [*range(1, 1200), *range(1, 20)]:
        assert aten.from_numpy(np.ones(count, dtype=np.float32)).sum().item() == count


@pytest.mark.parametrize(
    ("shape", "dim", "expected"),
    [((0, 3), 0, [0.0, 0.0, 0.0]), ((3, 0), 0, []), ((3, 0), 1, [0.0, 0.0, 0.0]), ((0,), 0, 0.0)],
)
def test_empty_reductions(shape, dim, expected):
    assert aten.from_numpy(np.ones(shape, dtype=np.float32)).sum(dim).tolist() == expected


def test_meta_tensors_get_metadata_without_code():
    x = aten.empty([1 << 20, 1 << 20], device="meta")
    total = x.sum(1)
    assert (total.device.type, tuple(total.shape), total.dtype) == (
        "meta",
        (1 << 20,),
        aten.float32,
    )


def test_results_without_folds_lie_as_their_operands_do():
    x = aten.arange(24.0).view(2, 3, 4).permute(2, 0, 1)
    losses = aten.ops.aten.mse_loss(x, x + 1, 0)
    assert losses.stride() == x.stride()
    assert losses.tolist() == aten.ones(4, 2, 3).tolist()
    spread = aten.ones(1, 3).expand(2, 3)
    assert aten.ops.aten.mse_loss(spread, spread, 0).stride() == (3, 1)


def test_statistics_of_empty_rows_are_written():
    out, mean, deviation = aten.native_layer_norm(aten.ones(2, 0), [0], None, None, 1e-5)
    assert out.shape == (2, 0)
    assert mean.tolist() == [[0.0], [0.0]]
    assert np.isnan(deviation.numpy()).all()


def test_arguments_of_another_type_have_plans_of_their_own():
    x = aten.tensor([[3.0, 4.0]])
    for _ in range(2):
        assert aten.norm(x, 2).item() == 5.0
        assert aten.norm(x, 2.0).item() == 5.0
        assert aten.norm(x, 1).item() == 7.0
        assert aten.norm(x, True).item() == 7.0
        assert aten.sum(x, [1], True).tolist() == [[7.0]]
        assert aten.sum(x, (1,), False).tolist() == [7.0]
        assert aten.sum(x, [0, 1]).item() == 7.0


def test_a_kernel_remembers_plans_whatever_order_they_come_in():
    generator = np.random.default_rng(0)
    values = [aten.ones(int(count)) for count in generator.integers(1, 900, 1500)]
    for value in [*values, *reversed(values[:100])]:
        assert value.sum().item() == value.numel()


def test_results_of_several_have_names_and_are_tuples():
    found = aten.tensor([[1.0, 3.0], [4.0, 2.0]]).max(dim=1)
    values, indices = found
    assert (found.values is values, found[1] is indices, isinstance(found, tuple)) == (True,) * 3
    assert (values.tolist(), indices.tolist(), len(found)) == ([3.0, 4.0], [1, 0], 2)


@pytest.mark.parametrize("order", [3, -2, 0.5])
def test_what_follows_from_folds_may_use_a_value_many_times(order):
    """A power in float64 is expanded to steps that use each other some 2**46 times over."""
    x = np.arange(1, LEAST + 100, dtype=np.float64) / LEAST
    expected = (x**order).sum() ** (1 / order)
    found = aten.linalg.vector_norm(aten.from_numpy(x), order).item()
    assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("element", ["bool", "uint8", "int64", "float32", "bfloat16", "complex64"])
@pytest.mark.parametrize("steps", [(3, 1), (1, 3, 1), (-1,), "expanded"], ids=str)
def test_nothing_is_folded_at_once_whatever_the_other_sizes_are(element, steps):
    # Loops around one that is not entered took 2^63 rounds.
    huge, dtype = 2**63 - 1, getattr(aten, element)
    if steps == "expanded":
        x = aten.empty(1, 0, dtype=dtype).expand(5, 0)
    elif steps == (-1,):
        x = aten.empty(4, 0, dtype=dtype).t()
    else:
        sizes = {2: (0, huge), 3: (0, huge, 3)}[len(steps)]
        x = aten.empty(0, dtype=dtype).as_strided(sizes, steps)
    assert x.sum().item() == 0
    assert x.prod().item() == 1
    assert not x.any().item()
    assert x.all().item()
    assert x.eq(x).all().item()
    if dtype.is_floating_point:
        assert math.isnan(x.mean().item())
        assert math.isnan(x.var().item())
        assert x.norm().item() == 0


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("element", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", ["sum", "logsumexp", "var", "softmax"])
def test_rows_of_few_elements_have_the_same_bits_however_they_lie(name, element, count):
    """They are folded one element after the other: alone, beside others, with a step, one line."""
    rows = (3 * aten.randn(100, 2, count)).to(getattr(aten, element))
    turned = rows.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    apart = rows.repeat_interleave(3, dim=2)[..., ::3]

    def folded(tensor):
        return getattr(tensor, name)(-1).to(aten.float64)

    together = folded(rows)
    for other in (turned, apart, rows.flatten(0, 1).unflatten(0, (100, 2))):
        assert aten.equal(folded(other).nan_to_num(5), together.nan_to_num(5))
    for row in range(0, 100, 9):
        assert aten.equal(folded(rows[row, 1]).nan_to_num(5), together[row, 1].nan_to_num(5))
    if (name, element) == ("sum", "float32"):
        total = rows[..., 0].clone()
        for place in range(1, count):
            total += rows[..., place]
        assert aten.equal(together.float(), total)
