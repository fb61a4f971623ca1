"""From torch's serialized schema (major version 8) to the graph IR.

The schema is a set of tagged unions: `{"as_tensor": {"name": "x"}}`. Every alternative that an
argument can take has one entry in `_ARGUMENT_KINDS`. Nothing here looks operators up.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from typing import Any

from aten._core.base.device import LAYOUTS, MEMORY_FORMATS, device, layout, memory_format
from aten._core.base.dtypes import DTYPES, dtype
from aten.graph.errors import FormatError
from aten.graph.ir import Graph, Node, TensorMeta
from aten.graph.json_values import checked, field, number, optional, shown, union
from aten.graph.symbolic import Expression, Number, SymbolicError, parse

# The file's own numbering of element types: not the one of ScalarType in memory.
DTYPE_NAMES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu",
    34: "uint32",
    35: "uint64",
}
LAYOUT_NAMES = {
    1: "sparse_coo",
    2: "sparse_csr",
    3: "sparse_csc",
    4: "sparse_bsr",
    5: "sparse_bsc",
    6: "_mkldnn",
    7: "strided",
}
MEMORY_FORMAT_NAMES = {
    1: "contiguous_format",
    2: "channels_last",
    3: "channels_last_3d",
    4: "preserve_format",
}
_POSITIONAL = 1  # ArgumentKind; older files leave it out, and then names say what is meant

_OPERATOR = re.compile(r"torch\.ops\.(\w+)\.(\w+)(?:\.(\w+))?", re.ASCII)
# Their schemas say how arguments are called; those of other operators may not be there.
_KNOWN_NAMESPACES = ("aten.", "prims.", "higher_order.", "operator.", "math.")
_PYTHON_FUNCTION = re.compile(r"(_operator|math|torch)\.(\w+)", re.ASCII)


def read_dtype(code: Any, where: str) -> dtype:
    name = DTYPE_NAMES.get(checked(code, int, where))
    if name is None:
        raise FormatError(f"{where}: unknown element type {code}")
    return DTYPES[name]


def read_layout(code: Any, where: str) -> layout:
    name = LAYOUT_NAMES.get(checked(code, int, where))
    if name is None:
        raise FormatError(f"{where}: unknown layout {code}")
    return LAYOUTS[name]


def read_memory_format(code: Any, where: str) -> memory_format:
    name = MEMORY_FORMAT_NAMES.get(checked(code, int, where))
    if name is None:
        raise FormatError(f"{where}: unknown memory format {code}")
    return MEMORY_FORMATS[name]


def read_device(value: Any, where: str) -> device:
    kind = field(value, "type", str, where)
    index = value.get("index")
    try:
        return device(kind, None if index is None else checked(index, int, f"{where}.index"))
    except (RuntimeError, OverflowError) as error:
        raise FormatError(f"{where}: {error}") from None


def read_name(name: Any, where: str) -> str:
    """A node's name. Only identifiers, so that a printed graph is nothing but the graph."""
    text = checked(name, str, where)
    if not (text.isascii() and text.isidentifier()) or keyword.iskeyword(text):
        raise FormatError(f"{where}: {shown(text)} is no name for a value")
    return text


def read_symbolic(value: Any, where: str) -> int | float | bool | Expression:
    """A SymInt, SymFloat or SymBool: a plain value, or an expression."""
    tag, content = union(value, where)
    if tag != "as_expr":
        plain: Number = read_plain(tag, content, where)
        return plain
    text = field(content, "expr_str", str, where)
    try:
        expression = parse(text)
    except SymbolicError as error:
        raise FormatError(f"{where}: {error}") from None
    plain_value = expression.value
    if isinstance(plain_value, int):
        return plain_value
    return expression.with_hint(read_hint(content.get("hint"), where))


def read_hint(value: Any, where: str) -> Number | None:
    """What the value was when the program was exported; None where the file does not say."""
    if value is None:
        return None
    tag, content = union(value, where)
    hint = read_plain(tag, content, where)
    if not isinstance(hint, (int, float)):
        raise FormatError(f"{where}: expected a number as the hint, found {shown(hint)}")
    return hint


def read_plain(tag: str, content: Any, where: str) -> Any:
    if tag == "as_int":
        return checked(content, int, where)
    if tag == "as_bool":
        return checked(content, bool, where)
    if tag == "as_float":
        return number(content, where)
    if tag == "as_string":
        return checked(content, str, where)
    if tag == "as_none":
        return None
    raise FormatError(f"{where}: unknown kind of value {shown(tag)}")


