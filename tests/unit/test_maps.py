"""Maps in stretches: rare values, strided operands in buffers, long bodies in stages."""

import math

import numpy as np
import pytest
from loop_programs import program_of, run

import aten
from aten._core.base.dtypes import DTYPES
from aten.backends.cpu.codegen import lacking, llvm_ir
from aten.backends.cpu.jit import session
from aten.backends.cpu.stages import stages_of
from aten.loops.pipeline import lower, prepare
from aten.prims import Graph, GraphInterpreter
from aten.prims import elementwise as p

FLOAT = DTYPES["float32"]
# With arguments that all have usual values, and one of each kind that has not.
RARE = {
    "exp": [-200.0, -100.0, 88.0, 300.0, math.inf, -math.inf, math.nan],
    "exp2": [-150.0, 127.9, 300.0, math.inf, -math.inf, math.nan],
    "log": [0.0, -0.0, -1.0, 1e-45, math.inf, -math.inf, math.nan],
    "log2": [0.0, -2.0, 1e-40, math.inf, math.nan],
    "log10": [0.0, -2.0, 1e-40, math.inf, math.nan],
    "sin": [205880.0, 205900.0, 1e30, math.inf, math.nan],
    "cos": [-205880.0, -205900.0, -3e38, -math.inf, math.nan],
    "tan": [205880.0, 205900.0, 1e20, math.inf, math.nan],
    "sqrt": [0.0, -0.0, -1.0, 1e-45, 1e-35, math.inf, math.nan],
    "rsqrt": [0.0, -0.0, -1.0, 1e-45, math.inf, math.nan],
    "atan": [15.0, -15.0, 1e30, math.inf, -math.inf, math.nan],
    "sigmoid": [7.6, -7.6, 17.0, -17.0, -100.0, math.inf, -math.inf, math.nan],
    "lgamma": [-0.3, -1.5, -200.25, -3.0, 0.0, -0.0, 1e-45, math.inf, -math.inf, math.nan],
    "erfc": [4.4, -4.4, 7.5, -8.0, 10.0, 30.0, math.inf, -math.inf, math.nan],
}
LENGTHS = (1, 15, 64, 511, 512, 513, 1300)


def bits(tensor):
    return tensor.numpy().view(np.int32)


@pytest.mark.parametrize("name", sorted(RARE))
def test_bits_do_not_depend_on_what_is_beside_an_element(name):
    """One unusual argument sends its whole stretch the other way."""
    function = getattr(aten, name)
    usual = np.random.default_rng(1).uniform(0.01, 6.0, max(LENGTHS)).astype(np.float32)
    alone = bits(function(aten.from_numpy(usual)))
    for special in RARE[name]:
        single = function(aten.tensor([special]))
        for length in LENGTHS:
            place = length * 2 // 3
            mixed = usual[:length].copy()
            mixed[place] = special
            found = function(aten.from_numpy(mixed)).numpy()
            np.testing.assert_array_equal(found[place], single.numpy()[0])
            others = np.arange(length) != place
            assert (found.view(np.int32)[others] == alone[:length][others]).all(), special


@pytest.mark.parametrize("name", ["cos", "sin", "tan"])
def test_far_angles_of_float64_leave_their_neighbours_alone(name):
    function = getattr(aten, name)
    usual = np.random.default_rng(1).uniform(-1e6, 1e6, 1300)
    alone = function(aten.from_numpy(usual)).numpy()
    far = [2.0**20, -1.5 * 2.0**20, 1e22, -1e300, math.inf, math.nan]
    mixed = usual.copy()
    mixed[200 : 200 + 100 * len(far) : 100] = far
    found = function(aten.from_numpy(mixed)).numpy()
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(mixed)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    same = mixed == usual
    assert same.sum() == len(usual) - len(far)
    np.testing.assert_array_equal(found[same].view(np.int64), alone[same].view(np.int64))


