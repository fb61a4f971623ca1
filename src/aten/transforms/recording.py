"""What a function calls, as a graph: recorded while it runs."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.errors import DataDependentOutputException
from aten._core.base.keys import gradient_modes
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.making import is_fake, when_data_is_missing
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import DispatchMode, in_force
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node, TensorMeta, nodes_in
from aten.graph.operators import resolve_graph
from aten.graph.pytree import map_tensors
from aten.registry import find_operator
from aten.transforms.symbols.numbers import SymInt
from aten.transforms.view_steps import same_window


class Recording:
    """A recorded function: called with tensors of the same sizes, it runs the graph.

    Attributes:
        graph: the graph. Its first inputs are the tensors given; what else the function used, as it
            was, are the others.
        constants: these.
        results: what the function returned, with tensors of the sizes that the graph's have.
    """

    def __init__(self, graph: Graph, constants: list[Tensor], results: Any) -> None:
        self.graph = graph
        self.constants = constants
        self.results = results
        self._interpreter = Interpreter(graph, resolve_graph(graph))

    def __call__(self, *inputs: Tensor) -> Any:
        """The function's results, by the graph."""
        values = iter(self._interpreter.run([*inputs, *self.constants]))
        return map_tensors(lambda _: next(values), self.results)

    def __str__(self) -> str:
        return str(self.graph)


