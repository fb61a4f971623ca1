"""Linear layers of exported programs, whose weights lie in strips from the second call on: the bits
of all calls, what is seen of writes, and where the operator itself is called."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import aten
from aten import nn
from aten.export import Dim
from aten.graph import strip_products
from aten.graph.strip_products import StripProduct, _Weight
from aten.library import Library
from aten.overrides import TorchFunctionMode
from aten.utils._python_dispatch import TorchDispatchMode

DEPTH, COLUMNS = 384, 400


class Layers(nn.Module):
    """Products of each kind that programs have, with weights of their own."""

    def __init__(self, dtype=aten.float32):
        super().__init__()
        self.linear = nn.Linear(DEPTH, COLUMNS, dtype=dtype)
        self.plain = nn.Linear(DEPTH, COLUMNS, bias=False, dtype=dtype)
        self.matrix = nn.Parameter(aten.randn(DEPTH, COLUMNS, dtype=dtype))
        self.small = nn.Linear(COLUMNS, 8, dtype=dtype)

    def forward(self, x):
        return (
            self.linear(x),
            self.plain(x.unsqueeze(0)),
            aten.addmm(self.linear.bias, x, self.matrix),
            aten.mm(x, self.matrix),
            x.unsqueeze(1) @ self.matrix,
            self.small(self.linear(x)),
        )


def exported(dtype=aten.float32, rows=None):
    aten.manual_seed(5)
    shapes = ({0: Dim("rows", min=1, max=4096)},)
    program = aten.export.export(
        Layers(dtype),
        (aten.randn(rows or 7, DEPTH, dtype=dtype),),
        dynamic_shapes=None if rows else shapes,
    )
    for one in program.parameters():
        one.requires_grad_(False)
    return program


def products(program):
    """The calls of a program that has run which do not go to their operator at once."""
    return [
        step.function for step in program._interpreter.steps if type(step.function) is StripProduct
    ]


def held(program):
    """For each weight, whether its strips are there."""
    return [one.has_strips for one in {product.weight for product in products(program)}]


def assert_close(found, expected):
    """Both are off by at most as much as sums of `DEPTH` products, of numbers about 1, are."""
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype is other.dtype
        unit = 2.0**-24 if one.dtype is aten.float32 else 2.0**-53
        bound = 2 * (DEPTH + 2) * unit * DEPTH
        assert bool(((one - other).abs() <= bound).all())


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert aten.equal(one, other)
        assert one.stride() == other.stride()


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64])
def test_calls_have_the_same_bits_and_keep_strips_from_the_second_on(dtype):
    program = exported(dtype)
    module = program.module()
    x = aten.randn(33, DEPTH, dtype=dtype)
    found = []
    kept = []
    for _ in range(4):
        found.append(module(x))
        kept.append(held(program))
    # In one call two weights are read more than once.
    assert sorted(kept[0]) == [False, True, True]
    assert kept[1:] == [[True] * 3] * 3
    for one in found[1:]:
        assert_same_bits(one, found[0])
    eager = Layers(dtype)
    eager.load_state_dict(program.state_dict)
    with aten.no_grad():
        assert_close(found[0], eager(x))


def test_a_row_has_its_bits_whatever_is_beside_it():
    program = exported()
    module = program.module()
    x = aten.randn(300, DEPTH)
    whole = module(x)
    threads = aten.get_num_threads()
    try:
        for count in (threads, 1):
            aten.set_num_threads(count)
            for first, rows in ((0, 1), (5, 1), (7, 2), (10, 31), (3, 97), (0, 300)):
                part = module(x[first : first + rows])
                for one, other in zip(part, whole, strict=True):
                    rows_of = (lambda y: y.flatten(0, -2)) if one.dim() == 3 else (lambda y: y)
                    assert aten.equal(rows_of(one), rows_of(other)[first : first + rows])
    finally:
        aten.set_num_threads(threads)


WRITES = {
    "in place": lambda weight: weight.mul_(2),
    "by .data": lambda weight: weight.data.mul_(2),
    "by a view": lambda weight: weight[3].fill_(1),
    "by a view of .data": lambda weight: weight.data[3].fill_(1),
    "by NumPy": lambda weight: weight.detach().numpy().__setitem__(3, 1),
    "by a buffer": lambda weight: memoryview(weight.untyped_storage()).cast("f").__setitem__(3, 1),
    "by DLPack": lambda weight: numpy.from_dlpack(weight.detach()).__setitem__(3, 1),
    "other memory": lambda weight: setattr(weight, "data", weight * 2),
    "exchanged": lambda weight: weight.set_(weight * 2),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("calls", [0, 1, 2, 3])
@pytest.mark.parametrize("where", ["here", "file"])
def test_writes_are_seen(name, calls, where, tmp_path):
    program = exported()
    if where == "file":
        aten.export.save(program, tmp_path / "program.pt2")
        program = aten.export.load(tmp_path / "program.pt2")
    module = program.module()
    x = aten.randn(9, DEPTH)
    for _ in range(calls):
        module(x)
    with aten.no_grad():
        WRITES[name](program.state_dict["linear.weight"])
        WRITES[name](program.state_dict["matrix"])
    eager = Layers()
    eager.load_state_dict(program.state_dict)
    for _ in range(3):
        with aten.no_grad():
            assert_close(module(x), eager(x))


def test_writes_through_memory_that_others_knew_before_are_seen():
    program = exported()
    module = program.module()
    known = program.state_dict["plain.weight"].detach().numpy()
    x = aten.randn(9, DEPTH)
    before = module(x)[1]
    for _ in range(3):
        assert_same_bits(module(x)[1:2], [before])
    known *= 2
    assert_same_bits(module(x)[1:2], [2 * before])


def test_a_tensor_in_the_place_of_another_one_is_seen():
    program = exported()
    module = program.module()
    x = aten.randn(9, DEPTH)
    for _ in range(3):
        module(x)
    program.state_dict["matrix"] = aten.zeros(DEPTH, COLUMNS)
    assert not module(x)[3].any()


def test_a_clone_of_a_weight_is_no_write():
    program = exported()
    module = program.module()
    x = aten.randn(9, DEPTH)
    for _ in range(2):
        module(x)
    strips = [one.weight._latest.strips for one in products(program)]
    copies = {name: one.clone() for name, one in program.state_dict.items()}
    module(x)
    after = [one.weight._latest.strips for one in products(program)]
    assert all(one is other for one, other in zip(strips, after, strict=True))
    copies["matrix"].zero_()
    assert bool(module(x)[3].any())
    program.state_dict["matrix"].zero_()
    assert not module(x)[3].any()


@pytest.mark.filterwarnings("ignore:.*is overridden by the one registered")
@pytest.mark.parametrize("name", ["mm", "addmm", "strips_product"])
def test_kernels_of_others_are_called(name):
    program = exported()
    module = program.module()
    x = aten.randn(9, DEPTH)
    for _ in range(3):
        before = module(x)
    called = []
    library = Library("fused" if name == "strips_product" else "aten", "IMPL")
    kernels = {
        "mm": lambda x, w: called.append(1) or x.new_full((x.shape[0], w.shape[1]), 7),
        "addmm": lambda b, x, w, **_: called.append(1) or x.new_full((x.shape[0], w.shape[1]), 7),
        "strips_product": lambda *_: called.append(1) or aten.zeros(0),
    }
    try:
        library.impl(name, kernels[name], "CPU")
        found = module(x)
        if name == "strips_product":
            assert not called
            assert_close(found, before)
        else:
            assert called
            assert bool((found[3 if name == "mm" else 2] == 7).all())
    finally:
        library._destroy()
    assert_same_bits(module(x), before)


def test_modes_see_the_operator():
    program = exported()
    module = program.module()
    x = aten.randn(9, DEPTH)
    for _ in range(3):
        before = module(x)
    seen = []

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Dispatch():
        found = module(x)
    assert "aten.mm.default" in seen
    assert "fused.strips_product.default" not in seen
    assert_close(found, before)

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen.clear()
    with Functions():
        module(x)
    assert "aten.addmm.default" in seen
    assert "fused.strips_product.default" not in seen
    with aten.autocast("cpu", dtype=aten.bfloat16):
        assert module(x)[0].dtype is aten.bfloat16
    assert_same_bits(module(x), before)


def test_gradients_reach_what_wants_them():
    program = exported()
    module = program.module()
    x = aten.randn(9, DEPTH, requires_grad=True)
    for _ in range(3):
        module(x)[0].sum().backward()
    weight = program.state_dict["linear.weight"]
    expected = 3 * weight.sum(0).expand(9, DEPTH)
    assert aten.allclose(x.grad, expected, rtol=1e-4, atol=1e-4)
    weight.requires_grad_()
    module(x.detach())[0].sum().backward()
    assert weight.grad is not None
    with aten.no_grad():
        assert not module(x)[0].requires_grad


def test_operands_of_other_kinds():
    program = exported()
    module = program.module()
    for _ in range(3):
        module(aten.randn(9, DEPTH))
    eager = Layers()
    eager.load_state_dict(program.state_dict)
    turned = aten.randn(DEPTH, 9).t()
    gaps = aten.randn(9, 2 * DEPTH)[:, ::2]
    expanded = aten.randn(1, DEPTH).expand(9, DEPTH)
    special = aten.randn(9, DEPTH)
    with aten.no_grad():
        for x in (turned, gaps, expanded):
            assert_close(module(x), eager(x))
        special[2, 3], special[4, 5] = float("inf"), float("nan")
        found, expected = module(special), eager(special)
        for one, other in zip(found, expected, strict=True):
            assert aten.equal(one.isnan(), other.isnan())
            assert aten.equal(one.isinf(), other.isinf())


def test_bad_operands_are_refused_by_the_operator():
    product = StripProduct("aten.linear.default", _Weight())
    weight, bias = aten.randn(COLUMNS, DEPTH), aten.randn(COLUMNS)
    for _ in range(3):
        product(aten.randn(3, DEPTH), weight, bias)
    for args in (
        (aten.randn(3, DEPTH + 1), weight, bias),
        (aten.randn(3, DEPTH).double(), weight, bias),
        (aten.randn(3, DEPTH), weight, bias[1:]),
        (aten.randn(3, DEPTH), weight, bias.double()),
        (aten.tensor(1.0), weight, bias),
        (None, weight, bias),
    ):
        with pytest.raises((RuntimeError, TypeError)) as found:
            product(*args)
        with pytest.raises((RuntimeError, TypeError)) as expected:
            aten.ops.aten.linear.default(*args)
        assert str(found.value) == str(expected.value)
    matrices = StripProduct("aten.mm.default", _Weight())
    with pytest.raises(RuntimeError):
        matrices(aten.randn(2, 3, DEPTH), weight.t())
    row = aten.randn(DEPTH)
    assert product(row, weight, bias).shape == (COLUMNS,)
    assert product(aten.randn(0, DEPTH), weight, bias).shape == (0, COLUMNS)
    assert product(aten.randn(2, 0, DEPTH), weight).shape == (2, 0, COLUMNS)


def test_weights_made_in_inference_mode_go_to_the_operator():
    product = StripProduct("aten.linear.default", _Weight())
    with aten.inference_mode():
        weight = aten.randn(COLUMNS, DEPTH)
        x = aten.randn(3, DEPTH)
        for _ in range(3):
            assert aten.equal(product(x, weight), nn.functional.linear(x, weight))
            weight.mul_(2)
    assert not product.weight.has_strips


def test_small_weights_and_those_that_programs_write_to_are_left_alone():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", aten.randn(DEPTH, COLUMNS))

        def forward(self, x):
            made = x @ self.table
            self.table.add_(1)
            return made

    program = aten.export.export(Counting(), (aten.randn(3, DEPTH),))
    module = program.module()
    before = program.state_dict["table"].clone()
    x = aten.randn(3, DEPTH)
    for step in range(3):
        assert aten.allclose(module(x), x @ (before + step), rtol=1e-4, atol=1e-3)
    assert products(program) == []
    assert len(products_of_one_call(exported())) == 6


def products_of_one_call(program):
    program.module()(aten.randn(3, DEPTH))
    return products(program)


def test_the_variable_switches_it_off(monkeypatch):
    monkeypatch.setenv("ATEN_NO_PACKED_WEIGHTS", "1")
    program = exported()
    x = aten.randn(9, DEPTH)
    found = program.module()(x)
    assert products(program) == []
    eager = Layers()
    eager.load_state_dict(program.state_dict)
    with aten.no_grad():
        assert_same_bits(found, eager(x))


@pytest.mark.parametrize(
    ("turn", "count"),
    [
        (lambda w: w.t(), 1),
        (lambda w: w.transpose(0, 1), 1),
        (lambda w: w.transpose(-1, -2), 1),
        (lambda w: w.permute(1, 0), 1),
        (lambda w: w.permute(-1, 0), 1),
        (lambda w: w.transpose(0, -2), 0),
        (lambda w: w.permute(0, 1), 0),
        (lambda w: w * 2, 0),
    ],
)
def test_transposes_of_weights_are_weights(turn, count):
    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.square = nn.Parameter(aten.randn(DEPTH, DEPTH))

        def forward(self, x):
            return aten.mm(x, turn(self.square))

    program = aten.export.export(Turned(), (aten.randn(3, DEPTH),))
    module, weight = program.module(), program.state_dict["square"].requires_grad_(False)
    x = aten.randn(3, DEPTH)
    for _ in range(3):
        assert_close([module(x)], [x @ turn(weight)])
    assert len(products(program)) == count
    weight.zero_()
    assert not module(x).any()


def test_weights_stay_as_they_are_where_little_memory_is_left(monkeypatch):
    weights = 4 * 3 * DEPTH * COLUMNS
    for left, count in ((2 * weights, 6), (2 * weights - 1, 0)):
        monkeypatch.setattr(strip_products, "available_bytes", lambda left=left: left)
        assert len(products_of_one_call(exported())) == count


def test_threads_that_call_at_once():
    program = exported()
    module = program.module()
    inputs = [aten.randn(rows, DEPTH) for rows in (1, 5, 33, 70)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(module, inputs * 8))
    for one, x in zip(found, inputs * 8, strict=True):
        assert_same_bits(one, module(x))


def test_copies_of_a_program_that_has_run():
    program = exported()
    x = aten.randn(9, DEPTH)
    for _ in range(3):
        expected = program.module()(x)
    copied = copy.deepcopy(program)
    assert_same_bits(copied.module()(x), expected)
    copied.state_dict["matrix"].zero_()
    assert_same_bits(program.module()(x), expected)
    assert_same_bits(pickle.loads(pickle.dumps(program)).module()(x), expected)