def test_rare_points_leave_the_angles_of_others_alone():
    y, x = np.random.default_rng(3).standard_normal((2, 1300)).astype(np.float32)
    alone = aten.atan2(aten.from_numpy(y), aten.from_numpy(x))
    points = [(math.inf, 1), (1e-40, 1e-38), (1e-35, -3), (3e38, 2e38), (math.nan, 1), (-0.0, -0.0)]
    places = 100 + 200 * np.arange(len(points))
    mixed = y.copy(), x.copy()
    for place, point in zip(places, points, strict=True):
        mixed[0][place], mixed[1][place] = point
    found = aten.atan2(*map(aten.from_numpy, mixed))
    expected = np.arctan2(*(one.astype(np.float64) for one in mixed))
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-7)
    others = np.setdiff1d(np.arange(1300), places)
    np.testing.assert_array_equal(bits(found)[others], bits(alone)[others])


@pytest.mark.parametrize("name", sorted(RARE))
def test_results_may_overwrite_their_arguments(name):
    arguments = np.random.default_rng(2).uniform(0.01, 6.0, 1300).astype(np.float32)
    arguments[700:1000:7] = np.resize(RARE[name], 43)
    expected = getattr(aten, name)(aten.from_numpy(arguments)).numpy()
    x = aten.from_numpy(arguments.copy())
    getattr(aten, name)(x, out=x)
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("step", [2, 3])
def test_strided_operands_are_the_same_bits(dtype, step):
    flat = aten.from_numpy(np.linspace(-90, 90, 3001).astype(np.float32)).to(getattr(aten, dtype))
    x = flat[::step]
    expected = aten.exp(x.contiguous())
    assert aten.equal(aten.exp(x), expected)
    table = aten.zeros(x.shape[0], 2, dtype=x.dtype)
    aten.exp(x, out=table[:, 1])
    assert aten.equal(table[:, 1], expected)
    assert not table[:, 0].any()


def test_a_strided_operand_may_be_overwritten():
    table = aten.from_numpy(np.linspace(-3, 3, 2600).astype(np.float32).reshape(1300, 2))
    expected = aten.exp(table[:, 0].contiguous())
    second = table[:, 1].contiguous()
    table[:, 0].exp_()
    assert aten.equal(table[:, 0], expected)
    assert aten.equal(table[:, 1], second)


def test_bits_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(3).normal(0, 50, 300_000).astype(np.float32)
    x[::4097] = 1e6
    before = aten.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            aten.set_num_threads(threads)
            found.append(
                [bits(getattr(aten, name)(aten.from_numpy(x))) for name in ("sin", "sigmoid")]
            )
    finally:
        aten.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert (one == other).all()


def test_only_a_cheap_condition_is_tested():
    tested = llvm_ir(program_of(p.exp))
    hidden = llvm_ir(program_of(lambda x: p.exp(p.erf(x))))
    carried = ("phi i1", "llvm.smax")
    assert any(mark in tested for mark in carried)
    assert not any(mark in hidden for mark in carried)


def test_blocks_are_tested_where_there_are_masks():
    if not session().has_masks:
        pytest.skip("no masks: stretches of 512 elements")
    assert "icmp sge i64" in llvm_ir(program_of(p.exp))
    assert "icmp sge i64" not in llvm_ir(program_of(p.exp, access="any"))


def test_blocks_with_much_to_compute_ask_ahead():
    if not session().has_masks:
        pytest.skip("no masks: no blocks")
    asks = {
        "tanh": "llvm.prefetch" in llvm_ir(program_of(p.tanh)),
        "neg": "llvm.prefetch" in llvm_ir(program_of(p.neg)),
        "neg of strides": "llvm.prefetch" in llvm_ir(program_of(p.neg, access="any")),
    }
    assert asks == {"tanh": True, "neg": False, "neg of strides": False}