class Recorder(DispatchMode):
    """Makes a node of every call that comes to it.

    Attributes:
        inputs: placeholders, those of constants that were met among them.
        constants: tensors that were met and are no input, in the order of their placeholders.
        calls: nodes of calls, in their order.
        meta_stands_for_data: whether tensors of the meta device stand for tensors with data.
    """

    def __init__(self, *, meta_stands_for_data: bool = False) -> None:
        self.meta_stands_for_data = meta_stands_for_data
        self.graph = Graph()
        self.inputs: list[Node] = []
        self.constants: list[Tensor] = []
        self.calls: list[Node] = []
        self.used: dict[str, int] = {}
        # By identity; the tensors are kept, so that no other one gets the identity. And by their
        # storage: calls have windows of their own, which are other objects.
        self.known: dict[int, tuple[Tensor, Node]] = {}
        self.windows: dict[int, list[tuple[Tensor, Node]]] = {}

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.recorded(op, args, kwargs, op(*args, **kwargs))

    def recorded(
        self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any
    ) -> Any:
        """The results of a call, with a node for it."""
        node = self.add(
            "call_function",
            _target(op),
            tuple(self.noted(one) for one in args),
            {name: self.noted(one) for name, one in kwargs.items()},
        )
        if not gradient_modes()[0]:
            node.meta["gradients"] = False
        if isinstance(results, Tensor):
            self.name(results, node)
        elif isinstance(results, (list, tuple)):
            node.meta["val"] = [described(one) for one in results]
            for place, one in enumerate(results):
                if isinstance(one, Tensor):
                    self.name(one, self.add("call_function", "operator.getitem", (node, place)))
        return results

    def add(
        self,
        op: str,
        target: str,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Node:
        node = Node(self.free_name(target), op, target, args, kwargs)
        (self.inputs if op == "placeholder" else self.calls).append(node)
        return node

    def free_name(self, target: str) -> str:
        parts = target.split(".")
        name = re.sub(r"\W", "_", parts[1] if len(parts) > 1 else target)
        count = self.used[name] = self.used.get(name, -1) + 1
        return f"{name}_{count}" if count or keyword.iskeyword(name) else name

    def name(self, value: Tensor, node: Node) -> None:
        node.meta.setdefault("val", described(value))
        self.known[id(value)] = (value, node)
        self.windows.setdefault(id(value.untyped_storage()), []).append((value, node))

    def find(self, value: Tensor) -> Node | None:
        if id(value) in self.known:
            return self.known[id(value)][1]
        windows = self.windows.get(id(value.untyped_storage()), [])
        return next((node for one, node in windows[::-1] if same_window(one, value)), None)

    def noted(self, value: Any) -> Any:
        """An argument with nodes in the place of tensors."""
        if isinstance(value, (list, tuple)):
            made = [self.noted(one) for one in value]
            return made if isinstance(value, list) else tuple(made)
        if not isinstance(value, Tensor):
            return value
        return self.find(value) or self.add_constant(value)

    def add_constant(self, value: Tensor) -> Node:
        self.constants.append(value)
        node = self.add("placeholder", f"constant_{len(self.constants) - 1}")
        self.name(value, node)
        return node


def _refuse_without_data(tensor: Tensor) -> None:
    """Raises DataDependentOutputException where a composite of a recorded function looks at data:
    what it calls without is not what it calls with data."""
    recorders = [one for one in in_force() if isinstance(one, Recorder)]
    if any(is_fake(tensor) or one.meta_stands_for_data for one in recorders):
        raise DataDependentOutputException("an operator that is made of others", tensor)


when_data_is_missing(_refuse_without_data)


def _target(op: OpOverload) -> str:
    return f"{op.namespace}.{op.name}.{op.overload or 'default'}"


def described(value: Any) -> Any:
    """What is recorded of a tensor; other values are themselves."""
    if not isinstance(value, Tensor):
        return value
    return TensorMeta(
        value.dtype,
        tuple(map(_spelled, value.shape)),
        tuple(map(_spelled, value.stride())),
        _spelled(value.storage_offset()),
        value.device,
        value.layout,
        value.requires_grad,
    )


def _spelled(size: Any) -> Any:
    """A size as it stands in graphs: a symbolic one as its expression."""
    return size.expression if isinstance(size, SymInt) else size


def record(
    function: Callable[..., Any],
    *inputs: Tensor,
    constants: Sequence[Tensor] = (),
    meta_stands_for_data: bool = False,
) -> Recording:
    """The operators that `function` calls for these tensors, as a graph.

    The function runs once, writes included. What is recorded is what modes see: composites as what
    they call. Under `functionalize`, and taken apart by `Decompose` inside of the function, it is a
    graph of functional operators of the set. Numbers that Python code read from tensors are
    constants of the graph.

    Tensors that the function uses besides its arguments are the recording's `constants`: of those
    given here, as many as it uses, and those it finds or makes itself. Raises
    DataDependentOutputException where what is called depends on data of fake tensors, or, if
    `meta_stands_for_data`, of those of the meta device.

    Example:

        >>> recorded = aten.transforms.record(
        ...     aten.func.functionalize(lambda x: x.add_(1).mul(2)), aten.zeros(2)
        ... )
        >>> print(recorded)
        import aten
        <BLANKLINE>
        <BLANKLINE>
        def forward(
            input_0,  # float32[2]
        ):
            add = aten.ops.aten.add.Tensor(input_0, 1, alpha=1)  # float32[2]
            mul = aten.ops.aten.mul.Tensor(add, 2)  # float32[2]
            copy_ = aten.ops.aten.copy_.default(input_0, add, False)  # float32[2]
            return (mul,)
        <BLANKLINE>
    """
    recorder = Recorder(meta_stands_for_data=meta_stands_for_data)
    for place, one in enumerate(inputs):
        recorder.name(one, recorder.add("placeholder", f"input_{place}"))
    for one in constants:
        if recorder.find(one) is None:
            recorder.add_constant(one)
    with recorder:
        results = function(*inputs)
    returned: list[Any] = []
    map_tensors(lambda one: returned.append(recorder.noted(one)), results)
    output = Node("output", "output", "output", (tuple(returned),))
    kept = used_calls(recorder.calls, output)
    used = {one for node in (*kept, output) for one in node.all_input_nodes}
    pairs = zip(recorder.inputs[len(inputs) :], recorder.constants, strict=True)
    found = [(node, one) for node, one in pairs if node in used]
    given = [*recorder.inputs[: len(inputs)], *(node for node, _ in found)]
    recorder.graph.nodes = [*given, *kept, output]
    return Recording(recorder.graph, [one for _, one in found], results)


def used_calls(calls: Sequence[Node], output: Node) -> list[Node]:
    """The calls without those of whose results nothing is used, and that neither write nor draw."""
    wanted = set(nodes_in(output.args))
    kept = []
    for node in reversed(calls):
        if node not in wanted and not _has_effect(node):
            continue
        wanted.update(node.all_input_nodes)
        kept.append(node)
    return kept[::-1]


def _has_effect(node: Node) -> bool:
    namespace, _, name = node.target.partition(".")
    op = find_operator(f"{namespace}::{name}")
    return op is not None and (
        "nondeterministic_seeded" in op.entry.tags
        or any(one.is_write for one in op._schema.arguments)
    )