def read_size(value: Any, where: str) -> int | Expression:
    # Nearly all of them are: they are most of a file.
    if type(value) is dict and len(value) == 1:
        plain = value.get("as_int")
        if type(plain) is int:
            return plain
    size = read_symbolic(value, where)
    if isinstance(size, (bool, float)):
        raise FormatError(f"{where}: a size must be an integer, found {size}")
    return size


def read_tensor_meta(value: Any, where: str) -> TensorMeta:
    of_sizes, of_strides = f"{where}.sizes", f"{where}.strides"
    sizes = [read_size(size, of_sizes) for size in field(value, "sizes", list, where)]
    strides = [read_size(stride, of_strides) for stride in field(value, "strides", list, where)]
    if len(sizes) != len(strides):
        raise FormatError(f"{where}: {len(sizes)} sizes, but {len(strides)} strides")
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise FormatError(f"{where}: negative sizes {sizes}")
    return TensorMeta(
        read_dtype(field(value, "dtype", int, where), where),
        tuple(sizes),
        tuple(strides),
        read_size(field(value, "storage_offset", dict, where), where),
        read_device(field(value, "device", dict, where), where),
        read_layout(field(value, "layout", int, where), where),
        optional(value, "requires_grad", bool, False, where),
    )


def read_target(text: str, where: str) -> str:
    """The operator as namespace.name.overload; functions of Python keep their module's name."""
    match = _OPERATOR.fullmatch(text)
    if match is not None:
        namespace, name, overload = match.groups()
        if namespace == "higher_order":
            return f"higher_order.{name}"
        return f"{namespace}.{name}.{overload or 'default'}"
    match = _PYTHON_FUNCTION.fullmatch(text)
    if match is None:
        raise FormatError(f"{where}: {shown(text)} names no operator")
    module, name = match.groups()
    if module == "torch":
        return name
    return f"{module.lstrip('_')}.{name}"


