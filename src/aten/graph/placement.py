"""Programs moved to other devices: their weights, and the devices that their steps name."""

from __future__ import annotations

from typing import Any

from aten._core.base.device import device
from aten._core.tensor.tensor import Tensor
from aten.graph.ir import Graph, Node, TensorMeta, map_nodes


def moved_graph(graph: Graph, place: device) -> Graph:
    """The graph with `place` wherever it names a device."""
    made = Graph()
    made.returns_single = graph.returns_single
    made.subgraphs = {name: moved_graph(one, place) for name, one in graph.subgraphs.items()}
    nodes: dict[Node, Node] = {}
    for node in graph.nodes:
        nodes[node] = Node(
            node.name,
            node.op,
            node.target,
            _moved(map_nodes(node.args, nodes.__getitem__), place),
            _moved(map_nodes(node.kwargs, nodes.__getitem__), place),
            {**node.meta, **_moved({"val": node.meta.get("val")}, place)},
        )
        made.nodes.append(nodes[node])
    return made


def _moved(value: Any, place: device) -> Any:
    if isinstance(value, device):
        return place
    if isinstance(value, TensorMeta):
        return value._replace(device=place)
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(one, place) for one in value)
    if isinstance(value, dict):
        return {key: _moved(one, place) for key, one in value.items()}
    return value


def moved_tensors(tensors: dict[str, Tensor], place: device) -> dict[str, Tensor]:
    """The tensors on a device; names of one tensor stay names of one."""
    made: dict[int, Tensor] = {}
    for one in tensors.values():
        if id(one) not in made:
            made[id(one)] = one.to(place)
    return {name: made[id(one)] for name, one in tensors.items()}
