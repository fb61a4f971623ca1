"""From the graph IR to torch's serialized schema (major version 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten.graph.errors import FormatError
from aten.graph.ir import Graph, Node, TensorMeta
from aten.graph.symbolic import Expression
from aten.graph.writing.expressions import kind_of
from aten.graph.writing.values import (
    Json,
    written_device,
    written_dtype,
    written_float,
    written_layout,
    written_memory_format,
    written_meta,
    written_size,
)
from aten.registry import find_operator

_POSITIONAL, _KEYWORD = 1, 2
_PROVENANCE = ("stack_trace", "nn_module_stack")
_GETITEM = "operator.getitem"
# The union's name for an empty list, by the schema's type of what is in it.
_EMPTY = {
    "Tensor": "as_tensors",
    "bool": "as_bools",
    "float": "as_floats",
    "Scalar": "as_ints",
    "str": "as_strings",
}


def written_target(target: str) -> str:
    """The operator as the file names it."""
    namespace, _, rest = target.partition(".")
    if not rest:
        return f"torch.{target}"
    if namespace == "operator":
        return f"_operator.{rest}"
    return target if namespace == "math" else f"torch.ops.{target}"


class GraphWriter:
    """One graph in its serialized form; subgraphs by writers of their own."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.parts: dict[Node, dict[int, Node]] = {}
        self.names: dict[Node, str] = {}
        self.recorded: dict[str, dict[str, Json]] = {
            "tensor_values": {},
            "sym_int_values": {},
            "sym_float_values": {},
            "sym_bool_values": {},
        }
        for node in graph.nodes:
            if node.target == _GETITEM and isinstance(node.args[0], Node):
                found = self.parts.setdefault(node.args[0], {})
                first = found.setdefault(node.args[1], node)
                self.names[node] = first.name

    def write(self) -> Json:
        """The graph. Raises FormatError for what the format has no place for."""
        inputs = [self.input(node) for node in self.graph.placeholders]
        nodes = [
            self.node(node)
            for node in self.graph.nodes
            if node.op == "call_function" and not self.is_part(node)
        ]
        return {
            "inputs": inputs,
            "outputs": [self.argument(value, None) for value in self.graph.output_node.args[0]],
            "nodes": nodes,
            **self.recorded,
            "is_single_tensor_return": self.graph.returns_single,
            "custom_obj_values": {},
        }

    def is_part(self, node: Node) -> bool:
        """Whether the node only names one of several results."""
        return node.target == _GETITEM and isinstance(node.args[0], Node)

    def input(self, node: Node) -> Json:
        value = node.meta.get("val")
        if isinstance(value, (TensorMeta, Expression)):
            return self.named(node.name, value)
        return self.argument(value, None)

    def named(self, name: str, value: Any) -> Json:
        """A value under its name, with what is recorded of it."""
        if value is None:
            return {"as_none": True}
        if isinstance(value, TensorMeta):
            self.recorded["tensor_values"][name] = written_meta(value)
            return {"as_tensor": {"name": name}}
        if not isinstance(value, (Expression, int, float)):
            raise FormatError(f"nothing is recorded of {name!r} that a file has a place for")
        kind = kind_of(value)
        self.recorded[f"{kind}_values"][name] = written_size(value)
        return {f"as_{kind}": {"as_name": name}}

    def node(self, node: Node) -> Json:
        return {
            "target": written_target(node.target),
            "inputs": self.inputs(node),
            "outputs": self.outputs(node),
            "metadata": {key: node.meta[key] for key in _PROVENANCE if key in node.meta},
            "is_hop_single_tensor_return": self.returns_tensor(node),
            "name": node.name,
        }

    def returns_tensor(self, node: Node) -> bool | None:
        if not node.target.startswith("higher_order."):
            return None
        return isinstance(node.meta.get("val"), TensorMeta)

    def inputs(self, node: Node) -> list[Json]:
        declared = _declared(node)
        made = []
        for place, value in enumerate(node.args):
            name, kind = declared(place)
            made.append(
                {"name": name, "arg": self.argument(value, kind, node), "kind": _POSITIONAL}
            )
        for name, value in node.kwargs.items():
            _, kind = declared(name)
            made.append({"name": name, "arg": self.argument(value, kind, node), "kind": _KEYWORD})
        return made

    def outputs(self, node: Node) -> list[Json]:
        value = node.meta.get("val")
        returned = _returns(node)
        if returned == [] or (returned is None and value is None):
            return []
        if not _is_several(value):
            return [self.named(node.name, value)]
        if returned is not None and len(returned) == 1:
            return [self.elements(node, node.name, value)]
        made = []
        for place, one in enumerate(value):
            part = self.parts.get(node, {}).get(place)
            name = f"{node.name}_unused_{place}" if part is None else part.name
            several = _is_several(one)
            made.append(self.elements(part, name, one) if several else self.named(name, one))
        return made

    def elements(self, owner: Node | None, name: str, values: Sequence[Any]) -> Json:
        """A list of tensors among the results, or the whole of them."""
        parts = self.parts.get(owner, {}) if owner is not None else {}
        names = []
        for place, one in enumerate(values):
            part = parts.get(place)
            element = f"{name}_unused_{place}" if part is None else part.name
            names.append(self.named(element, one)["as_tensor"])
        return {"as_tensors": names}

    def argument(self, value: Any, kind: str | None, node: Node | None = None) -> Json:
        """A value in the alternative that is of its kind; `kind` is the schema's type, if known."""
        if isinstance(value, Node):
            return self.reference(value)
        if isinstance(value, (list, tuple)):
            return self.several(list(value), kind, node)
        if isinstance(value, dict):
            items = {key: self.argument(one, None, node) for key, one in value.items()}
            return {"as_string_to_argument": items}
        writer = _PLAIN.get(type(value))
        if writer is None:
            called = f"{node.target}: " if node is not None else ""
            raise FormatError(f"{called}a {type(value).__name__} has no place in a file")
        tag, write = writer
        return {tag: write(value)}

    def reference(self, node: Node) -> Json:
        if node.op == "get_attr":
            inner = GraphWriter(self.graph.subgraphs[node.target]).write()
            return {"as_graph": {"name": node.target, "graph": inner}}
        value = node.meta.get("val")
        name = self.names.get(node, node.name)
        if isinstance(value, TensorMeta):
            return {"as_tensor": {"name": name}}
        if _is_several(value):
            return self.elements(node, name, value)
        if isinstance(value, (Expression, int, float)):
            return {f"as_{kind_of(value)}": {"as_name": name}}
        raise FormatError(f"nothing is recorded of {name!r} that a file has a place for")

    def several(self, values: list[Any], kind: str | None, node: Node | None) -> Json:
        if not values:
            element = (kind or "int").rstrip("?").partition("[")[0].rstrip("?")
            return {_EMPTY.get(element, "as_ints"): []}
        kinds = {type(value) for value in values}
        if kinds <= {Node, type(None)} and all(_is_tensor(one) for one in values if one):
            if None in values or (kind is not None and kind.startswith("Tensor?[")):
                return {"as_optional_tensors": [self.optional(one) for one in values]}
            return {"as_tensors": [self.reference(one)["as_tensor"] for one in values]}
        if Node in kinds:
            return self.symbolic(values, node)
        if kinds <= {list, tuple}:
            return self.nested(values, node)
        if kinds == {int, float}:
            values, kinds = [float(one) for one in values], {float}
        plural = _LISTS.get(kinds.pop()) if len(kinds) == 1 else None
        if plural is None:
            called = f"{node.target}: " if node is not None else ""
            raise FormatError(f"{called}a list of {values!r} has no place in a file")
        write = _PLAIN[type(values[0])][1]
        return {plural: [write(one) for one in values]}

    def optional(self, value: Node | None) -> Json:
        return {"as_none": True} if value is None else self.reference(value)

    def symbolic(self, values: list[Any], node: Node | None) -> Json:
        """A list of sizes, some of which are computed."""
        tags = {kind_of(one.meta["val"]) for one in values if isinstance(one, Node)}
        tag = tags.pop()
        made = []
        for one in values:
            if isinstance(one, Node):
                made.append({"as_name": self.names.get(one, one.name)})
            else:
                made.append(self.argument(float(one) if tag == "sym_float" else one, None, node))
        return {f"as_{tag}s": made}

    def nested(self, values: list[Any], node: Node | None) -> Json:
        inner = [self.argument(list(one), None, node) for one in values]
        [tag] = {next(iter(one)) for one in inner}
        tags = {
            "as_tensors": "as_nested_tensors",
            "as_ints": "as_int_lists",
            "as_floats": "as_float_lists",
        }
        if tag not in tags:
            raise FormatError(f"a list of lists, {values!r}, has no place in a file")
        return {tags[tag]: [one[tag] for one in inner]}


