"""Control flow in captured programs: functions that operators take, as graphs of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.export.data_sizes import refused
from aten.export.dimensions import CaptureError
from aten.graph import higher_order
from aten.graph.ir import Node, TensorMeta
from aten.registry import ops
from aten.transforms import FakeTensorMode, Functionalize
from aten.transforms.recording import Recorder, described

_GRAPH_NAMES = {
    "cond": ("true_graph", "false_graph"),
    "while_loop": ("while_loop_cond_graph", "while_loop_body_graph"),
    "scan": ("scan_combine_graph",),
    "map_impl": ("body_graph",),
}


class Region(NamedTuple):
    """A function that an operator takes: its placeholders, its calls, and what it returns."""

    inputs: list[Node]
    calls: list[Node]
    results: list[Node]
    single: bool


class RegionRecorder(Recorder):
    """What `Regions` needs of the recorder that a function runs under."""

    paused = False
    regions: dict[str, Region]

    def __init__(self) -> None:
        super().__init__()
        self.regions = {}

    def inner(self) -> RegionRecorder:
        """A recorder for a function that an operator takes."""
        raise NotImplementedError

    def graph_name(self, wanted: str) -> str:
        """A name that no value has."""
        raise NotImplementedError


class Regions:
    """Records operators that take functions.

    Args:
        recorder: gets their nodes.
        functional: the mode that the program runs under.
        mode: makes fake tensors.
    """

    def __init__(
        self, recorder: RegionRecorder, functional: Functionalize, mode: FakeTensorMode
    ) -> None:
        self.recorder = recorder
        self.functional = functional
        self.mode = mode
        # By identity of a region's calls: what it uses of its surroundings, and as which input.
        self.lifted: dict[int, list[tuple[Tensor, Node]]] = {}

    def __enter__(self) -> Regions:
        higher_order.captures.entered.append(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        higher_order.captures.entered.pop()

    def call(
        self,
        name: str,
        functions: Sequence[Callable[..., Any]],
        operands: Sequence[Sequence[Any]],
    ) -> tuple[Any, ...]:
        """The results of an operator, fake ones, with a node for it."""
        groups = [[self.checked(name, one) for one in group] for group in operands]
        like = self.arguments(name, groups)
        met: list[Tensor] = []
        regions = [self.region(name, one, like, met) for one in functions]
        outputs = self.outputs(name, regions, groups)
        for region in regions:
            self.complete(region, met)
        noted = [[self.recorder.noted(one) for one in group] for group in groups]
        noted[-1] += [self.recorder.noted(one) for one in met]
        graphs = [
            self.graph(wanted, region)
            for wanted, region in zip(_GRAPH_NAMES[name], regions, strict=True)
        ]
        if name == "cond":
            return self.node(name, (*noted[0], *graphs, tuple(noted[1])), outputs)
        as_given = tuple if name == "while_loop" else list
        return self.node(name, (*graphs, *map(as_given, noted)), outputs)

    def checked(self, name: str, operand: Any) -> Tensor:
        if not isinstance(operand, Tensor):
            raise CaptureError(
                f"{name}: operands in programs are tensors, got a {type(operand).__name__}"
            )
        value = self.functional.value_of(operand)
        assert isinstance(value, Tensor)
        return value

    def arguments(self, name: str, groups: list[list[Tensor]]) -> list[Tensor]:
        """Tensors as those that each function is called with."""
        if name == "cond":
            return groups[1]
        if name == "while_loop":
            return [*groups[0], *groups[1]]
        *carried, rows, additional = groups
        return [
            *(one for group in carried for one in group),
            *(self.quietly(one, lambda one: ops.aten.select(one, 0, 0)) for one in rows),
            *additional,
        ]

    def quietly(self, tensor: Tensor, function: Callable[[Tensor], Any]) -> Tensor:
        """What a function makes of a tensor, unrecorded."""
        record = described(function(self.mode.from_tensor(tensor)))
        return self.fake(record)

    def fake(self, record: TensorMeta) -> Tensor:
        self.recorder.paused = True
        try:
            sizes, strides = [list(map(int, one)) for one in (record.shape, record.stride)]  # type: ignore[arg-type]
            made: Tensor = ops.aten.empty_strided(
                sizes, strides, dtype=record.dtype, device=record.device
            )
        finally:
            self.recorder.paused = False
        return made

    def region(
        self, name: str, function: Callable[..., Any], like: list[Tensor], met: list[Tensor]
    ) -> Region:
        """A function's graph. `met` gets the tensors of its surroundings that it uses."""
        inner = self.recorder.inner()
        fakes = [self.fake(described(one)) for one in like]
        inputs = []
        for place, fake in enumerate(fakes):
            node = inner.add("placeholder", f"arg{place}")
            inner.name(fake, node)
            inputs.append(node)
        functional = Functionalize()
        self.recorder.paused = True
        try:
            # A size that data choose inside of a function would be no size outside.
            with refused(), inner, Regions(inner, functional, self.mode), functional:
                results = function(*fakes)
                single = isinstance(results, Tensor)
                listed = [results] if single else list(results)
                for one in listed:
                    if not isinstance(one, Tensor):
                        raise CaptureError(f"{name}: its functions give tensors alone")
                listed = [functional.returned(one) for one in listed]
                noted = [inner.noted(one) for one in listed]
        finally:
            self.recorder.paused = False
        self.check_writes(name, inner)
        placeholders = {node.target: node for node in inner.inputs}
        found = []
        for place, tensor in enumerate(inner.constants):
            value = self.functional.value_of(tensor)
            if not any(one is value for one in met):
                met.append(value)
            found.append((value, placeholders[f"constant_{place}"]))
        region = Region(inputs, inner.calls, noted, single)
        self.recorder.regions.update(inner.regions)
        self.lifted[id(region.calls)] = found
        return region

    def check_writes(self, name: str, inner: RegionRecorder) -> None:
        if getattr(inner, "mutations", None):
            raise CaptureError(
                f"{name}: its functions may not write to what they are given, nor to what they "
                f"find in their surroundings"
            )

    def complete(self, region: Region, met: list[Tensor]) -> None:
        """Lets a region take all tensors that regions of its operator take."""
        own = self.lifted.pop(id(region.calls))
        taken = {node.name for node in (*region.inputs, *region.calls)}
        for value in met:
            node = next((node for one, node in own if one is value), None)
            if node is None:
                name = f"arg{len(region.inputs)}_unused"
                while name in taken:
                    name += "_"
                node = Node(name, "placeholder", name, meta={"val": described(value)})
            region.inputs.append(node)

    def outputs(
        self, name: str, regions: list[Region], groups: list[list[Tensor]]
    ) -> list[TensorMeta]:
        """What is recorded of the results. Raises CaptureError where functions do not agree."""
        records = [[node.meta["val"] for node in region.results] for region in regions]
        if name == "cond":
            if _kinds(records[0]) != _kinds(records[1]):
                raise CaptureError(
                    f"cond: both functions must give tensors of the same sizes and types, got "
                    f"{_shown(records[0])} and {_shown(records[1])}"
                )
            return records[0]
        if name == "while_loop":
            carried = [described(one) for one in groups[0]]
            if len(records[0]) != 1 or records[0][0].dtype.name != "bool" or records[0][0].shape:
                raise CaptureError(
                    f"while_loop: cond_fn must give a bool tensor of no dimensions, got "
                    f"{_shown(records[0])}"
                )
            if _kinds(records[1]) != _kinds(carried):
                raise CaptureError(
                    f"while_loop: body_fn must give what it is given, {_shown(carried)}, got "
                    f"{_shown(records[1])}"
                )
            return records[1]
        rows = groups[-2]
        carried_count = len(groups[0]) if name == "scan" else 0
        [made] = records
        carried = [described(one) for one in groups[0][:carried_count]]
        if _kinds(made[:carried_count]) != _kinds(carried):
            raise CaptureError(
                f"scan: combine_fn must carry on what it is given, {_shown(carried)}, got "
                f"{_shown(made[:carried_count])}"
            )
        length = rows[0].shape[0]
        return [*carried, *(_stacked(one, length) for one in made[carried_count:])]

    def graph(self, wanted: str, region: Region) -> Node:
        name = self.recorder.graph_name(wanted)
        self.recorder.regions[name] = region._replace(single=wanted == "while_loop_cond_graph")
        node = Node(name, "get_attr", name)
        self.recorder.calls.append(node)
        return node

    def node(
        self, name: str, args: tuple[Any, ...], outputs: list[TensorMeta]
    ) -> tuple[Tensor, ...]:
        made = self.recorder.add("call_function", f"higher_order.{name}", args)
        made.meta["val"] = list(outputs)
        results = []
        for place, record in enumerate(outputs):
            result = self.fake(record)
            part = self.recorder.add("call_function", "operator.getitem", (made, place))
            self.recorder.name(result, part)
            results.append(result)
        return tuple(results)


def _kinds(records: list[TensorMeta]) -> list[tuple[Any, ...]]:
    return [(one.dtype, one.shape, one.device) for one in records]


def _shown(records: list[TensorMeta]) -> str:
    return f"({', '.join(map(str, records))})"


def _stacked(record: TensorMeta, length: int) -> TensorMeta:
    """A record of that many tensors below each other."""
    strides: list[int] = []
    step = 1
    for size in reversed(record.shape):
        assert isinstance(size, int)
        strides.append(step)
        step *= size
    return record._replace(
        shape=(length, *record.shape), stride=(step, *reversed(strides)), storage_offset=0
    )
