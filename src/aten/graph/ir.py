"""The graph IR: one node per value, in the order they are computed, printing as runnable Python.

A graph is a straight line of nodes. Their kinds are torch.fx's: `placeholder` (an input),
`get_attr` (a subgraph, for operators that take one), `call_function` and `output`. A node's target
is the operator's name as text ("aten.add.Tensor"), so a graph can be read, printed and changed
where the operators it calls do not exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from aten._core.base.device import device, layout
from aten._core.base.dtypes import dtype
from aten.graph.symbolic import Expression, Number

Size = int | Expression


class TensorMeta(NamedTuple):
    """What is recorded about a tensor: sizes and strides in elements, symbolic where dynamic."""

    dtype: dtype
    shape: tuple[Size, ...]
    stride: tuple[Size, ...]
    storage_offset: Size
    device: device
    layout: layout
    requires_grad: bool

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


class Node:
    """One value of a graph.

    Attributes:
        name: unique in the graph; a Python identifier.
        op: "placeholder", "get_attr", "call_function" or "output".
        target: the operator, as namespace.name.overload; for the other kinds, the name of the
            input or subgraph, or "output".
        args, kwargs: nodes and plain values, nested in lists and tuples. The output node has one
            argument: the tuple of what the graph returns.
        meta: "val" holds what is recorded of the value: a TensorMeta, an Expression, a number, or a
            list of those; "stack_trace" and "nn_module_stack" say where it came from, where known.
    """

    __slots__ = ("args", "kwargs", "meta", "name", "op", "target")

    def __init__(
        self,
        name: str,
        op: str,
        target: str,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.op = op
        self.target = target
        self.args = args
        self.kwargs = kwargs or {}
        self.meta = meta or {}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in the order they appear."""
        found: dict[Node, None] = {}
        _note_nodes(self.args, found)
        if self.kwargs:
            _note_nodes(self.kwargs, found)
        return list(found)

    def __repr__(self) -> str:
        return self.name


