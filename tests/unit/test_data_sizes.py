"""Exported programs whose sizes data choose: which there are, and what is said where none can."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import pytest

import aten
from aten import nn
from aten._core.base.errors import NoElementsError
from aten.export import CaptureError, Dim, ExportedProgram, export, load
from aten.graph.ir import TensorMeta
from aten.graph.symbolic import Expression
from aten.registry import operators_tagged

SOME = [[0.6, -1.0, 2.0], [1.0, 3.0, -2.0], [-1.0, 0.4, 0.0], [2.2, 1.0, 1.0]]
ROWS = Dim("rows", max=50)
op = aten.ops.aten


def matrices() -> list[aten.Tensor]:
    """Some are above zero, none, one, and all."""
    single = aten.zeros(4, 3)
    single[1, 0] = 2
    return [aten.tensor(SOME), aten.zeros(4, 3), single, aten.ones(4, 3)]


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def same(found: Any, expected: Any) -> None:
    assert len(flat(found)) == len(flat(expected))
    for one, other in zip(flat(found), flat(expected), strict=True):
        if isinstance(other, aten.Tensor):
            assert one.shape == other.shape
            assert one.dtype is other.dtype
            aten.testing.assert_close(one, other, equal_nan=True)
        else:
            assert one == other


def counts(x: aten.Tensor) -> aten.Tensor:
    return (x[:, 0] > 0).long() * 2


# For every operator whose result's size depends on data, a call of it.
CALLS: dict[str, Callable[[aten.Tensor], Any]] = {
    "_unique": lambda x: op._unique(x.round(), True, True),
    "_unique2": lambda x: op._unique2(x.round(), True, True, True),
    "_unsafe_index.Tensor": lambda x: op._unsafe_index.Tensor(x, [None, x[0] > 0]),
    "bincount": lambda x: op.bincount(counts(x), None, 2),
    "index.Tensor": lambda x: op.index.Tensor(x, [x > 0]),
    "masked_select": lambda x: op.masked_select(x, x > 0),
    "nonzero": lambda x: op.nonzero(x),
    "repeat_interleave.Tensor": lambda x: op.repeat_interleave.Tensor(counts(x)),
    "unique_consecutive": lambda x: op.unique_consecutive(x > 0, True, True),
    "unique_dim": lambda x: op.unique_dim(x.round(), 1, True, True, True),
    "unique_dim_consecutive": lambda x: op.unique_dim_consecutive(x > 0, 0, True, True),
}


def test_there_is_a_call_of_every_operator_whose_size_depends_on_data() -> None:
    tagged = {
        one.qualified_name.removeprefix("aten::")
        for one in operators_tagged("dynamic_output_shape")
        if one.entry.variant == "functional"
    }
    assert tagged == set(CALLS)


@pytest.mark.parametrize("shapes", [None, ({0: ROWS},)], ids=["fixed", "rows"])
@pytest.mark.parametrize("name", CALLS)
def test_every_operator(name: str, shapes: Any) -> None:
    function = CALLS[name]
    program = export(function, (aten.tensor(SOME),), dynamic_shapes=shapes)
    assert "u0" in program.range_constraints
    assert "u0" in str(program.graph)
    given = matrices() + ([aten.ones(2, 3), -aten.ones(9, 3)] if shapes else [])
    for x in given:
        found = flat(program.module()(x))
        same(found, function(x))
        check_records(program, x, found)


def check_records(program: ExportedProgram, x: aten.Tensor, results: list[Any]) -> None:
    """What is recorded of results is what they are."""
    [returned] = program.graph.output_node.args
    bindings = {"s0": x.shape[0]}
    for node, result in zip(returned, results, strict=True):
        record = node.meta["val"]
        assert isinstance(record, TensorMeta)
        for size, real in zip(record.shape, result.shape, strict=True):
            if isinstance(size, Expression) and size.is_symbol:
                assert bindings.setdefault(size.head, real) == real
        assert evaluated(record.shape, bindings) == list(result.shape)
        if result.numel() > 1:
            assert evaluated(record.stride, bindings) == list(result.stride())


def evaluated(sizes: Any, bindings: dict[str, int]) -> list[Any]:
    return [one.evaluate(bindings) if isinstance(one, Expression) else one for one in sizes]


def test_without_a_program_nobody_says_how_large_results_are() -> None:
    for function in CALLS.values():
        with pytest.raises(NoElementsError):
            function(aten.empty(4, 3, device="meta"))


def test_sizes_that_follow() -> None:
    layer = nn.Linear(3, 2)

    def forward(x: aten.Tensor) -> Any:
        rows = x[x[:, 0] > 0]
        joined = aten.cat([rows, x])
        return (
            layer(rows),
            joined,
            joined.flatten(),
            rows.sum(0),
            aten.zeros(2 * rows.shape[0] + 1),
            rows.shape[0],
            rows @ x.t(),
            rows.unsqueeze(1) * x,
            rows.sum() / rows.shape[0],
        )

    program = export(forward, (aten.tensor(SOME),), dynamic_shapes=({0: ROWS},))
    [returned] = program.graph.output_node.args
    assert [str(node.meta["val"]) for node in returned] == [
        "float32[u0, 2]",
        "float32[s0 + u0, 3]",
        "float32[3 * s0 + 3 * u0]",
        "float32[3]",
        "float32[2 * u0 + 1]",
        "u0",
        "float32[u0, s0]",
        "float32[u0, s0, 3]",
        "float32[]",
    ]
    assert str(program.range_constraints["u0"]) == "at least 0"
    with aten.no_grad():
        for x in [*matrices(), aten.ones(7, 3)]:
            same(program.module()(x), forward(x))


def test_one_count_has_one_symbol() -> None:
    """Of one mask, or of masks that are computed alike."""

    def forward(x: aten.Tensor) -> Any:
        mask = x > 0
        return x[mask] * aten.masked_select(x + 1, mask) - (x * 2)[x > 0], mask.nonzero()

    program = export(forward, (aten.tensor(SOME),))
    assert list(program.range_constraints) == ["u0"]
    for x in matrices():
        same(program.module()(x), forward(x))


def test_different_counts_have_different_symbols() -> None:
    def drawn(x: aten.Tensor) -> Any:
        return [x[aten.rand(4, 3) > 0.5] for _ in range(2)]

    program = export(drawn, (aten.tensor(SOME),))
    assert list(program.range_constraints) == ["u0", "u1"]

    def empty(x: aten.Tensor) -> Any:
        # What is in them is not known to be the same.
        return [x[aten.empty(4, 3, dtype=aten.bool)] for _ in range(2)]

    assert list(export(empty, (aten.tensor(SOME),)).range_constraints) == ["u0", "u1"]


@pytest.mark.parametrize("shapes", [None, ({0: ROWS},)], ids=["fixed", "rows"])
def test_slices_that_may_be_all_of_a_tensor_or_nothing(shapes: Any) -> None:
    def forward(x: aten.Tensor) -> Any:
        order = x.flatten().argsort()
        count = x[x > 0].shape[0]
        return order[:count], order[count:]

    program = export(forward, (aten.tensor(SOME),), dynamic_shapes=shapes)
    assert str(program.range_constraints["u0"]).endswith(("0..12", "at least 0"))
    for x in matrices():
        same(program.module()(x), forward(x))

    with pytest.raises(CaptureError, match="a number depends on sizes in an unknown way"):
        export(lambda x: x.flatten()[: x[x > 0].shape[0] + 1], (aten.tensor(SOME),))


def test_a_mask_that_was_written_to_is_another_one() -> None:
    def forward(x: aten.Tensor) -> Any:
        mask = x > 0
        before = x[mask]
        mask[0] = False
        return before, x[mask]

    program = export(forward, (aten.tensor(SOME),))
    assert list(program.range_constraints) == ["u0", "u1"]
    for x in matrices():
        same(program.module()(x), forward(x))


def test_writing_by_a_mask() -> None:
    def forward(x: aten.Tensor) -> Any:
        y = x.clone()
        y[x > 1] = 9
        y[x > 0] += x[x > 0]
        return y

    program = export(forward, (aten.tensor(SOME),))
    for x in matrices():
        same(program.module()(x), forward(x))
        for to in ("core", "prims"):
            same(program.run_decompositions(to=to).module()(x), forward(x))


@pytest.mark.parametrize("count", range(6))
def test_few_elements(count: int) -> None:
    """So few numbers can be chosen that these may not tell what sizes are made of."""

    def forward(x: aten.Tensor) -> Any:
        chosen = x[x > 0]
        return chosen, aten.zeros(3 * chosen.shape[0] + 2), x.nonzero()

    def padded(x: aten.Tensor) -> Any:
        return aten.cat([x[x > 0], aten.zeros(x.numel() - len(x[x > 0]))])

    for function in (forward, padded)[: 1 + (count > 2)]:
        program = export(function, (aten.ones(count),))
        assert str(program.range_constraints["u0"]) == f"0..{count}"
        for number in range(1 << count):
            x = aten.tensor([float(number >> place & 1) for place in range(count)])
            same(program.module()(x), function(x))
    if count < 3:
        with pytest.raises(CaptureError, match=f"too few sizes u0 .*: 0 to {count}"):
            export(padded, (aten.ones(count),))


def test_many_sizes_take_no_more_traces_than_there_are_terms() -> None:
    traced = []

    def forward(x: aten.Tensor) -> aten.Tensor:
        traced.append(1)
        return aten.cat([x[x > place] for place in range(12)])

    program = export(forward, (aten.arange(30.0),))
    assert len(program.range_constraints) == 12
    assert len(traced) < 60
    same(program.module()(aten.arange(20.0, 50)), forward(aten.arange(20.0, 50)))


@pytest.mark.parametrize("shapes", [None, ({0: ROWS},)], ids=["fixed", "rows"])
@pytest.mark.parametrize("count", [2, 8, 40])
def test_a_branch_on_all_elements_is_seen(count: int, shapes: Any) -> None:
    def forward(x: aten.Tensor) -> aten.Tensor:
        chosen = x[x > 0]
        return chosen.sin() if chosen.numel() == x.numel() else chosen.cos()

    with pytest.raises(CaptureError):
        export(forward, (aten.ones(count),), dynamic_shapes=shapes)


@pytest.mark.parametrize("value", range(2, 9))
def test_a_branch_on_one_of_few_sizes_is_seen(value: int) -> None:
    def forward(x: aten.Tensor) -> aten.Tensor:
        chosen = x[x > 0]
        return chosen.sin() if chosen.numel() == value else chosen.cos()

    with pytest.raises(CaptureError):
        export(forward, (aten.ones(8),))


def line_of(function: Any, text: str) -> str:
    lines, start = inspect.getsourcelines(function)
    [place] = [number for number, line in enumerate(lines, start) if text in line]
    return f"{inspect.getsourcefile(function)}:{place}"


def branches(x: aten.Tensor) -> aten.Tensor:
    chosen = x[x > 0]
    if chosen.shape[0] > 5:
        return chosen.sin()  # others
    return chosen.cos()


def loops(x: aten.Tensor) -> aten.Tensor:
    total = aten.zeros(3)
    for row in x[x[:, 0] > 0]:  # others
        total = total + row.exp()
    return total


def adds(x: aten.Tensor) -> aten.Tensor:
    return x[x > 0] + x[x < 0]  # others


def reads(x: aten.Tensor) -> aten.Tensor:
    chosen = x[x > 0]
    return chosen * chosen.max().item()  # others


def decides(x: aten.Tensor) -> aten.Tensor:
    return aten.cond(x.sum() > 0, lambda x: x[x > 0].sum(), lambda x: x.sum(), (x,))  # others


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (branches, r"branches on a dynamic size \(u0 \(nonzero\)\): other operators are called"),
        (loops, r"branches on a dynamic size \(u0 \(nonzero\)\)"),
        (adds, r"does not run with u0 \(nonzero\) = \d+, u1 \(nonzero\) = \d+, which data allow"),
        (reads, r"asks for the values of a tensor"),
        (decides, r"index.Tensor: the sizes of the result depend on values"),
    ],
)
def test_what_is_refused_is_named_by_line(function: Any, reason: str) -> None:
    with pytest.raises(CaptureError, match=reason) as caught:
        export(function, (aten.tensor(SOME),))
    assert str(caught.value).startswith(line_of(function, "# others"))


def mean(x: aten.Tensor) -> aten.Tensor:
    chosen = x[x > 0]
    return chosen.mean() if chosen.numel() else aten.zeros(())


@pytest.mark.parametrize("form", ["as captured", "core", "saved"])
def test_sizes_for_which_the_program_is_another_one_are_checked(form: str) -> None:
    program = export(mean, (aten.tensor(SOME),))
    if form == "core":
        program = program.run_decompositions()
    if form == "saved":
        program = load(io.BytesIO(written(program)))
    assert str(program.range_constraints["u0"]) == "1..12"
    some, none, single, every = matrices()
    for x in (some, single, every):
        same(program.module()(x), mean(x))
    with pytest.raises(RuntimeError, match=r"u0 \(nonzero\) is below 1"):
        program.module()(none)


def test_a_check_stays_where_nothing_else_needs_the_size() -> None:
    def forward(x: aten.Tensor) -> aten.Tensor:
        return x.sin() if x.nonzero().shape[0] else x.cos()

    program = export(forward, (aten.tensor(SOME),))
    with pytest.raises(RuntimeError, match=r"u0 \(nonzero\) is below 1"):
        program.module()(aten.zeros(4, 3))


def test_sizes_that_are_another_program_together() -> None:
    def forward(x: aten.Tensor) -> aten.Tensor:
        above, below = x[x > 0], x[x < 0]
        return aten.cat([above, below]) if above.numel() + below.numel() else aten.ones(())

    with pytest.raises(CaptureError, match=r"u0 \(nonzero\) = 0, u1 \(nonzero\) = 0 together"):
        export(forward, (aten.tensor(SOME),))


def test_copies_that_strides_ask_for_are_no_other_program() -> None:
    """Coordinates are columns in memory, where there are several of them."""
    program = export(lambda x: x.nonzero().reshape(-1), (aten.tensor(SOME),))
    assert "aten.clone.default" in program.graph.targets()
    assert str(program.range_constraints["u0"]) == "0..12"
    for x in matrices():
        same(program.module()(x), x.nonzero().reshape(-1))


def test_sizes_that_nothing_needs_are_no_symbols_of_the_program() -> None:
    def forward(x: aten.Tensor) -> aten.Tensor:
        x.nonzero()
        return x[x > 0]

    assert list(export(forward, (aten.tensor(SOME),)).range_constraints) == ["u1"]


def test_functions_of_operators_take_what_data_chose() -> None:
    def forward(x: aten.Tensor) -> Any:
        chosen = x[x > 0]
        return aten.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (chosen,))

    program = export(forward, (aten.tensor(SOME),))
    for x in matrices():
        same(program.module()(x), forward(x))


def written(program: ExportedProgram) -> bytes:
    buffer = io.BytesIO()
    program.save(buffer)
    return buffer.getvalue()


def test_files_have_no_example_of_what_data_choose() -> None:
    program = export(
        lambda x: aten.zeros(2 * x.nonzero().shape[0]), (aten.ones(8),), dynamic_shapes=({0: ROWS},)
    )
    data = written(program)
    assert data == written(load(io.BytesIO(data)))
    read = load(io.BytesIO(data))
    assert read.range_constraints == program.range_constraints
    sizes = {
        size.head: size.hint
        for node in read.graph.nodes
        for size in getattr(node.meta.get("val"), "shape", ())
        if isinstance(size, Expression) and size.is_symbol
    }
    assert sizes == {"s0": 8, "u0": None}


@pytest.mark.parametrize("to", ["core", "prims"])
@pytest.mark.parametrize("name", CALLS)
def test_operators_stay_whole_where_others_are_taken_apart(name: str, to: str) -> None:
    function = CALLS[name]
    program = export(function, (aten.tensor(SOME),)).run_decompositions(to=to)
    assert "u0" in program.range_constraints
    for x in matrices():
        same(program.module()(x), function(x))


def test_indices_of_a_known_number_are_taken_apart_to_primitives() -> None:
    program = export(lambda x: x[aten.tensor([0, 2])], (aten.tensor(SOME),))
    assert "aten.index.Tensor" not in program.run_decompositions(to="prims").graph.targets()


class Chooses(nn.Module):
    """Scores of rows by a small network, and the rows whose score is above zero."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 5), nn.Tanh())
        self.register_buffer("seen", aten.zeros((), dtype=aten.int64))

    def forward(self, rows: aten.Tensor) -> Any:
        scores = self.layers(rows).sum(1)
        kept = (scores > 0).nonzero()[:, 0]
        self.seen += kept.shape[0]
        return rows[kept], scores[kept], scores


def test_what_comes_before_data_is_compiled() -> None:
    aten.manual_seed(1)
    module = Chooses()
    program = export(module, (aten.randn(8, 3),), dynamic_shapes=({0: ROWS},))
    eager, other = Chooses(), load(io.BytesIO(written(program)))
    eager.load_state_dict(module.state_dict())
    compiled = aten.compile(other.module())
    seen = set()
    with aten.no_grad():
        for count in (8, 3, 40, 8, 17):
            rows = aten.randn(count, 3)
            found = compiled(rows)
            same(found, eager(rows))
            seen.add(len(found[0]))
    assert len(seen) > 2
    assert compiled.programs()
    assert dict(other.named_buffers())["seen"].item() == eager.seen.item()
