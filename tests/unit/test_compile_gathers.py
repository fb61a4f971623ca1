"""Elements at indices in compiled programs: loads of the kernel that reads them."""

from __future__ import annotations

import threading

import pytest
from test_compile import fused, same

import aten
from aten import nn
from aten._core.base.keys import DispatchKey
from aten.backends.structured import loop_backend
from aten.nn import functional

TYPES = (
    "float32",
    "float64",
    "bfloat16",
    "float16",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
)


def targets(compiled):
    (program,) = compiled.programs()
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


def is_loaded(compiled, name):
    """Whether the elements are read by a kernel of several operators."""
    return any(name in kernel.split(", ") for kernel in fused(compiled))


def operand(element, *sizes):
    generator = aten.Generator().manual_seed(len(sizes))
    return (aten.rand(sizes, generator=generator) * 20 - 4).to(getattr(aten, element))


def index(size, *sizes, element="int64"):
    generator = aten.Generator().manual_seed(size)
    return aten.randint(0, size, sizes, generator=generator).to(getattr(aten, element))


def changed(x):
    return x.logical_not() if x.dtype is aten.bool else x * x


def check(function, name, *inputs):
    compiled = aten.compile(function)
    for _ in range(2):
        same(compiled(*inputs), function(*inputs))
    assert is_loaded(compiled, name)
    assert sum("checked_index" in one for one in targets(compiled)) >= 1
    return compiled


def test_embeddings_and_a_norm_are_one_kernel():
    words, places = aten.randn(30, 48), aten.randn(16, 48)
    scale, shift = aten.randn(48), aten.randn(48)

    def program(ids, at):
        hidden = functional.embedding(ids, words) + functional.embedding(at, places)
        return functional.layer_norm(hidden, (48,), scale, shift)

    ids, at = index(30, 3, 16), aten.arange(16)[None].repeat(3, 1)
    compiled = check(program, "embedding", ids, at)
    assert aten.compiler.explain(compiled) == (
        "program 1: 4 operators in 3 calls\n"
        "  one kernel for embedding, embedding, add, native_layer_norm"
    )


@pytest.mark.parametrize("narrow", ["int64", "int32"])
@pytest.mark.parametrize("element", TYPES)
def test_types(element, narrow):
    table = operand(element, 11, 6)
    at = index(11, 3, 7, element=narrow)
    check(lambda t, i: changed(functional.embedding(i, t)), "embedding", table, at)
    check(lambda t, i: changed(t.index_select(0, i)), "index_select", table, at[0])
    check(lambda t, i: changed(t[:, i]), "index", table, at[0] % 6)
    if narrow == "int64":
        check(lambda t, i: changed(t.gather(0, i)), "gather", table, at[:, :6])


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.mT.contiguous().mT,
    "gaps": lambda x: x.repeat(2, 2, 2)[::2, ::2, ::2],
    "offset": lambda x: x.repeat(2, 1, 1)[x.shape[0] :],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_dimensions_and_layouts(layout, dim):
    x = LAYOUTS[layout](operand("float32", 5, 7, 6))
    size = x.shape[dim]
    at = index(size, 9)
    for one in (at, at.repeat(2)[::2], at[:1].expand(9), at[:1]):
        check(lambda x, i: x.index_select(dim, i) + 1, "index_select", x, one)
    places = (slice(None),) * (dim % 3)
    for one in (at, at - size, at.view(3, 3), at.view(3, 3).t()):
        check(lambda x, i: x[*places, i] + 1, "index", x, one)
    sizes = [4, 3, 2]
    sizes[dim] = 8
    every = index(size, *sizes)
    for one in (every, every.mT.contiguous().mT, every[:1, :1, :1].expand(sizes)):
        check(lambda x, i: x.gather(dim, i) + 1, "gather", x, one)


def test_what_follows():
    x, at = operand("float64", 40, 24), index(40, 12)
    check(lambda x, i: x.index_select(0, i).relu().sum(-1), "index_select", x, at)
    check(lambda x, i: x.index_select(0, i).relu().amax(0), "index_select", x, at)
    check(lambda x, i: x[i].softmax(-1), "index", x, at)
    check(lambda x, i: (x[i] - x[i].mean(-1, keepdim=True)).square(), "index", x, at)
    check(lambda x, i: x.gather(1, i[:, None]).neg().sum(), "gather", x[:12], at % 24)
    check(lambda x, i: x[:, i].relu().amax(-1), "index", x, at % 24)


def test_sums_of_many_elements_are_cut():
    x, at = aten.rand(1000, dtype=aten.float64), index(1000, 100_000)
    compiled = aten.compile(lambda x, i: (x[i] * 2).sum())
    aten.testing.assert_close(compiled(x, at), (x[at] * 2).sum())
    assert is_loaded(compiled, "index")


def test_elements_are_repeated():
    table, heads = aten.randn(32, 8), aten.randn(2, 3, 5, 8)
    check(lambda q, p: table[p] * q, "index", heads, aten.tensor([3, 3, 31, 0, -1]))
    check(lambda q, p: table[p].mul(q).sum(0), "index", heads, aten.tensor([3, 3, 31, 0, -1]))


