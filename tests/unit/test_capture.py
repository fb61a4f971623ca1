"""Modules captured as programs: what is in them, and what cannot be captured, by file and line."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import aten
from aten import nn
from aten.export import CaptureError, Dim, InputError, InputKind, OutputKind, dims, export


def line_of(function: Any, text: str) -> str:
    """`file:line` of the line of a function that has a text in it."""
    lines, start = inspect.getsourcelines(function)
    [place] = [number for number, line in enumerate(lines, start) if text in line]
    return f"{inspect.getsourcefile(function)}:{place}"


def branches_on_data(x: aten.Tensor) -> aten.Tensor:
    if x.sum() > 0:  # on data
        return x
    return -x


def reads_a_number(x: aten.Tensor) -> aten.Tensor:
    count = int(x.max())  # a number
    return x[:count]


def branches_on_size(x: aten.Tensor) -> aten.Tensor:
    if x.shape[0] > 5:
        return x.sin()  # larger
    return x.cos()


def loops_over_size(x: aten.Tensor) -> aten.Tensor:
    total = x[0]
    for place in range(1, x.shape[0]):
        total = total + x[place]  # every row
    return total


@pytest.mark.parametrize(
    ("function", "text"),
    [(branches_on_data, "on data"), (reads_a_number, "a number")],
)
def test_what_data_decides_is_refused_by_line(function: Any, text: str) -> None:
    with pytest.raises(CaptureError) as caught:
        export(function, (aten.ones(4),))
    assert str(caught.value).startswith(line_of(function, text))


def test_reading_a_buffer_is_refused_and_reading_a_constant_is_not() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", aten.tensor(3))
            self.fixed = aten.tensor(2)

        def forward(self, x: aten.Tensor, which: bool) -> aten.Tensor:
            return x * int(self.count if which else self.fixed)

    with pytest.raises(CaptureError):
        export(Counting(), (aten.ones(2), True))
    assert export(Counting(), (aten.ones(2), False)).module()(aten.ones(2), False).tolist() == [
        2,
        2,
    ]


@pytest.mark.parametrize(
    ("function", "text"), [(branches_on_size, "larger"), (loops_over_size, "every row")]
)
def test_what_a_dynamic_size_decides_is_refused_by_line(function: Any, text: str) -> None:
    x = aten.ones(8, 2)
    with pytest.raises(CaptureError) as caught:
        export(function, (x,), dynamic_shapes=({0: Dim("rows")},))
    assert str(caught.value).startswith(line_of(function, text))
    assert "branches on a dynamic size (rows)" in str(caught.value)
    program = export(function, (x,))
    assert program.module()(x).tolist() == function(x).tolist()
    with pytest.raises(InputError, match="dimension 0"):
        program.module()(aten.ones(7, 2))


def test_slices_that_are_all_of_a_tensor_for_some_sizes() -> None:
    def forward(x: aten.Tensor) -> Any:
        return x[:2], x[2:], x[: x.shape[0] - 2]

    program = export(forward, (aten.ones(8),), dynamic_shapes=({0: Dim("rows")},))
    assert program.graph.targets()["aten.slice.Tensor"] == 3
    for rows in (2, 3, 9):
        x = aten.arange(float(rows))
        found, expected = program.module()(x), forward(x)
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]


def test_a_branch_outside_of_the_limits_is_none() -> None:
    program = export(branches_on_size, (aten.ones(8),), dynamic_shapes=({0: Dim("rows", min=6)},))
    assert program.graph.targets() == {"aten.sin.default": 1}
    assert str(program.range_constraints["s0"]) == "at least 6"


def test_sizes_are_dynamic_as_far_as_the_program_allows() -> None:
    def forward(x: aten.Tensor, y: aten.Tensor) -> aten.Tensor:
        return (x.view(2, -1) + y).sum(0)

    args = (aten.ones(4, 3), aten.ones(2, 6))
    program = export(forward, args, dynamic_shapes=(Dim.AUTO, Dim.AUTO))
    assert program.describe_input("x") == "float32[4, 3]"
    program = export(lambda x, y: x.sum() + y, args, dynamic_shapes=(Dim.AUTO, {1: Dim.DYNAMIC}))
    assert str(dict(program.input_metadata)["x"]) == "float32[s0, s1]"
    with pytest.raises(CaptureError):
        export(forward, args, dynamic_shapes=(Dim.DYNAMIC, None))


def test_a_size_that_must_be_a_multiple() -> None:
    def halves(x: aten.Tensor) -> aten.Tensor:
        return x.view(2, -1).sum(0)  # two

    with pytest.raises(CaptureError, match="does not run with") as caught:
        export(halves, (aten.ones(8),), dynamic_shapes=({0: Dim("n")},))
    assert str(caught.value).startswith(line_of(halves, "two"))
    program = export(halves, (aten.ones(8),), dynamic_shapes=({0: 2 * Dim("n")},))
    assert program.module()(aten.arange(6.0)).tolist() == [3, 5, 7]
    with pytest.raises(InputError):
        program.module()(aten.ones(7))


def test_sizes_that_must_be_equal() -> None:
    rows, others = dims("rows", "others", max=50)
    add = aten.add
    with pytest.raises(CaptureError, match="use the same Dim"):
        export(add, (aten.ones(3), aten.ones(3)), dynamic_shapes=({0: rows}, {0: others}))
    program = export(add, (aten.ones(3), aten.ones(3)), dynamic_shapes=({0: rows}, {0: rows}))
    with pytest.raises(InputError, match="must be s0"):
        program.module()(aten.ones(3), aten.ones(4))


def test_sizes_zero_and_one_are_left_out_where_the_program_is_another_one() -> None:
    class Squeezing(nn.Module):
        def forward(self, x: aten.Tensor) -> aten.Tensor:
            return x if x.shape[0] == 1 else x.sum(0, keepdim=True)

    shapes = ({0: Dim("n", max=9)},)
    program = export(Squeezing(), (aten.ones(4, 2),), dynamic_shapes=shapes)
    assert str(program.range_constraints["s0"]) == "2..9"
    plain = export(nn.ReLU(), (aten.ones(4, 2),), dynamic_shapes=shapes)
    assert str(plain.range_constraints["s0"]) == "0..9"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (({0: Dim("n", min=5)},), "its size 4 is no n"),
        (({5: Dim("n")},), "no dimension 5"),
        (({0: "n"},), "expected a Dim"),
        (({0: Dim("n")}, None), "2 entries for 1 arguments"),
        ({"y": {0: Dim("n")}}, "names y; the arguments are x"),
        (({0: 3 * Dim("n")},), "its size 4 is no 3\\*n"),
        (({0: 2 * (d := Dim("n")), 1: d},), "makes n 3, and another makes it 2"),
    ],
)
def test_wrong_dynamic_shapes(shapes: Any, message: str) -> None:
    def forward(x: aten.Tensor) -> aten.Tensor:
        return x + 1

    with pytest.raises(CaptureError, match=message):
        export(forward, (aten.ones(4, 3),), dynamic_shapes=shapes)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3, bias=False)
        self.tied = nn.Linear(3, 3, bias=False)
        self.tied.weight = self.layer.weight
        self.register_buffer("seen", aten.zeros(()))
        self.register_buffer("scratch", aten.ones(3), persistent=False)
        self.constant = aten.tensor([1.0, 2.0, 3.0])

    def forward(self, x: aten.Tensor, *, twice: bool = False) -> dict[str, Any]:
        self.seen.add_(1)
        x.mul_(2)
        return {"out": self.tied(self.layer(x)) * self.constant + aten.tensor(1.0), "n": len(x)}


def test_signature() -> None:
    program = export(Net(), (aten.ones(2, 3),), {"twice": True})
    signature = program.graph_signature
    assert signature.parameters == ("layer.weight",)
    assert signature.buffers == ("seen", "scratch")
    assert signature.non_persistent_buffers == {"scratch"}
    assert signature.lifted_tensor_constants == ("constant", "lifted_tensor_1")
    assert signature.user_inputs == ("x", True)
    assert list(signature.buffers_to_mutate.values()) == ["seen"]
    assert list(signature.user_inputs_to_mutate.values()) == ["x"]
    assert sorted(program.state_dict) == ["layer.weight", "seen", "tied.weight"]
    kinds = list(dict.fromkeys(spec.kind for spec in signature.input_specs))
    assert kinds == [
        InputKind.PARAMETER,
        InputKind.BUFFER,
        InputKind.CONSTANT_TENSOR,
        InputKind.USER_INPUT,
    ]
    assert signature.output_specs[0].kind is OutputKind.BUFFER_MUTATION


def test_running_it_writes_what_the_module_writes() -> None:
    module, x = Net(), aten.ones(2, 3)
    program = export(module, (x,), {"twice": False})
    assert module.seen.item() == 0
    assert x.tolist() == [[1, 1, 1], [1, 1, 1]]
    out = program.module()(x, twice=False)
    assert sorted(out) == ["n", "out"]
    assert out["n"] == 2
    assert module.seen.item() == 1
    assert x[0].tolist() == [2, 2, 2]


def test_nodes_say_where_they_come_from() -> None:
    program = export(Net(), (aten.ones(2, 3),))
    [product, _] = program.graph.find_nodes(op="call_function", target="aten.mm.default") or (
        program.graph.find_nodes(op="call_function", target="aten.addmm.default")
    )
    path, line = line_of(Net.forward, "self.tied(").rsplit(":", 1)
    assert f'File "{path}", line {line}, in forward' in product.meta["stack_trace"]
    assert "L__self___layer,layer,aten.nn.modules.linear.Linear" in product.meta["nn_module_stack"]


def test_a_module_is_as_it_was_after_an_error() -> None:
    class Failing(Net):
        def forward(self, x: aten.Tensor, *, twice: bool = False) -> dict[str, Any]:
            super().forward(x)
            raise ValueError("no")

    module = Failing()
    weight = module.layer.weight
    with pytest.raises(ValueError, match="no"):
        export(module, (aten.ones(2, 3),))
    assert module.layer.weight is weight
    assert module.seen.item() == 0


def test_what_is_no_argument_or_result_of_a_program() -> None:
    with pytest.raises(TypeError, match="tuple"):
        export(aten.sin, aten.ones(2))  # type: ignore[arg-type]
    with pytest.raises(CaptureError, match="neither a tensor nor a number"):
        export(lambda x, y: x, (aten.ones(2), object()))
    with pytest.raises(CaptureError, match="returns a object"):
        export(lambda x: object(), (aten.ones(2),))
    total = aten.zeros(2)
    with pytest.raises(CaptureError, match="register it as a buffer"):
        export(lambda x: total.add_(x), (aten.ones(2),))


def test_decompositions_keep_state_and_mutations() -> None:
    module = Net()
    program = export(module, (aten.ones(2, 3),), {"twice": False})
    core = program.run_decompositions()
    assert core.dialect == "ATEN"
    assert core.graph_signature.buffers_to_mutate.keys()
    x = aten.ones(2, 3)
    core.module()(x, twice=False)
    assert module.seen.item() == 1
    assert x[0].tolist() == [2, 2, 2]
    with pytest.raises(NotImplementedError):
        program.run_decompositions({1: 2})


def test_prims_are_a_set_as_well() -> None:
    prims = export(nn.Sigmoid(), (aten.ones(3),)).run_decompositions(to="prims")
    assert prims.graph.targets() == {"prims.sigmoid.default": 1}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: aten.cond(x.sum() > 0, lambda a: a, lambda a: a[:1], (x,)), "same sizes"),
        (lambda x: aten.cond(x.sum() > 0, lambda a: a.add_(1), lambda a: a, (x,)), "not write"),
        (lambda x: aten.cond(x.sum() > 0, lambda a: 1, lambda a: 2, (x,)), "tensors alone"),
        (lambda x: aten.while_loop(lambda a: a > 0, lambda a: (a - 1,), (x,)), "bool tensor"),
        (
            lambda x: aten.while_loop(lambda a: a.sum() > 0, lambda a: (a.int(),), (x,)),
            "what it is given",
        ),
        (lambda x: aten.export.scan(lambda c, r: (r.sum(), r), x, x), "carry on"),
    ],
)
def test_what_control_flow_cannot_be(function: Any, message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        export(function, (aten.ones(3, 2),))


def test_control_flow_is_in_the_program_and_runs_both_ways() -> None:
    def forward(x: aten.Tensor) -> aten.Tensor:
        return aten.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,)) + 1

    program = export(forward, (aten.ones(3),))
    assert program.graph.targets()["higher_order.cond"] == 1
    assert sorted(program.graph.subgraphs) == ["false_graph_0", "true_graph_0"]
    for x in (aten.ones(3), -aten.ones(3)):
        assert program.module()(x).tolist() == forward(x).tolist()
