"""`torch.compile(model, backend="aten")`: what torch captures, run by programs of this package.

torch finds `compile_graph` by the entry point group `torch_dynamo_backends`, and imports this file
when somebody asks for the backend; nothing else does. Tensors go to and fro by DLPack and are not
copied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from aten._core.base.device import LAYOUTS, MEMORY_FORMATS, device
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.compiler.functions import CompiledFunction
from aten.grad_mode import no_grad
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node
from aten.graph.operators import resolve_graph
from aten.interop import from_dlpack

# A size among the arguments: which tensor has it, and in which dimension.
_Source = tuple[int, int]


def compile_graph(module: Any, example_inputs: Sequence[Any], **options: Any) -> Any:
    """What runs a graph that torch captured, with its way back where there is one.

    Random numbers are drawn from this package's generator.

    Args:
        module: a torch.fx.GraphModule.
        example_inputs: tensors like its arguments.
        options: not looked at.

    Raises:
        UnknownOperatorError: the graph calls operators that are not here; all are named.
        RuntimeError: tensors are not on the CPU.
    """
    common = import_module("torch._dynamo.backends.common")
    return common.aot_autograd(fw_compiler=_compiled, bw_compiler=_compiled)(module, example_inputs)


def _compiled(module: Any, example_inputs: Sequence[Any]) -> Callable[[list[Any]], Any]:
    """One functional graph of ATen operators. The function takes its arguments out of a list, as
    torch wants them, so that nothing else holds them."""
    torch = sys.modules["torch"]
    for place, one in enumerate(example_inputs):
        if isinstance(one, torch.Tensor) and one.device.type != "cpu":
            raise RuntimeError(
                f'torch.compile(backend="aten"): argument {place} is on {one.device}, expected a '
                f"tensor on the CPU"
            )
    reader = _Reader(torch, module)
    interpreter = Interpreter(reader.graph, resolve_graph(reader.graph))
    constants = [_from_torch(one) for one in reader.constants]
    sources = _sources(torch, example_inputs)
    tensors = [place for place in range(len(example_inputs)) if place not in sources]

    def over_tensors(*given: Any) -> tuple[Any, ...]:
        values = dict(zip(tensors, given, strict=True))
        for place, (tensor, dim) in sources.items():
            values[place] = values[tensor].shape[dim]
        arguments = [values[place] for place in range(len(example_inputs))]
        return tuple(interpreter.run([*arguments, *constants]))

    compiled = CompiledFunction(over_tensors)

    def run(arguments: list[Any]) -> list[Any]:
        given = [_from_torch(arguments[place]) for place in tensors]
        arguments.clear()
        with no_grad():
            results = compiled(*given)
        return [_to_torch(torch, one) for one in results]

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _from_torch(value: Any) -> Any:
    if not hasattr(value, "__dlpack__"):
        return value
    return from_dlpack(value.detach().resolve_conj().resolve_neg())


def _to_torch(torch: Any, value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return torch.from_dlpack(value.resolve_conj().resolve_neg())


def _sources(torch: Any, example_inputs: Sequence[Any]) -> dict[int, _Source]:
    """Arguments that are sizes of tensors among them: these are read there, so that a size is not
    taken for a number that decides which program runs."""
    found: dict[str, _Source] = {}
    for place, one in enumerate(example_inputs):
        for dim, size in enumerate(one.shape if isinstance(one, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt):
                found.setdefault(str(size.node.expr), (place, dim))
    return {
        place: found[str(one.node.expr)]
        for place, one in enumerate(example_inputs)
        if isinstance(one, torch.SymInt) and str(one.node.expr) in found
    }


class _Reader:
    """A torch.fx graph as one of ours.

    Attributes:
        graph: the graph; its last inputs are the constants.
        constants: tensors that the module holds.
    """

    def __init__(self, torch: Any, module: Any) -> None:
        self.torch = torch
        self.module = module
        self.constants: list[Any] = []
        self.nodes: dict[Any, Node] = {}
        inputs: list[Node] = []
        held: list[Node] = []
        others: list[Node] = []
        for one in module.graph.nodes:
            node = self.nodes[one] = self._node(one)
            if one.op == "get_attr":
                held.append(node)
            else:
                (inputs if one.op == "placeholder" else others).append(node)
        self.graph = Graph()
        self.graph.nodes = [*inputs, *held, *others]

    def _node(self, one: Any) -> Node:
        if one.op == "placeholder":
            return Node(one.name, "placeholder", one.name)
        if one.op == "get_attr":
            value = self.module
            for name in one.target.split("."):
                value = getattr(value, name)
            if not isinstance(value, self.torch.Tensor):
                raise NotImplementedError(
                    f'torch.compile(backend="aten"): {one.target} is a {type(value).__name__}; '
                    f"operators that take functions are not supported"
                )
            self.constants.append(value)
            return Node(one.name, "placeholder", one.name)
        if one.op == "output":
            return Node("output", "output", "output", (tuple(map(self._value, one.args[0])),))
        kwargs = {name: self._value(value) for name, value in one.kwargs.items()}
        args = tuple(map(self._value, one.args))
        return Node(one.name, "call_function", self._target(one.target), args, kwargs)

    def _target(self, target: Any) -> str:
        if isinstance(target, self.torch._ops.OpOverload):
            return f"{target.namespace}.{target._schema.name.split('::')[1]}.{target._overloadname}"
        module = getattr(target, "__module__", "")
        name = getattr(target, "__name__", str(target))
        if module == "_operator":
            return f"operator.{name}"
        return f"math.{name}" if module == "math" else name

    def _value(self, value: Any) -> Any:
        torch = self.torch
        if isinstance(value, (list, tuple)):
            made = [self._value(one) for one in value]
            return made if isinstance(value, list) else tuple(made)
        if isinstance(value, torch.fx.Node):
            return self.nodes[value]
        if isinstance(value, torch.device):
            return device(str(value))
        for kind, table in self._tables():
            if isinstance(value, kind):
                return table[str(value).removeprefix("torch.")]
        return value

    def _tables(self) -> list[tuple[type, Mapping[str, Any]]]:
        torch = self.torch
        return [
            (torch.dtype, DTYPES),
            (torch.layout, LAYOUTS),
            (torch.memory_format, MEMORY_FORMATS),
        ]