def test_nothing_to_choose():
    for table, at in ((aten.randn(4, 3), aten.empty(0)), (aten.randn(4, 0), aten.ones(2))):
        compiled = aten.compile(lambda t, i: t[i] + 1)
        given = at.to(aten.int64)
        same(compiled(table, given), table[given] + 1)
    with pytest.raises(IndexError):
        aten.compile(lambda t, i: t[i] + 1)(aten.randn(0, 3), aten.tensor([0]))


def test_values_without_dimensions():
    x = aten.randn(6, dtype=aten.float64)
    check(lambda x, i: aten.ops.aten.index.Tensor(x, [i]) + 1, "index", x, aten.tensor(-2))
    check(lambda x, i: functional.embedding(i, x[:, None]) + 1, "embedding", x, aten.tensor(4))


CHOOSING = {
    "embedding": lambda x, i: functional.embedding(i, x) + 1,
    "rows": lambda x, i: x.index_select(0, i) + 1,
    "columns": lambda x, i: x.index_select(1, i) + 1,
    "gather": lambda x, i: x.gather(1, i[None]) + 1,
    "index": lambda x, i: x[i] + 1,
    "second index": lambda x, i: x[:, i].amax(-1),
}


@pytest.mark.parametrize("bad", [8, -9, 1 << 40, -(1 << 63)])
@pytest.mark.parametrize("name", CHOOSING)
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_an_index_that_is_outside_is_refused_as_eager_calls_refuse_it(name, bad, layout):
    x, at = aten.randn(8, 8), aten.tensor([1, 2, 3, 3])
    if layout == "columns":
        x = x.t()
    function = CHOOSING[name]
    compiled = aten.compile(function)
    same(compiled(x, at), function(x, at))
    wrong = at.clone()
    wrong[2] = bad
    with pytest.raises((IndexError, RuntimeError)) as expected:
        function(x, wrong)
    with pytest.raises(type(expected.value)) as found:
        compiled(x, wrong)
    assert str(found.value) == str(expected.value)
    assert fused(compiled)
    same(compiled(x, at), function(x, at))


def test_negative_places_are_refused_where_they_do_not_count_from_the_end():
    x, at = aten.randn(8, 8), aten.tensor([1, -1])
    for name, function in CHOOSING.items():
        compiled = aten.compile(function)
        compiled(x, at.abs())
        if "index" in name:
            same(compiled(x, at), function(x, at))
            continue
        with pytest.raises((IndexError, RuntimeError)):
            compiled(x, at)


def test_each_table_has_its_own_bounds():
    large, small = aten.randn(9, 6), aten.randn(4, 6)
    compiled = aten.compile(lambda i: large[i] + small[i] * small[i + 0])
    at = aten.tensor([3, 0, -4])
    same(compiled(at), large[at] + small[at] * small[at])
    for wrong, size in ((4, 4), (8, 4), (9, 9)):
        with pytest.raises(IndexError, match=f"index {wrong} is .* with size {size}"):
            compiled(aten.tensor([1, wrong]))
    assert fused(compiled)


def test_nothing_is_written_where_an_index_is_outside():
    @aten.compile
    def program(x, i, target):
        target.copy_(x[i] * 2)
        return target.sum()

    target = aten.zeros(3, 4)
    program(aten.ones(5, 4), aten.tensor([0, 1, 2]), target)
    assert target.tolist() == [[2] * 4] * 3
    with pytest.raises(IndexError):
        program(aten.zeros(5, 4), aten.tensor([0, 1, 5]), target)
    assert target.tolist() == [[2] * 4] * 3


def kernels(compiled, *inputs):
    """The programs of the first kernel of several operators, as texts."""
    (program,) = compiled.programs()
    group = next(iter(program.partition.fused.values()))
    found: list[str] = []

    def generate(made):
        found.append(str(made))
        return loop_backend(DispatchKey.CPU).generate(made)

    group.planned(inputs, generate)
    return found


def test_addresses_of_rows_are_computed_once_and_their_elements_are_neighbours():
    table, scale = aten.randn(9, 64), aten.randn(64)
    compiled = aten.compile(lambda t, i, s: functional.layer_norm(t[i] * 2, (64,), s))
    at = index(9, 12)
    compiled(table, at, scale)
    (text,) = kernels(compiled, table, at, scale)
    operands = text.partition("\n")[0]
    assert "int64 row zero" in operands
    assert operands.count("float32 full unit") == 3
    before, _, after = text.partition("\n  loop\n")
    assert before.count("load in") == 1
    assert "mul %" in before
    assert "load in2, %" in after
    assert "int64" not in after


def test_rows_are_added_up_side_by_side():
    table, at = aten.randn(9, 64), index(9, 4, 12)
    compiled = aten.compile(lambda t, i: functional.embedding(i, t).relu().sum(1))
    same(compiled(table, at), functional.embedding(at, table).relu().sum(1))
    assert "by column" in kernels(compiled, table, at)[0]