class GraphReader:
    """Builds one graph from its serialized form; subgraphs by readers of their own."""

    def __init__(self, serialized: dict[str, Any], where: str) -> None:
        self.serialized = serialized
        self.where = where
        self.graph = Graph()
        self.graph.returns_single = optional(
            serialized, "is_single_tensor_return", bool, False, where
        )
        self.values: dict[str, Node] = {}  # what arguments may refer to
        self.names: set[str] = set()  # every node's name, those without a value included
        self.recorded = self.read_recorded()

    def read_recorded(self) -> dict[str, Any]:
        recorded: dict[str, Any] = {}
        tensors = optional(self.serialized, "tensor_values", dict, {}, self.where)
        for name, meta in tensors.items():
            recorded[name] = read_tensor_meta(meta, f"{self.where}: the record of {shown(name)}")
        for key in ("sym_int_values", "sym_float_values", "sym_bool_values"):
            for name, value in optional(self.serialized, key, dict, {}, self.where).items():
                recorded[name] = read_symbolic(value, f"{self.where}.{key}")
        return recorded

    def read(self, constant_names: list[str | None] | None = None) -> Graph:
        """The graph. `constant_names` name the inputs that are plain values, in input order."""
        inputs = field(self.serialized, "inputs", list, self.where)
        names = [None] * len(inputs) if constant_names is None else constant_names
        if len(names) != len(inputs):
            raise FormatError(
                f"{self.where}: {len(inputs)} inputs, but the signature lists {len(names)}"
            )
        for position, (value, name) in enumerate(zip(inputs, names, strict=True)):
            self.read_input(value, name or f"input_{position}")
        for position, node in enumerate(field(self.serialized, "nodes", list, self.where)):
            self.read_node(node, f"{self.where}, node {position}")
        outputs = field(self.serialized, "outputs", list, self.where)
        returned = tuple(self.read_argument(value, f"{self.where}, output") for value in outputs)
        self.graph.nodes.append(Node(self.unused_name("output"), "output", "output", (returned,)))
        return self.graph

    def add(self, node: Node) -> Node:
        if node.name in self.names:
            raise FormatError(f"{self.where}: two values are named {node.name!r}")
        self.names.add(node.name)
        self.graph.nodes.append(node)
        return node

    def add_value(self, node: Node) -> Node:
        self.values[node.name] = self.add(node)
        return node

    def unused_name(self, wanted: str) -> str:
        name, suffix = wanted, 0
        while name in self.names or name in self.values:
            suffix += 1
            name = f"{wanted}_{suffix}"
        return name

    def read_input(self, value: Any, constant_name: str) -> None:
        where = f"{self.where}, inputs"
        tag, content = union(value, where)
        if tag in _NAMED:
            name = self.named(tag, content, where)
            if name is not None:
                self.add_value(
                    Node(name, "placeholder", name, meta={"val": self.recorded.get(name)})
                )
                return
            tag, content = union(content, where)
        constant = read_plain(tag, content, where)
        name = self.unused_name(read_name(constant_name, where))
        self.add(Node(name, "placeholder", name, meta={"val": constant}))

    def read_node(self, serialized: Any, where: str) -> None:
        target = read_target(field(serialized, "target", str, where), where)
        where = f"{where} ({target})"
        args: list[Any] = []
        names: list[str] = []
        kwargs: dict[str, Any] = {}
        for named in field(serialized, "inputs", list, where):
            name = field(named, "name", str, where)
            value = self.read_argument(named.get("arg"), f"{where}, argument {name or len(args)}")
            if name and (named.get("kind") != _POSITIONAL or kwargs):
                kwargs[read_name(name, where)] = value
            else:
                args.append(value)
                names.append(name)
        meta = self.read_provenance(serialized)
        if not target.startswith(_KNOWN_NAMESPACES):
            meta["argument_names"] = tuple(names)
        node = Node("", "call_function", target, tuple(args), kwargs, meta)
        self.read_outputs(node, serialized, where)

    def read_provenance(self, serialized: Any) -> dict[str, Any]:
        metadata = optional(serialized, "metadata", dict, {}, self.where)
        return {key: metadata[key] for key in ("stack_trace", "nn_module_stack") if key in metadata}

    def read_outputs(self, node: Node, serialized: dict[str, Any], where: str) -> None:
        outputs = field(serialized, "outputs", list, where)
        base = serialized.get("name")
        fallback = self.unused_name(node.target.split(".")[-2 if "." in node.target else -1])
        own_name = fallback if base is None else read_name(base, where)
        if not outputs:
            node.name = own_name
            self.add(node)
            return
        takes_graph = node.target.startswith("higher_order.")
        in_tuple = takes_graph and not serialized.get("is_hop_single_tensor_return")
        if len(outputs) == 1 and not (in_tuple and "as_tensor" in outputs[0]):
            self.read_one_output(node, outputs[0], own_name, where)
            return
        node.name = own_name
        self.add(node)
        node.meta["val"] = [self.read_element(node, i, out, where) for i, out in enumerate(outputs)]

    def read_one_output(self, node: Node, output: Any, own_name: str, where: str) -> None:
        tag, content = union(output, where)
        if tag in ("as_tensors", "as_optional_tensors"):
            node.name = own_name
            self.add(node)
            node.meta["val"] = self.read_list_output(node, tag, content, where)
            return
        name = self.named(tag, content, where)
        if name is None:
            node.name = own_name
            self.add(node)
            return
        node.name = name
        node.meta["val"] = self.recorded.get(name)
        self.add_value(node)

    def read_element(self, owner: Node, index: int, output: Any, where: str) -> Any:
        """One of several results: a getitem node, or more of them for a list among the results."""
        tag, content = union(output, where)
        if tag in ("as_tensors", "as_optional_tensors"):
            name = self.unused_name(f"{owner.name}_{index}")
            inner = self.add(Node(name, "call_function", "operator.getitem", (owner, index)))
            inner.meta["val"] = self.read_list_output(inner, tag, content, where)
            return inner.meta["val"]
        name_or_none = self.named(tag, content, where) if tag in _NAMED else None
        if name_or_none is None:
            return None
        meta = {"val": self.recorded.get(name_or_none)}
        self.add_value(
            Node(name_or_none, "call_function", "operator.getitem", (owner, index), meta=meta)
        )
        return meta["val"]

    def read_list_output(self, owner: Node, tag: str, content: Any, where: str) -> list[Any]:
        items = checked(content, list, where)
        if tag == "as_tensors":
            items = [{"as_tensor": item} for item in items]
        return [self.read_element(owner, index, item, where) for index, item in enumerate(items)]

    def named(self, tag: str, content: Any, where: str) -> str | None:
        """The name in an alternative that names a value; None where it holds a plain value."""
        if tag not in _NAMED:
            raise FormatError(f"{where}: unknown kind of output {shown(tag)}")
        if tag in ("as_tensor", "as_custom_obj"):
            return read_name(field(content, "name", str, where), where)
        if tag == "as_optional_tensor":
            tag, content = union(content, where)
            return self.named(tag, content, where) if tag == "as_tensor" else None
        tag, content = union(content, where)
        return read_name(content, where) if tag == "as_name" else None

    def read_argument(self, value: Any, where: str) -> Any:
        tag, content = union(value, where)
        reader = _ARGUMENT_KINDS.get(tag)
        if reader is None:
            raise FormatError(f"{where}: unknown kind of argument {shown(tag)}")
        return reader(self, content, where)

    def reference(self, name: Any, where: str) -> Node:
        node = self.values.get(checked(name, str, where))
        if node is None:
            raise FormatError(f"{where}: {shown(name)} is used before it is computed")
        return node

    def tensor(self, content: Any, where: str) -> Node:
        return self.reference(field(content, "name", str, where), where)

    def tensors(self, content: Any, where: str) -> list[Node]:
        return [self.tensor(item, where) for item in checked(content, list, where)]

    def optional_tensor(self, content: Any, where: str) -> Node | None:
        tag, inner = union(content, where)
        return None if tag == "as_none" else self.tensor(inner, where)

    def symbolic(self, content: Any, where: str) -> Node | Number:
        tag, inner = union(content, where)
        if tag == "as_name":
            return self.reference(inner, where)
        plain: Number = read_plain(tag, inner, where)
        return plain

    def subgraph(self, content: Any, where: str) -> Node:
        wanted = read_name(field(content, "name", str, where), where)
        name = self.unused_name(wanted)
        inner = GraphReader(field(content, "graph", dict, where), f"{where}, graph {name}")
        self.graph.subgraphs[name] = inner.read()
        return self.add(Node(name, "get_attr", name))


