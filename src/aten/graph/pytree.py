"""Nested arguments and results, as torch's TreeSpec records them: tuples, lists and dicts."""

from __future__ import annotations

import json
import keyword
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

from aten._core.base.sizes import Size
from aten._core.tensor.tensor import Tensor
from aten.graph.errors import FormatError, InputError
from aten.graph.json_values import checked, shown

_SEQUENCES = {"builtins.tuple": tuple, "builtins.list": list, "collections.deque": list}
_MAPPINGS = {
    "builtins.dict": dict,
    "collections.OrderedDict": OrderedDict,
    "collections.defaultdict": dict,
}
_NAMED_TUPLE = "collections.namedtuple"
_CONTAINERS: dict[type, str] = {
    tuple: "builtins.tuple",
    Size: "builtins.tuple",
    list: "builtins.list",
    dict: "builtins.dict",
    OrderedDict: "collections.OrderedDict",
}


class TreeSpec(NamedTuple):
    """The shape of a nested value.

    Attributes:
        kind: the container's type as torch names it, or None for a leaf.
        keys: a mapping's keys, or a named tuple's type name and field names.
        children: the specs of its items.
    """

    kind: str | None
    keys: list[Any]
    children: tuple[TreeSpec, ...]

    @property
    def leaf_count(self) -> int:
        if self.kind is None:
            return 1
        return sum(child.leaf_count for child in self.children)

    def flatten(self, value: Any, where: str) -> list[Any]:
        """The leaves of a value of this shape, left to right. Raises InputError for another one."""
        if self.kind is None:
            return [value]
        items = self._items(value, where)
        if len(items) != len(self.children):
            raise InputError(f"{where}: expected {len(self.children)} items, got {len(items)}")
        leaves: list[Any] = []
        for key, item, child in zip(self._item_names(), items, self.children, strict=True):
            leaves += child.flatten(item, f"{where}[{key!r}]")
        return leaves

    def _items(self, value: Any, where: str) -> list[Any]:
        if self.kind in _MAPPINGS:
            if not isinstance(value, dict) or set(value) != set(self.keys):
                given = sorted(map(str, value)) if isinstance(value, dict) else type(value).__name__
                raise InputError(f"{where}: expected a dict with keys {self.keys}, got {given}")
            return [value[key] for key in self.keys]
        if not isinstance(value, (tuple, list)):
            expected = "list" if self.kind == "builtins.list" else "tuple"
            raise InputError(f"{where}: expected a {expected}, got {type(value).__name__}")
        return list(value)

    def _item_names(self) -> list[Any]:
        return self.keys if self.kind in _MAPPINGS else list(range(len(self.children)))

    def unflatten(self, leaves: list[Any]) -> Any:
        """The value of this shape with these leaves, of which there must be `leaf_count`."""
        if self.kind is None:
            return leaves[0]
        items, position = [], 0
        for child in self.children:
            items.append(child.unflatten(leaves[position : position + child.leaf_count]))
            position += child.leaf_count
        if self.kind in _MAPPINGS:
            return _MAPPINGS[self.kind](zip(self.keys, items, strict=True))
        if self.kind == _NAMED_TUPLE:
            name, *fields = self.keys
            return namedtuple(name, fields)(*items)
        return _SEQUENCES[str(self.kind)](items)

    def paths(self, prefix: str) -> list[str]:
        """How a guard spells each leaf: `prefix['key'][0]`."""
        if self.kind is None:
            return [prefix]
        return [
            path
            for key, child in zip(self._item_names(), self.children, strict=True)
            for path in child.paths(f"{prefix}[{key!r}]")
        ]


def rebuilt(like: Any, items: list[Any]) -> Any:
    """A list, tuple or named tuple of the type of `like` with other items."""
    return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)


