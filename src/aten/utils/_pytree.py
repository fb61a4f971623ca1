"""Trees of tuples, lists and dictionaries, whose leaves are everything else; torch's names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "TreeSpec",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_unflatten",
]


class TreeSpec(NamedTuple):
    """How leaves are put together: a container's type, its keys or None, and its members."""

    type: type | None
    keys: tuple[Any, ...] | None
    children_specs: tuple[TreeSpec, ...]

    @property
    def num_leaves(self) -> int:
        """How many leaves the tree has."""
        if self.type is None:
            return 1
        return sum(one.num_leaves for one in self.children_specs)


_LEAF = TreeSpec(None, None, ())


def _is_node(value: Any) -> bool:
    return type(value) in (tuple, list, dict, OrderedDict) or (
        isinstance(value, tuple) and hasattr(value, "_fields")
    )


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in their order, and how they are put together."""
    if not _is_node(tree) or (is_leaf is not None and is_leaf(tree)):
        return [tree], _LEAF
    keys = tuple(tree) if isinstance(tree, dict) else None
    leaves: list[Any] = []
    specs = []
    for member in tree.values() if isinstance(tree, dict) else tree:
        inner, spec = tree_flatten(member, is_leaf)
        leaves += inner
        specs.append(spec)
    return leaves, TreeSpec(type(tree), keys, tuple(specs))


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """The tree of these leaves. ValueError where they are too few or too many."""
    listed = list(leaves)
    if len(listed) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: got {len(listed)} leaves for a tree of {treespec.num_leaves}"
        )
    return _built(iter(listed), treespec)


def _built(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    members = [_built(leaves, one) for one in spec.children_specs]
    if spec.keys is not None:
        return spec.type(zip(spec.keys, members, strict=True))
    return spec.type(*members) if hasattr(spec.type, "_fields") else spec.type(members)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree in their order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_map(
    func: Callable[..., Any],
    tree: Any,
    *rests: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """The tree with `func(leaf)` in the place of leaves, called with those of `rests`, too."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([func(*one) for one in zip(leaves, *others, strict=True)], spec)


def tree_map_only(kinds: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """`tree_map` of the leaves that are instances of `kinds`; the others stay."""
    return tree_map(lambda one: func(one) if isinstance(one, kinds) else one, tree)