def _list_of(
    read: Callable[[GraphReader, Any, str], Any],
) -> Callable[[GraphReader, Any, str], Any]:
    def read_list(reader: GraphReader, content: Any, where: str) -> list[Any]:
        return [read(reader, item, where) for item in checked(content, list, where)]

    return read_list


def _plain(read: Callable[[Any, str], Any]) -> Callable[[GraphReader, Any, str], Any]:
    return lambda reader, content, where: read(content, where)


def _read_complex(content: Any, where: str) -> complex:
    found = checked(content, dict, where)
    return complex(number(found.get("real"), where), number(found.get("imag"), where))


def _read_mapping(reader: GraphReader, content: Any, where: str) -> dict[str, Any]:
    items = checked(content, dict, where).items()
    return {key: reader.read_argument(value, f"{where}[{key!r}]") for key, value in items}


def _read_custom_object(reader: GraphReader, content: Any, where: str) -> Any:
    raise FormatError(
        f"{where}: an object of class {shown(content.get('class_fqn') if content else None)}; "
        "such objects are stored pickled, and nothing here unpickles"
    )


_read_int = _plain(lambda content, where: checked(content, int, where))
_read_bool = _plain(lambda content, where: checked(content, bool, where))
_read_float = _plain(number)
_read_string = _plain(lambda content, where: checked(content, str, where))

_NAMED = frozenset(
    {
        "as_tensor",
        "as_sym_int",
        "as_sym_float",
        "as_sym_bool",
        "as_custom_obj",
        "as_optional_tensor",
    }
)

_ARGUMENT_KINDS: dict[str, Callable[[GraphReader, Any, str], Any]] = {
    "as_none": lambda reader, content, where: None,
    "as_tensor": GraphReader.tensor,
    "as_tensors": GraphReader.tensors,
    "as_optional_tensor": GraphReader.optional_tensor,
    "as_optional_tensors": _list_of(GraphReader.optional_tensor),
    "as_nested_tensors": _list_of(GraphReader.tensors),
    "as_int": _read_int,
    "as_ints": _list_of(_read_int),
    "as_int_lists": _list_of(_list_of(_read_int)),
    "as_float": _read_float,
    "as_floats": _list_of(_read_float),
    "as_float_lists": _list_of(_list_of(_read_float)),
    "as_bool": _read_bool,
    "as_bools": _list_of(_read_bool),
    "as_complex": _plain(_read_complex),
    "as_string": _read_string,
    "as_strings": _list_of(_read_string),
    "as_sym_int": GraphReader.symbolic,
    "as_sym_ints": _list_of(GraphReader.symbolic),
    "as_sym_float": GraphReader.symbolic,
    "as_sym_floats": _list_of(GraphReader.symbolic),
    "as_sym_bool": GraphReader.symbolic,
    "as_sym_bools": _list_of(GraphReader.symbolic),
    "as_scalar_type": _plain(read_dtype),
    "as_memory_format": _plain(read_memory_format),
    "as_layout": _plain(read_layout),
    "as_device": _plain(read_device),
    "as_graph": GraphReader.subgraph,
    "as_operator": _plain(lambda content, where: read_target(checked(content, str, where), where)),
    "as_string_to_argument": _read_mapping,
    "as_custom_obj": _read_custom_object,
}