def map_tensors(function: Callable[[Tensor], Any], value: Any) -> Any:
    """A value nested of tuples, lists and dicts, with `function` of every tensor in its place."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, dict):
        return type(value)((key, map_tensors(function, one)) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return rebuilt(value, [map_tensors(function, one) for one in value])
    return value


def flattened(value: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of a nested value, left to right, and how they are nested.

    Containers are tuples, named tuples, lists and dicts, by their type and no subclass.
    """
    kind = type(value)
    if _is_named_tuple(kind):
        name = f"{kind.__module__}.{kind.__qualname__}"
        return _flattened_items(_NAMED_TUPLE, [name, *kind._fields], list(value))
    if kind in _CONTAINERS and isinstance(value, dict):
        return _flattened_items(_CONTAINERS[kind], list(value), list(value.values()))
    if kind in _CONTAINERS:
        return _flattened_items(_CONTAINERS[kind], [], list(value))
    return [value], TreeSpec(None, [], ())


def _flattened_items(kind: str, keys: list[Any], items: list[Any]) -> tuple[list[Any], TreeSpec]:
    parts = [flattened(item) for item in items]
    leaves = [leaf for inner, _ in parts for leaf in inner]
    return leaves, TreeSpec(kind, keys, tuple(spec for _, spec in parts))


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def named_tuples(spec: TreeSpec) -> dict[str, list[str]]:
    """Field names of the named tuples in a spec, by their types' names."""
    found = {spec.keys[0]: list(spec.keys[1:])} if spec.kind == _NAMED_TUPLE else {}
    for child in spec.children:
        found.update(named_tuples(child))
    return found


def written(spec: TreeSpec) -> str:
    """The spec in its JSON form, as `parse` reads it."""
    return json.dumps([1, _written_node(spec)])


def _written_node(spec: TreeSpec) -> dict[str, Any]:
    children = [_written_node(child) for child in spec.children]
    if spec.kind is None:
        return {"type": None, "context": None, "children_spec": []}
    context: Any = None
    if spec.kind in _MAPPINGS:
        context = list(spec.keys)
    elif spec.kind == _NAMED_TUPLE:
        context = spec.keys[0]
    return {"type": spec.kind, "context": json.dumps(context), "children_spec": children}


def parse(text: str, named_tuples: dict[str, list[str]], where: str) -> TreeSpec:
    """The spec in its JSON form, `[1, {"type": ..., "context": ..., "children_spec": [...]}]`.

    Args:
        named_tuples: field names of the named tuples the program uses, by type name.
    """
    try:
        value = json.loads(text)
        version, root = value
        if version != 1:
            raise FormatError(f"{where}: tree spec version {shown(version)} is not supported")
        return _parse_node(root, named_tuples, where)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise FormatError(f"{where}: the tree spec {shown(text)} is not valid") from None


def _parse_node(node: Any, named_tuples: dict[str, list[str]], where: str) -> TreeSpec:
    found = checked(node, dict, where)
    kind = found.get("type")
    if kind is None:
        return TreeSpec(None, [], ())
    children = tuple(
        _parse_node(child, named_tuples, where)
        for child in checked(found.get("children_spec"), list, where)
    )
    context = found.get("context")
    content: Any = json.loads(context) if isinstance(context, str) else context
    if kind in _SEQUENCES:
        return TreeSpec(kind, [], children)
    if kind in _MAPPINGS:
        keys = content["dict_context"] if kind == "collections.defaultdict" else content
        keys = checked(keys, list, where)
        if len(keys) != len(children) or not all(isinstance(key, (str, int)) for key in keys):
            raise FormatError(f"{where}: keys {shown(keys)} for {len(children)} items")
        return TreeSpec(kind, keys, children)
    if kind == _NAMED_TUPLE:
        return _named_tuple(content, named_tuples, children, where)
    raise FormatError(
        f"{where}: values of type {shown(kind)} are not supported; call the program with flat_call"
    )


def _is_field_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def _named_tuple(
    content: Any, named_tuples: dict[str, list[str]], children: tuple[TreeSpec, ...], where: str
) -> TreeSpec:
    type_name = checked(content, str, where)
    fields = named_tuples.get(type_name)
    short = type_name.rpartition(".")[2]
    names = [short, *(fields or ())]
    if fields is None or len(fields) != len(children) or len(set(fields)) != len(fields):
        raise FormatError(f"{where}: the fields of named tuple {shown(type_name)} are not recorded")
    if not all(isinstance(name, str) and _is_field_name(name) for name in names):
        raise FormatError(f"{where}: named tuple {shown(type_name)} has fields {shown(fields)}")
    return TreeSpec(_NAMED_TUPLE, names, children)
