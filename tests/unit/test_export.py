"""aten.export: loading, calling, and what is said about inputs that do not fit."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from program_files import DATA, changed_json

import aten.export
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.export import ExportedProgram, InputError, UnknownOperatorError, load
from aten.graph.symbolic import ValueRange


def tensor(*sizes: int, dtype: str = "float32") -> Tensor:
    count = 1
    for size in sizes:
        count *= size
    element = DTYPES[dtype]
    return tensor_from_buffer(bytearray(max(count, 1) * element.itemsize), element, sizes)


def keep_sizes_only(model: Any) -> None:
    """The program `kinds` cut down to its arithmetic on sizes, which needs no operator."""
    module = model["graph_module"]
    graph = module["graph"]
    wanted = ("sym_size_int_2", "sym_size_int_3", "sym_numel_default", "floordiv", "sym_max")
    graph["nodes"] = [node for node in graph["nodes"] if node["name"] in wanted]
    graph["outputs"] = [
        {"as_sym_int": {"as_name": "floordiv"}},
        {"as_sym_int": {"as_name": "sym_max"}},
    ]
    module["signature"]["output_specs"] = [
        {"user_output": {"arg": arg}} for arg in graph["outputs"]
    ]
    leaf = {"type": None, "context": None, "children_spec": []}
    spec = {"type": "builtins.dict", "context": '["half", "most"]', "children_spec": [leaf, leaf]}
    module["module_call_graph"][0]["signature"]["out_spec"] = json.dumps([1, spec])
    graph["sym_int_values"] = {}


@pytest.fixture
def sizes(tmp_path: Path) -> ExportedProgram:
    return load(changed_json(tmp_path / "sizes.pt2", "kinds.pt2", keep_sizes_only))


def test_flat_call(sizes: ExportedProgram) -> None:
    assert sizes.flat_call([tensor(10, 4), tensor(9, 3)]) == [20, 10]
    assert sizes.flat_call([tensor(6, 4), tensor(9, 3), 2, None]) == [12, 9]


def test_module_takes_the_arguments_of_the_exported_one(sizes: ExportedProgram) -> None:
    module = sizes.module()
    x, table = tensor(10, 4), {"a": tensor(9, 3)}
    expected = {"half": 20, "most": 10}
    assert module(x, table, factor=2, mode=None) == expected
    assert module(x, table=table, mode=None, factor=2) == expected
    assert module.forward(table=table, x=x, factor=2, mode=None) == expected


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((), {}, "missing arguments: x, table, factor, mode"),
        ((1, 2, 3), {}, r"takes 2 positional arguments \(x, table\), got 3"),
        ((1,), {"x": 1}, "two values for the argument 'x'"),
        ((1,), {"z": 1}, "takes no argument 'z'; it takes"),
        ((1, {"b": 2}), {"factor": 2, "mode": None}, r"table: expected a dict with keys \['a'\]"),
        ((1, [2]), {"factor": 2, "mode": None}, "table: expected a dict .* got list"),
    ],
)
def test_module_says_which_argument_is_wrong(
    sizes: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        sizes.module()(*args, **kwargs)


X = r"input 'x' \(1 of 4\): "
TAKES_X = r": expected float32\[s77, 4\] with s77 6\.\.64, got "


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ([], r"takes 2 inputs \(x, table_a\), got 0"),
        ([1], r"takes 2 inputs \(x, table_a\), got 1"),
        ([tensor(10, 4)] * 3, r"takes 2 inputs \(x, table_a\), got 3"),
        ([[1.0], tensor(9, 3)], X + "a list is no tensor" + TAKES_X + r"\[1\.0\]"),
        (
            [tensor(10, 4, dtype="float64"), tensor(9, 3)],
            X + "the dtype differs" + TAKES_X + r"float64\[10, 4\]",
        ),
        (
            [tensor(10, 4, 1), tensor(9, 3)],
            X + "the number of dimensions differs" + TAKES_X + r"float32\[10, 4, 1\]",
        ),
        ([tensor(10, 5), tensor(9, 3)], X + "dimension 1 differs" + TAKES_X),
        ([tensor(5, 4), tensor(9, 3)], X + r"s77 is 5, out of range 6\.\.64" + TAKES_X),
        ([tensor(65, 4), tensor(9, 3)], X + r"s77 is 65, out of range 6\.\.64" + TAKES_X),
        (
            [tensor(10, 4), tensor(7, 3)],
            r"input 'table_a' \(2 of 4\): s22 is 7, out of range 8\.\.128",
        ),
        (
            [tensor(10, 4), tensor(9, 3), 3, None],
            r"input 'factor' \(3 of 4\): this value was fixed .*: expected 2, got 3",
        ),
        (
            [tensor(10, 4), tensor(9, 3), 2, tensor(1)],
            r"input 'mode' \(4 of 4\): this value was fixed .*: expected None, got float32\[1\]",
        ),
    ],
)
def test_inputs_that_do_not_fit(sizes: ExportedProgram, inputs: list[Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        sizes.flat_call(inputs)


def symbol(name: str) -> dict[str, Any]:
    return {"as_expr": {"expr_str": f"Symbol('{name}', integer=True)", "hint": None}}


def test_sizes_that_depend_on_each_other(tmp_path: Path) -> None:
    def relate(model: Any) -> None:
        keep_sizes_only(model)
        recorded = model["graph_module"]["graph"]["tensor_values"]
        recorded["x"]["sizes"][0] = symbol("s77")
        double = "Add(Mul(Integer(2), Symbol('s77')), Integer(1))"
        recorded["table_a"]["sizes"][0] = {"as_expr": {"expr_str": double, "hint": None}}

    program = load(changed_json(tmp_path / "related.pt2", "kinds.pt2", relate))
    assert program.flat_call([tensor(10, 4), tensor(21, 3)]) == [20, 21]
    with pytest.raises(InputError, match=r"dimension 0 must be 2 \* s77 \+ 1, here 21"):
        program.flat_call([tensor(10, 4), tensor(20, 3)])


def test_a_size_is_solved_for_where_only_an_expression_names_it(tmp_path: Path) -> None:
    def relate(model: Any) -> None:
        keep_sizes_only(model)
        recorded = model["graph_module"]["graph"]["tensor_values"]
        text = "Mul(Integer(2), Symbol('s77'))"
        recorded["x"]["sizes"][0] = {"as_expr": {"expr_str": text, "hint": None}}

    program = load(changed_json(tmp_path / "solved.pt2", "kinds.pt2", relate))
    assert program.flat_call([tensor(12, 4), tensor(9, 3)]) == [24, 12]
    with pytest.raises(InputError, match="the size s77 is not known"):
        program.flat_call([tensor(13, 4), tensor(9, 3)])
    with pytest.raises(InputError, match=r"s77 is 5, out of range 6\.\.64"):
        program.flat_call([tensor(10, 4), tensor(9, 3)])


def test_guards_between_sizes(tmp_path: Path) -> None:
    def guard(model: Any) -> None:
        keep_sizes_only(model)
        model["guards_code"] = [
            "L['x'].size()[0] % 2 == 0",
            "L['table']['a'].size()[0] < 2*L['x'].size()[0]",
            "L['x'].stride()[0] == 12345",
        ]

    program = load(changed_json(tmp_path / "guarded.pt2", "kinds.pt2", guard))
    assert program.flat_call([tensor(10, 4), tensor(9, 3)]) == [20, 10]
    with pytest.raises(InputError, match=r"L\['x'\]\.size\(\)\[0\] % 2 == 0 .*= 11"):
        program.flat_call([tensor(11, 4), tensor(9, 3)])
    with pytest.raises(InputError, match=r"break a condition of the program: L\['table'\]\['a'\]"):
        program.flat_call([tensor(6, 4), tensor(12, 3)])


def test_a_lower_bound_of_two_lets_smaller_sizes_through(tmp_path: Path) -> None:
    def bound(model: Any) -> None:
        keep_sizes_only(model)
        model["range_constraints"]["s77"] = {"min_val": 2, "max_val": None}

    program = load(changed_json(tmp_path / "bound.pt2", "kinds.pt2", bound))
    assert program.flat_call([tensor(1, 4), tensor(9, 3)]) == [2, 9]


def test_surface_is_torchs() -> None:
    program = load(DATA / "kinds.pt2")
    assert [name for name, _ in program.named_parameters()] == ["weight"]
    assert [name for name, _ in program.named_buffers()] == ["count", "scale"]
    assert [tuple(p.shape) for p in program.parameters()] == [(3,)]
    assert [tuple(b.shape) for b in program.buffers()] == [(3,), (2,)]
    assert program.range_constraints == {"s77": ValueRange(6, 64), "s22": ValueRange(8, 128)}
    assert program.dialect == "TRAINING"
    assert program.torch_version.startswith("2.13")
    module = program.module()
    assert module.state_dict().keys() == program.state_dict.keys()
    assert next(iter(module.parameters())) is program.state_dict["weight"]
    assert [name for name, _ in module.named_buffers()] == ["count", "scale"]
    assert str(program).startswith("ExportedProgram:\n    import aten\n")
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(tensor(1))


def test_loads_from_a_file_object() -> None:
    program = load(io.BytesIO((DATA / "kinds.pt2").read_bytes()))
    assert program.graph_signature.parameters == ("weight",)


def test_unknown_operators_are_named_all_at_once(tmp_path: Path) -> None:
    def rename(model: Any) -> None:
        keep_sizes_only(model)
        nodes = model["graph_module"]["graph"]["nodes"]
        nodes[0]["target"] = "torch.ops.my_ops.size_of.default"
        nodes[1]["target"] = "torch.ops.aten.no_such_operator.int"

    program = load(changed_json(tmp_path / "unknown.pt2", "kinds.pt2", rename))
    with pytest.raises(UnknownOperatorError) as caught:
        program.flat_call([])
    assert str(caught.value) == (
        "the program calls 2 operators that aten does not have: "
        "aten.no_such_operator.int, my_ops.size_of.default"
    )
    assert isinstance(caught.value, NotImplementedError)


def test_everything_public_is_there() -> None:
    assert all(hasattr(aten.export, name) for name in aten.export.__all__)


def test_bundled_examples_are_found_by_their_name(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    program = load("digits_cnn.pt2")
    assert tuple(program.module()(aten.zeros(1, 1, 8, 8)).shape) == (1, 10)
    told = capsys.readouterr()
    assert told.out == ""
    assert "digits_cnn.pt2: not in the current folder; using the bundled example" in told.err
    for name in ("no_such.pt2", "./digits_cnn.pt2", str(tmp_path / "digits_cnn.pt2")):
        with pytest.raises(FileNotFoundError):
            load(name)
    (tmp_path / "digits_cnn.pt2").write_bytes(b"")
    with pytest.raises(aten.export.ArchiveError):
        load("digits_cnn.pt2")