def _is_several(record: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(record, (list, tuple)) and not isinstance(record, TensorMeta)


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), TensorMeta)


def _declared(node: Node) -> Callable[[int | str], tuple[str, str | None]]:
    """What the schema says of an argument, by place or name: its name and its type."""
    op = _operator(node)
    if op is not None:
        by_place = [(one.name, str(one.type)) for one in op._schema.arguments]
        by_name = dict(by_place)

        def declared(key: int | str) -> tuple[str, str | None]:
            return by_place[key] if isinstance(key, int) else (key, by_name.get(key))

        return declared
    names = node.meta.get("argument_names")
    if names is None and not node.target.startswith(("higher_order.", "operator.", "math.")):
        if "." in node.target:
            raise FormatError(f"{node.target}: how its arguments are called is not known")
        names = [f"argument_{place}" for place in range(len(node.args))]
    if names is None:
        in_words = node.target.startswith("higher_order.")
        names = [("" if in_words else f"argument_{place}") for place in range(len(node.args))]
    return lambda key: (names[key] if isinstance(key, int) else key, None)


def _returns(node: Node) -> list[str] | None:
    """The schema's types of what the operator returns, where there is a schema."""
    op = _operator(node)
    return None if op is None else [str(one.type) for one in op._schema.returns]


def _operator(node: Node) -> Any:
    namespace, _, name = node.target.partition(".")
    if namespace in ("higher_order", "operator", "math") or not name:
        return None
    return find_operator(f"{namespace}::{name.removesuffix('.default')}")


_PLAIN: dict[type, tuple[str, Callable[[Any], Any]]] = {
    type(None): ("as_none", lambda value: True),
    bool: ("as_bool", bool),
    int: ("as_int", int),
    float: ("as_float", written_float),
    complex: (
        "as_complex",
        lambda value: {"real": written_float(value.real), "imag": written_float(value.imag)},
    ),
    str: ("as_string", str),
    dtype: ("as_scalar_type", written_dtype),
    layout: ("as_layout", written_layout),
    memory_format: ("as_memory_format", written_memory_format),
    device: ("as_device", written_device),
}
_LISTS = {bool: "as_bools", int: "as_ints", float: "as_floats", str: "as_strings"}
