"""Elements at indices as loads of the kernel that reads them: which calls can be, and how.

A kernel computes addresses of an index that is in memory before it runs. Such an index is looked
at first (`fused::checked_index`), so one that is outside is refused by the operator itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aten.compiler.calls import operator_of
from aten.compiler.rewrites.rewriting import given
from aten.graph.ir import Graph, Node, TensorMeta
from aten.ops.indexing.scatter import INDEX_TYPES

CHECK = "fused.checked_index.default"


@dataclass(frozen=True, slots=True)
class Gather:
    """A call that gives elements of a table.

    Attributes:
        table, index: what it reads.
        dim: the dimension of the table that the index chooses from.
        along_all: whether the index has all dimensions of the result; else its own take the place
            of `dim`.
        wraps: whether an index below zero counts from the end.
    """

    table: Node
    index: Node
    dim: int
    along_all: bool = False
    wraps: bool = False

    @property
    def places(self) -> tuple[int, ...]:
        """The dimensions of the result that are the index's."""
        first = 0 if self.along_all else self.dim
        return tuple(range(first, first + len(self.index.meta["val"].shape)))

    def strides(self, table: tuple[int, ...]) -> tuple[int, ...]:
        """How the result's walk moves through the table, whose strides these are."""
        before, after = table[: self.dim], table[self.dim + 1 :]
        stays = 1 if self.along_all else len(self.places)
        return (*before, *(0,) * stays, *after)

    def reads_apart(self, sizes: tuple[int, ...], index: tuple[int, ...]) -> bool:
        """Whether neighbours in a result of these sizes are each at an index of its own, which
        lies with these strides."""
        last = max((dim for dim, size in enumerate(sizes) if size != 1), default=-1)
        return last in self.places and index[last - self.places[0]] != 0


def gather_of(node: Node) -> Gather | None:
    """The call as a load at computed addresses, where it can be one."""
    found = _GATHERS[node.target](node) if node.target in _GATHERS else None
    if found is None or not _is_tensor(found.table) or not _is_tensor(found.index):
        return None
    table, index = found.table.meta["val"], found.index.meta["val"]
    is_index = index.dtype.name in INDEX_TYPES
    sizes = (*table.shape, *node.meta["val"].shape)
    return found if is_index and table.shape and 0 not in sizes else None


def check_of(node: Node, found: Gather) -> Node:
    """The call that looks at the index, and gives it."""
    operator = operator_of(node)
    assert operator is not None
    args = (found.index, found.table, found.dim, found.wraps, operator.name)
    return Node(f"checked_{node.name}", "call_function", CHECK, args, {}, found.index.meta)


def gathers_of(graph: Graph) -> dict[Node, Gather]:
    """The calls of a graph that can be loads."""
    pairs = ((node, gather_of(node)) for node in graph.nodes)
    return {node: found for node, found in pairs if found is not None}


def _is_tensor(node: Any) -> bool:
    return isinstance(node, Node) and isinstance(node.meta.get("val"), TensorMeta)


def _embedding(node: Node) -> Gather:
    return Gather(given(node, "weight"), given(node, "indices"), 0)


def _index_select(node: Node) -> Gather | None:
    table, index = given(node, "self"), given(node, "index")
    if len(index.meta["val"].shape) != 1:
        return None
    return Gather(table, index, _dimension(node, table))


def _gather(node: Node) -> Gather:
    table = given(node, "self")
    return Gather(table, given(node, "index"), _dimension(node, table), along_all=True)


def _index(node: Node) -> Gather | None:
    indices = given(node, "indices")
    dims = [dim for dim, one in enumerate(indices) if one is not None]
    if len(dims) != 1:
        return None
    return Gather(given(node, "self"), indices[dims[0]], dims[0], wraps=True)


def _dimension(node: Node, table: Node) -> int:
    return int(given(node, "dim")) % max(len(table.meta["val"].shape), 1)


_GATHERS: dict[str, Callable[[Node], Gather | None]] = {
    "aten.embedding.default": _embedding,
    "aten.index_select.default": _index_select,
    "aten.gather.default": _gather,
    "aten.index.Tensor": _index,
}