def test_what_is_wanted_in_memory_stays_a_call():
    x, at, y = aten.randn(8, 8), index(8, 6), aten.randn(8, 8)
    for function in (
        lambda x, i, y: (lambda rows: (rows, rows + 1))(x[i]),
        lambda x, i, y: (x[i] + 1, x[i] @ y),
        lambda x, i, y: x[i].t() + 1,
        lambda x, i, y: x[i],
    ):
        compiled = aten.compile(function)
        found, expected = compiled(x, at, y), function(x, at, y)
        pairs = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for one, other in pairs:
            same(one, other)
        assert "aten.index.Tensor" in targets(compiled)
        assert not is_loaded(compiled, "index")


def test_an_index_that_the_program_computes_is_in_memory_first():
    x, at = aten.randn(8, 5), index(4, 6)
    for function in (
        lambda x, i: x[i * 2 - 1] + 1,
        lambda x, i: x[i * 2] + (i * 2)[:, None],
        lambda x, i: (x * 2)[i] + x[:6],
        lambda x, i: x[(x[i] + 1).sum(-1).abs().to(aten.int64) % 8] + x[i],
    ):
        compiled = aten.compile(function)
        same(compiled(x, at), function(x, at))
        assert is_loaded(compiled, "index")


def test_elements_read_one_by_one_are_no_load_where_that_is_slower():
    x, at = aten.randn(64, 64), index(64, 64, 64)
    for function, why in (
        (lambda x, i: x.gather(1, i).exp() * 2, "functions of elements that are no neighbours"),
        (lambda x, i: x[0].index_select(0, i[0]) + x, "read again for each row"),
        (lambda x, i: x.gather(1, i).relu().sum(0), "folded across columns"),
        (lambda x, i: x[:, :4][i.repeat(2, 2)].relu(), "few elements each"),
    ):
        compiled = aten.compile(function)
        aten.testing.assert_close(compiled(x, at), function(x, at))
        assert why in aten.compiler.explain(compiled)
    compiled = aten.compile(lambda x, i: x.gather(1, i) - x.gather(1, i).mean(1, keepdim=True))
    compiled(x, at)
    assert fused(compiled) == ["mean, sub"]


def test_sizes_that_move():
    table, scale = aten.randn(20, 12), aten.randn(12)

    def program(x, i):
        return functional.layer_norm(table[i] + x[i % x.shape[0]], (12,), scale)

    compiled = aten.compile(program, dynamic=True)
    for rows in (2, 3, 20, 7, 50):
        x, at = aten.randn(rows, 12), index(20, rows)
        same(compiled(x, at), program(x, at))
    with pytest.raises(IndexError, match="index 20 is out of bounds for dimension 0 with size 20"):
        compiled(x, aten.tensor([20, 3] * 25))
    (made,) = compiled.dynamic_programs()
    assert any("checked_index" in one.target for one in made.program.graph.nodes)


def test_gradients():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(9, 8, padding_idx=0), nn.Embedding(5, 8)
            self.norm = nn.LayerNorm(8)

        def forward(self, ids, at):
            return (
                self.norm(self.words(ids) + self.places(at)).square().gather(1, at[:, None]).sum()
            )

    model = Model()
    ids, at = index(9, 12), index(5, 12)
    compiled = aten.compile(model)
    found = []
    for function in (model, compiled):
        model.zero_grad()
        loss = function(ids, at)
        loss.backward()
        found.append([loss.detach(), *(one.grad for one in model.parameters())])
    for one, other in zip(*found, strict=True):
        aten.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ["embedding", "index_select", "gather", "index.Tensor"])
def test_a_kernel_that_somebody_registers_later_is_met(name):
    function = {
        "embedding": CHOOSING["embedding"],
        "index_select": CHOOSING["rows"],
        "gather": CHOOSING["gather"],
        "index.Tensor": CHOOSING["index"],
    }[name]
    x, at = aten.randn(8, 8), aten.tensor([1, 2, 3])
    compiled = aten.compile(function)
    before = compiled(x, at)
    library = aten.library.Library("aten", "IMPL")
    with pytest.warns(UserWarning, match=name.partition(".")[0]):
        library.impl(name, lambda *args, **kwargs: aten.zeros_like(before), "CPU")
    try:
        assert aten.equal(compiled(x, at), aten.ones_like(before))
    finally:
        library._destroy()
    same(compiled(x, at), before)


def test_threads_and_an_index_that_one_of_them_changes():
    rows = aten.arange(64.0)[:, None].expand(64, 32).contiguous()
    compiled = aten.compile(lambda i: rows[i] + 1)
    at = index(64, 3000)
    compiled(at)
    done = threading.Event()
    wrong: list[str] = []

    def change():
        while not done.is_set():
            at[1000:2000] = 1 << 50
            at[1000:2000] = 7

    def read():
        for _ in range(100):
            try:
                found = compiled(at)
            except IndexError:
                continue
            if not bool(((found >= 1) & (found <= 64)).all()):
                wrong.append("elements of something else")

    others = [threading.Thread(target=read) for _ in range(2)]
    writer = threading.Thread(target=change)
    for one in (writer, *others):
        one.start()
    for one in others:
        one.join()
    done.set()
    writer.join()
    assert wrong == []