@pytest.mark.parametrize("name", ["acos", "log1p", "tanh"])
def test_long_bodies_compute_blocks_and_what_is_left_alike(name):
    x = np.random.default_rng(5).uniform(-0.99, 0.99, max(LENGTHS)).astype(np.float32)
    program = program_of(getattr(p, name), lacking=lacking())
    whole = run(program, x)
    for length in LENGTHS:
        for begin in (0, 1, 5):
            part = np.ascontiguousarray(x[begin : begin + length])
            np.testing.assert_array_equal(run(program, part), whole[begin : begin + length])


def test_folds_take_the_general_value():
    interpreter = GraphInterpreter()
    x = interpreter.input(0, FLOAT, (3, 5))
    graph = Graph("test", [x.payload], [p.exp(x).payload])
    assert "rare" in str(lower(prepare(graph), accesses=("unit", "unit")))
    assert "rare" not in str(lower(prepare(graph), accesses=("unit", "unit"), reduced_rank=1))


def test_long_bodies_become_stages_that_pass_on_what_is_needed():
    program = program_of(p.lgamma)
    (block,) = program.blocks
    stages = stages_of(block.instructions, lambda one: one.operands)
    assert len(stages) > 2
    given = {}
    for stage in stages:
        known = {id(one) for _, one in stage.taken}
        assert all(given[slot] == id(one) for slot, one in stage.taken)
        for one in stage.body:
            assert all(id(operand) in known for operand in one.operands)
            known.add(id(one))
        given.update({slot: id(one) for slot, one in stage.left})
    stores = [one.operation == "store" for stage in stages for one in stage.body]
    assert stores == sorted(stores)


def test_short_bodies_are_one_stage():
    (block,) = program_of(lambda x: x * x + x).blocks
    (stage,) = stages_of(block.instructions, lambda one: one.operands)
    assert stage.body == block.instructions


@pytest.mark.parametrize("element", [np.float32, np.float64])
def test_remainders_are_exact(element):
    """Against C's fmod, over the bits of all numbers, and next to multiples of the divisor."""
    random = np.random.default_rng(4)
    integer = {4: np.int32, 8: np.int64}[np.dtype(element).itemsize]
    limits = np.iinfo(integer)
    count = 4000
    anything = [
        random.integers(limits.min, limits.max, count, dtype=integer).view(element)
        for _ in range(2)
    ]
    divisors = random.normal(0, 3, count).astype(element)
    multiples = (divisors * random.integers(-5000, 5000, count)).astype(element)
    near = [np.nextafter(multiples, random.choice([-np.inf, np.inf], count)), divisors]
    long = [(random.normal(0, 1, count) * 1e17).astype(element), divisors]
    edges = np.array([0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, np.nan, 1e-40], element)
    all_edges = [grid.ravel() for grid in np.meshgrid(edges, edges)]
    for x, y in (anything, near, long, all_edges):
        x, y = x.astype(element), y.astype(element)
        with np.errstate(all="ignore"):
            expected = np.fmod(x, y)
        found = aten.fmod(aten.from_numpy(x), aten.from_numpy(y)).numpy()
        np.testing.assert_array_equal(found, expected)
        numbers = ~np.isnan(expected)
        assert (np.signbit(found) == np.signbit(expected))[numbers].all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["neg", "exp"])
def test_rows_shorter_than_whole_vectors_end_where_they_end(name, dtype):
    """What is left of whole vectors writes its own elements and no others."""
    function = getattr(aten, name)
    kind = getattr(aten, dtype)
    values = aten.from_numpy(np.random.default_rng(3).uniform(-5, 5, (3, 140)).astype("f4"))
    single = function(values.to(kind))
    for width in (*range(1, 36), 63, 64, 65, 127, 128, 129):
        out = aten.full((3, 140), 7.0, dtype=kind)
        function(values.to(kind)[:, :width], out=out[:, :width])
        assert aten.equal(out[:, :width], single[:, :width])
        assert out[:, width:].eq(7.0).all()