def nodes_in(value: Any) -> Iterator[Node]:
    """The nodes in a value nested of lists, tuples and dicts."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from nodes_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from nodes_in(item)


def _note_nodes(value: Any, found: dict[Node, None]) -> None:
    # As `nodes_in`, whose generators would take most of the time of a rewrite.
    if isinstance(value, Node):
        found[value] = None
    elif isinstance(value, (list, tuple)):
        for item in value:
            _note_nodes(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            _note_nodes(item, found)


class Graph:
    """Nodes in the order they run; the last one is the output.

    Attributes:
        nodes: the nodes.
        subgraphs: graphs that operators of this one take, by the name of their get_attr.
        returns_single: the graph returns its one value bare, and not in a tuple.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.subgraphs: dict[str, Graph] = {}
        self.returns_single = False

    @property
    def placeholders(self) -> list[Node]:
        return [node for node in self.nodes if node.op == "placeholder"]

    @property
    def output_node(self) -> Node:
        return self.nodes[-1]

    def find_nodes(self, *, op: str, target: str | None = None) -> list[Node]:
        """The nodes of one kind, and of one target if given."""
        found = [node for node in self.nodes if node.op == op]
        return found if target is None else [node for node in found if node.target == target]

    def targets(self) -> dict[str, int]:
        """How often each operator is called, subgraphs included, in order of first use."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            if node.op == "call_function":
                counts[node.target] = counts.get(node.target, 0) + 1
        for subgraph in self.subgraphs.values():
            for target, count in subgraph.targets().items():
                counts[target] = counts.get(target, 0) + count
        return counts

    def python_code(self, name: str = "forward") -> str:
        """The graph as the source of a Python module that defines it as a function."""
        body = _Printer(self).function(name, "")
        imports = [line for key, line in _IMPORTS.items() if f"{key}." in body]
        return "\n".join([*imports, "", "", *body.splitlines()]) + "\n" if imports else body

    def __str__(self) -> str:
        return self.python_code()


_IMPORTS = {
    "math": "import math",
    "aten": "import aten",
    "higher_order": "from aten.graph import higher_order",
}
_RESERVED = {*_IMPORTS, "bool", "complex", "float", "int", "max", "min", "round", "forward"}

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_PREFIX = {"neg": "-", "pos": "+", "invert": "~"}
_BUILTINS = {
    "sym_max": "max",
    "sym_min": "min",
    "sym_int": "int",
    "sym_float": "float",
    "sym_sum": "sum",
}


class _Printer:
    """Writes one graph as a Python function; subgraphs become functions inside it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names = self.free_names()

    def free_names(self) -> dict[str, str]:
        """Node names as printed: those that would hide a name the code itself uses get a `_`."""
        taken = {node.name for node in self.graph.nodes}
        printed: dict[str, str] = {}
        for name in sorted(taken & _RESERVED):
            free = name + "_"
            while free in taken:
                free += "_"
            taken.add(free)
            printed[name] = free
        return printed

    def name(self, node: Node) -> str:
        return self.names.get(node.name, node.name)

    def function(self, name: str, indent: str) -> str:
        lines = [f"{indent}def {name}("]
        for node in self.graph.placeholders:
            lines.append(f"{indent}    {self.name(node)},{_comment(node)}")
        lines.append(f"{indent}):")
        if not self.graph.placeholders:
            lines = [f"{indent}def {name}():"]
        inner = indent + "    "
        for subgraph_name, subgraph in self.graph.subgraphs.items():
            lines += [_Printer(subgraph).function(subgraph_name, inner), ""]
        lines += [inner + text for node in self.graph.nodes for text in self.statement(node)]
        return "\n".join(lines)

    def statement(self, node: Node) -> list[str]:
        if node.op == "placeholder":
            return []
        if node.op == "get_attr":
            return [] if node.name == node.target else [f"{self.name(node)} = {node.target}"]
        if node.op == "output":
            return [f"return {self.returned(node)}"]
        return [f"{self.name(node)} = {self.call(node)}{_comment(node)}"]

    def returned(self, node: Node) -> str:
        values = node.args[0]
        return self.text(values[0] if self.graph.returns_single and len(values) == 1 else values)

    def call(self, node: Node) -> str:
        namespace, _, name = node.target.partition(".")
        arguments = [self.text(argument) for argument in node.args]
        if namespace == "operator" and not node.kwargs:
            if name == "getitem":
                return f"{arguments[0]}[{arguments[1]}]"
            if name in _INFIX and len(arguments) == 2:
                left = f"({arguments[0]})" if arguments[0].startswith("-") else arguments[0]
                return f"{left} {_INFIX[name]} {arguments[1]}"
            if name in _PREFIX:
                return f"{_PREFIX[name]}{arguments[0]}"
        if node.target == "sym_not":
            return f"not {arguments[0]}"
        if node.target == "sym_ite":
            return f"{arguments[1]} if {arguments[0]} else {arguments[2]}"
        arguments += [f"{key}={self.text(value)}" for key, value in node.kwargs.items()]
        return f"{_callee(node.target)}({', '.join(arguments)})"

    def text(self, value: Any) -> str:
        """The Python expression for an argument."""
        if isinstance(value, Node):
            return self.name(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.text, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self.text(item)}' for key, item in value.items())}}}"
        if isinstance(value, device):
            return f"aten.device({str(value)!r})"
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        if isinstance(value, complex):
            return f"complex({self.text(value.real)}, {self.text(value.imag)})"
        return repr(value)


def _callee(target: str) -> str:
    namespace = target.partition(".")[0]
    if target in _BUILTINS:
        return _BUILTINS[target]
    if namespace in ("higher_order", "math"):
        return target
    if target.startswith("sym_"):
        return f"math.{target.removeprefix('sym_')}"
    return f"aten.ops.{target}"


def _comment(node: Node) -> str:
    described = describe(node.meta.get("val"))
    return f"  # {described}" if described else ""


def describe(value: Any) -> str:
    """What is recorded of a value, in a few words: `float32[s77, 10]`, `2*s77`, or nothing."""
    if isinstance(value, (TensorMeta, Expression)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(describe(item) or '?' for item in value)}]"
    return "" if value is None else repr(value)


def map_nodes(value: Any, function: Callable[[Node], Any]) -> Any:
    """The nested value with every node in it replaced by what `function` gives for it."""
    if isinstance(value, Node):
        return function(value)
    if isinstance(value, list):
        return [map_nodes(item, function) for item in value]
    if isinstance(value, tuple):
        return tuple(map_nodes(item, function) for item in value)
    if isinstance(value, dict):
        return {key: map_nodes(item, function) for key, item in value.items()}
    return value


def concrete(size: Size, bindings: dict[str, Number]) -> Number:
    """A size's value where its symbols are bound."""
    return size.evaluate(bindings) if isinstance(size, Expression) else size
