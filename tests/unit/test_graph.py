"""The graph IR: reading, printing, checks, and running without any operator."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from program_files import DATA, DIGITS, PROGRAMS, changed, changed_json

from aten.export import ArchiveError, FormatError, InputKind, OutputKind, load
from aten.graph.archive import Archive
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node
from aten.graph.operators import resolve_graph

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize("path", [*(DATA / name for name in PROGRAMS), *DIGITS.glob("*.pt2")])
def test_every_program_reads_and_prints_as_python(path: Path) -> None:
    program = load(path)
    compile(str(program.graph), str(path), "exec")
    assert program.graph.output_node.op == "output"
    assert program.graph.find_nodes(op="call_function")
    assert set(program.graph_signature.parameters) <= set(program.state_dict)


@pytest.mark.parametrize("name", ["kinds.pt2", "kinds.core.pt2", "control_flow.pt2"])
def test_printed_graph(name: str) -> None:
    expected = GOLDEN / f"{name.removesuffix('.pt2')}.graph.py.txt"
    assert str(load(DATA / name).graph) == expected.read_text()


def test_weights_are_the_ones_torch_saved() -> None:
    program = load(DATA / "kinds.pt2")
    assert list(program.state_dict) == ["weight", "count"]
    assert set(program.constants) == {"constant", "scale"}
    weight = program.state_dict["weight"]
    assert (weight.dtype.name, tuple(weight.shape), weight.stride()) == ("float32", (3,), (1,))
    assert weight.device.type == "cpu"


def test_shared_weights_share_their_memory() -> None:
    state = load(DATA / "gpt2.pt2").state_dict
    pointers = [tensor.data_ptr() for tensor in state.values()]
    assert len(set(pointers)) == len(pointers) - 1


def test_signature() -> None:
    signature = load(DATA / "kinds.core.pt2").graph_signature
    assert signature.parameters == ("weight",)
    assert signature.buffers == ("count", "scale")
    assert signature.non_persistent_buffers == {"scale"}
    assert signature.lifted_tensor_constants == ("constant",)
    assert signature.user_inputs == ("x", "table_a", 2, None)
    assert signature.user_outputs[-2:] == (None, 3)
    assert signature.inputs_to_parameters == {"p_weight": "weight"}
    assert signature.buffers_to_mutate == {"add": "count"}
    assert signature.user_inputs_to_mutate == {"mul_2": "x"}
    assert signature.input_specs[0].kind is InputKind.PARAMETER
    assert signature.output_specs[0].kind is OutputKind.BUFFER_MUTATION
    assert "b_scale: BUFFER target='scale' persistent=False" in str(signature)


def test_recorded_values() -> None:
    graph = load(DATA / "kinds.pt2").graph
    by_name = {node.name: node for node in graph.nodes}
    assert str(by_name["zeros"].meta["val"]) == "float32[Max(s22, s77)]"
    assert str(by_name["sub"].meta["val"]) == "s77 - 2"
    assert [str(item) for item in by_name["topk"].meta["val"]] == ["float32[2]", "int64[2]"]
    assert by_name["getitem_1"].args == (by_name["split_with_sizes"], 1)
    assert by_name["cat"].all_input_nodes == [by_name["reshape"], by_name["reshape_1"]]


def first_node(model: Any) -> Any:
    return model["graph_module"]["graph"]["nodes"][0]


def graph_of(model: Any) -> Any:
    return model["graph_module"]["graph"]


BAD_JSON: list[tuple[str, Callable[[Any], object], str]] = [
    ("version", lambda m: m["schema_version"].update(major=9), "schema version 9"),
    ("no graph", lambda m: m["graph_module"].pop("graph"), "'graph' is missing"),
    ("nodes", lambda m: graph_of(m).update(nodes={}), r"graph\.nodes|nodes: expected a list"),
    ("target", lambda m: first_node(m).update(target="os.system"), "names no operator"),
    ("name", lambda m: first_node(m).update(name="x y"), "is no name for a value"),
    ("keyword", lambda m: graph_of(m)["inputs"][0]["as_tensor"].update(name="if"), "no name"),
    (
        "undefined",
        lambda m: first_node(m)["inputs"][0].update(arg={"as_tensor": {"name": "later"}}),
        "'later' is used before it is computed",
    ),
    (
        "kind",
        lambda m: first_node(m)["inputs"][0].update(arg={"as_pickle": "gA=="}),
        "unknown kind of argument 'as_pickle'",
    ),
    (
        "object",
        lambda m: first_node(m)["inputs"][0].update(
            arg={"as_custom_obj": {"name": "o", "class_fqn": "a.B"}}
        ),
        "nothing here unpickles",
    ),
    (
        "dtype",
        lambda m: first_node(m)["inputs"][0].update(arg={"as_scalar_type": 99}),
        "unknown element type 99",
    ),
    (
        "twice",
        lambda m: graph_of(m)["nodes"].append(graph_of(m)["nodes"][0]),
        "two values are named",
    ),
    (
        "expression",
        lambda m: graph_of(m)["sym_int_values"].update(
            sub={"as_expr": {"expr_str": "__import__('os')", "hint": None}}
        ),
        "unknown function '__import__'",
    ),
    ("range", lambda m: m["range_constraints"]["s77"].update(min_val=100), "range .* is empty"),
    ("guard", lambda m: m["guards_code"].append("open('x')"), "unknown function 'open'"),
    ("inputs", lambda m: graph_of(m)["inputs"].pop(), "7 inputs, but the signature lists 8"),
    ("outputs", lambda m: graph_of(m)["outputs"].pop(), "do not match its signature"),
    (
        "no weight",
        lambda m: m["graph_module"]["signature"]["input_specs"][0]["parameter"].update(
            parameter_name="other"
        ),
        "no tensor for 'other'",
    ),
]


@pytest.mark.parametrize(("change", "reason"), [case[1:] for case in BAD_JSON])
def test_refuses_nonsense_in_the_program(
    tmp_path: Path, change: Callable[[Any], object], reason: str
) -> None:
    path = changed_json(tmp_path / "bad.pt2", "kinds.pt2", change)
    with pytest.raises(FormatError, match=reason):
        load(path)


WEIGHTS = "model_weights_config.json"

BAD_WEIGHTS: list[tuple[Callable[[Any], object], type[Exception], str]] = [
    (lambda w: w.update(use_pickle=True), ArchiveError, "nothing here unpickles"),
    (lambda w: w.update(tensor_meta=None), ArchiveError, "nothing here unpickles"),
    (lambda w: w.update(path_name="nothing"), ArchiveError, "has no member"),
    (lambda w: w["tensor_meta"].update(sizes=[{"as_int": 4}]), FormatError, "past the buffer"),
    (lambda w: w["tensor_meta"].update(sizes=[{"as_int": -1}]), FormatError, "negative sizes"),
    (lambda w: w["tensor_meta"].update(strides=[{"as_int": -1}]), FormatError, "negative"),
    (lambda w: w["tensor_meta"].update(strides=[]), FormatError, "1 sizes, but 0 strides"),
    (
        lambda w: w["tensor_meta"].update(sizes=[{"as_int": 2**62}]),
        FormatError,
        "past the buffer|overflow",
    ),
    (
        lambda w: w["tensor_meta"].update(storage_offset={"as_int": 2**80}),
        FormatError,
        "weight",
    ),
    (
        lambda w: w["tensor_meta"].update(device={"type": "cuda", "index": 0}),
        FormatError,
        "only cpu can be loaded",
    ),
    (lambda w: w["tensor_meta"].update(layout=2), FormatError, "layout .* is not supported"),
    (lambda w: w["tensor_meta"].update(dtype=5), FormatError, "past the buffer|not what the graph"),
]


@pytest.mark.parametrize(("change", "error", "reason"), BAD_WEIGHTS)
def test_refuses_nonsense_in_the_weights(
    tmp_path: Path, change: Callable[[Any], object], error: type[Exception], reason: str
) -> None:
    path = changed_json(
        tmp_path / "bad.pt2", "kinds.pt2", lambda c: change(c["config"]["weight"]), WEIGHTS
    )
    with pytest.raises(error, match=reason):
        load(path)


def rename(members: dict[str, bytes], old: str, new: str) -> None:
    [name] = [name for name in members if name.endswith(old)]
    members[name.replace(old, new)] = members.pop(name)


OTHER_FILES: list[tuple[Callable[[dict[str, bytes]], object], str]] = [
    (lambda m: m.pop("kinds/archive_format"), "holds no exported program"),
    (lambda m: m.update({"kinds/archive_format": b"xyz"}), "format is not pt2"),
    (lambda m: m.update({"kinds/byteorder": b"big"}), "only little-endian"),
    (lambda m: m.pop("kinds/models/model.json"), "holds no program under models/"),
    (lambda m: rename(m, "archive_format", "data.pkl"), "a pickled checkpoint"),
    (lambda m: rename(m, "archive_format", "constants.pkl"), "a TorchScript archive"),
    (
        lambda m: rename(m, "archive_format", "serialized_exported_program.json"),
        "torch before 2.8",
    ),
    (
        lambda m: m.update({"kinds/data/weights/model.pt": b""}),
        "the weights are pickled .* nothing here unpickles",
    ),
    (lambda m: m.pop(f"kinds/data/weights/{WEIGHTS}"), "has no member"),
]


@pytest.mark.parametrize(("change", "reason"), OTHER_FILES)
def test_says_what_an_archive_is_instead(
    tmp_path: Path, change: Callable[[dict[str, bytes]], object], reason: str
) -> None:
    path = changed(tmp_path / "bad.pt2", "kinds.pt2", lambda members: void(change(members)))
    with pytest.raises(ArchiveError, match=reason):
        load(path)


def void(_: object) -> None:
    return None


def test_a_model_is_chosen_by_name(tmp_path: Path) -> None:
    def add_second(members: dict[str, bytes]) -> None:
        members["kinds/models/other.json"] = members["kinds/models/model.json"]
        for folder in ("weights", "constants"):
            source = f"kinds/data/{folder}/model_{folder}_config.json"
            members[f"kinds/data/{folder}/other_{folder}_config.json"] = members[source]

    path = changed(tmp_path / "two.pt2", "kinds.pt2", add_second)
    assert load(path, model="other").state_dict.keys() == load(path).state_dict.keys()
    with pytest.raises(ArchiveError, match="no program named 'third'"):
        load(path, model="third")


def test_a_damaged_weight_is_refused_unless_verification_is_off(tmp_path: Path) -> None:
    source = (DATA / "unet.pt2").read_bytes()
    program = load(DATA / "unet.pt2")
    path = tmp_path / "damaged.pt2"
    data = bytearray(source)
    data[data.index(b"data/weights/weight_0") + 200] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ArchiveError, match="weight_0' is damaged"):
        load(path)
    assert load(path, verify=False).state_dict.keys() == program.state_dict.keys()


def test_a_weight_that_is_not_aligned_is_copied(tmp_path: Path) -> None:
    def shift(members: dict[str, bytes]) -> None:
        content = dict(members)
        members.clear()
        members.update({"kinds/a": b"123"} | content)

    path = changed(tmp_path / "shifted.pt2", "kinds.pt2", shift)
    assert Archive(path).find("kinds/data/weights/weight_0").offset % 4
    assert load(path).state_dict["weight"].data_ptr() % 16 == 0


def number_graph() -> Graph:
    """(a, b) -> ([a + b, a], (a + b) * 2), with a division taken apart on the way."""
    graph = Graph()
    a, b = (Node(name, "placeholder", name) for name in "ab")
    total = Node("total", "call_function", "operator.add", (a, b))
    pair = Node("pair", "call_function", "divmod", (total,), {"by": 3})
    rest = Node("rest", "call_function", "operator.getitem", (pair, 1))
    double = Node("double", "call_function", "operator.mul", (total, 2))
    listed = Node("listed", "call_function", "collect", ([total, [a, 5]],))
    output = Node("output", "output", "output", ((listed, double, rest, None, 7),))
    graph.nodes = [a, b, total, pair, rest, double, listed, output]
    return graph


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "operator.add": lambda x, y: x + y,
    "operator.mul": lambda x, y: x * y,
    "operator.getitem": lambda x, i: x[i],
    "divmod": lambda x, by: divmod(x, by),
    "collect": lambda values: list(values),
}


def test_interpreter_runs_nested_arguments_keywords_and_parts() -> None:
    interpreter = Interpreter(number_graph(), FUNCTIONS)
    assert interpreter.run((10, 4)) == ([14, [10, 5]], 28, 2, None, 7)
    assert interpreter.run((1, 1)) == ([2, [1, 5]], 4, 2, None, 7)
    assert "operator.getitem" not in {step.target for step in interpreter.steps}


class Value:
    """Something whose end can be seen."""


def test_interpreter_lets_go_of_a_value_after_its_last_use() -> None:
    alive: list[weakref.ref[Value]] = []
    seen: list[list[bool]] = []

    def make(*_: object) -> Value:
        seen.append([ref() is not None for ref in alive])
        value = Value()
        alive.append(weakref.ref(value))
        return value

    graph = Graph()
    nodes: list[Node] = [Node("x", "placeholder", "x")]
    for position in range(4):
        nodes.append(Node(f"n{position}", "call_function", "make", (nodes[-1],)))
    nodes.append(Node("unused", "call_function", "make", ()))
    graph.nodes = [*nodes, Node("output", "output", "output", ((nodes[4],),))]
    [result] = Interpreter(graph, {"make": make}).run((0,))
    # A value is there while the next one is computed from it, and gone after that.
    assert seen == [[], [True], [False, True], [False, False, True], [False, False, False, True]]
    assert [ref() is not None for ref in alive] == [False, False, False, True, False]
    assert result is alive[3]()


def test_interpreter_names_the_node_that_failed() -> None:
    interpreter = Interpreter(number_graph(), FUNCTIONS)
    with pytest.raises(TypeError) as caught:
        interpreter.run((10, "4"))
    assert caught.value.__notes__ == ["in the program: total = operator.add(...)"]


def test_names_that_the_printed_code_uses_are_not_hidden() -> None:
    graph = Graph()
    value = Node("aten", "placeholder", "aten")
    other = Node("aten_", "call_function", "aten.relu.default", (value,))
    most = Node("max", "call_function", "sym_max", (other, -3))
    power = Node("power", "call_function", "operator.pow", (-2, most))
    graph.nodes = [value, other, most, power, Node("output", "output", "output", ((power,),))]
    lines = str(graph).splitlines()
    assert lines[-4:] == [
        "    aten_ = aten.ops.aten.relu.default(aten__)",
        "    max_ = max(aten_, -3)",
        "    power = (-2) ** max_",
        "    return (power,)",
    ]


def subgraph(*, target: str, operand: int, inputs: tuple[str, ...], single: bool) -> Graph:
    """(inputs...) -> first `target` operand, and the other inputs unless the result is single."""
    graph = Graph()
    nodes = [Node(name, "placeholder", name) for name in inputs]
    result = Node("result", "call_function", target, (nodes[0], operand))
    returned = (result,) if single else (result, *nodes[1:])
    graph.nodes = [*nodes, result, Node("output", "output", "output", (returned,))]
    graph.returns_single = single
    return graph


def test_control_flow_runs_its_subgraphs() -> None:
    graph = Graph()
    graph.subgraphs = {
        "more": subgraph(target="operator.add", operand=1, inputs=("a",), single=False),
        "less": subgraph(target="operator.sub", operand=1, inputs=("a",), single=False),
        "small": subgraph(target="operator.lt", operand=10, inputs=("a", "b"), single=True),
        "grow": subgraph(target="operator.mul", operand=2, inputs=("a", "b"), single=False),
    }
    x = Node("x", "placeholder", "x")
    parts = {name: Node(name, "get_attr", name) for name in graph.subgraphs}
    large = Node("large", "call_function", "operator.gt", (x, 15))
    branch = Node(
        "branch",
        "call_function",
        "higher_order.cond",
        (large, parts["more"], parts["less"], [x]),
    )
    first = Node("first", "call_function", "operator.getitem", (branch, 0))
    loop = Node(
        "loop",
        "call_function",
        "higher_order.while_loop",
        (parts["small"], parts["grow"], [first, x], []),
    )
    region = Node(
        "region",
        "call_function",
        "higher_order.wrap_with_set_grad_enabled",
        (False, parts["more"], x),
    )
    output = Node("output", "output", "output", ((branch, loop, region),))
    graph.nodes = [x, *parts.values(), large, branch, first, loop, region, output]
    interpreter = Interpreter(graph, resolve_graph(graph))
    assert interpreter.run((3,)) == ((2,), (16, 3), (4,))
    assert interpreter.run((20,)) == ((21,), (21, 20), (21,))
