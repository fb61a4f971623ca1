"""Derivatives of pointwise operators, from their definitions.

An operator's function over primitives is traced once more, the partial derivative of its result
with respect to one operand is formed by the rules of `prims/tangents.py`, and multiplied with the
gradient: that is the definition of another pointwise operator, in the namespace `gradient`, with a
kernel like any other's. So it is one walk over memory, works on every device, and has derivatives
itself.

For complex operands the gradient is that of the real function of both parts, as torch defines it:
of functions that have a complex derivative, the gradient times the derivative's conjugate.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from aten import registry
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.threads import forks
from aten.backends import structured
from aten.backends.decomposition import decomposing_kernel
from aten.ops.definition import Definition, Options, converted
from aten.prims import Graph, GraphInterpreter, Node, Prim, Value
from aten.prims import elementwise as p
from aten.prims.tangents import NOT_HOLOMORPHIC, PARTIALS, REAL_LINEAR, STEPS

# Arguments that choose; they have no derivative.
CHOOSING = frozenset({"condition", "mask", "pred"})
# Graphs that a gradient's definition keeps, one for each combination of types.
_MOST_TRACED = 64
# Held by the thread that defines a gradient, until it has its kernels: others find it then.
_defining = threading.RLock()
forks.hold(_defining)


class NoDerivativeError(Exception):
    """A primitive without a rule."""


class _Tangents:
    """How each value of a graph changes when one of its inputs does, in one direction."""

    def __init__(self, interpreter: GraphInterpreter, wanted: Node, direction: complex) -> None:
        self.interpreter = interpreter
        self.known: dict[int, Value | None] = {
            id(wanted): interpreter.constant(direction, wanted.dtype)
        }

    def of(self, output: Node) -> Value | None:
        """The change of `output`; None for none."""
        for node in Graph("", (), (output,)).nodes():
            if id(node) not in self.known:
                self.known[id(node)] = self._of_node(node)
        return self.known[id(output)]

    def _of_node(self, node: Node) -> Value | None:
        changes = [self.known[id(operand)] for operand in node.inputs]
        if all(change is None for change in changes) or not _varies(node.dtype):
            return None
        if node.prim in STEPS:
            return None
        operands = [self.interpreter.value(operand) for operand in node.inputs]
        if node.prim == "where":
            first, second = (self._or_zero(change, node.dtype) for change in changes[1:])
            return p.where(operands[0], first, second, **node.params)
        if node.prim == "convert_element_type":
            return None if changes[0] is None else converted(changes[0], node.dtype)
        if node.prim == "complex":
            part = node.inputs[0].dtype
            return p.complex(*(self._or_zero(change, part) for change in changes))
        if node.prim in REAL_LINEAR:
            change = REAL_LINEAR[node.prim](changes[0])
            assert isinstance(change, Value)
            return change
        if node.prim == "abs" and operands[0].dtype.is_complex:
            return self._of_modulus(node, operands[0], changes[0])
        rule = PARTIALS.get(node.prim)
        if rule is None:
            raise NoDerivativeError(node.prim)
        partials = rule(self.interpreter.value(node), *operands)
        return self._sum(partials, changes)

    def _sum(self, partials: Iterable[Any], changes: Iterable[Value | None]) -> Value | None:
        total: Value | None = None
        for partial, change in zip(partials, changes, strict=True):
            if partial is None or change is None:
                continue
            term = -change if not isinstance(partial, Value) and partial == -1 else change * partial
            total = term if total is None else total + term
        return total

    def _or_zero(self, change: Value | None, element: dtype) -> Value:
        return self.interpreter.constant(0, element) if change is None else change

    def _of_modulus(self, node: Node, operand: Value, change: Value | None) -> Value:
        assert change is not None
        along = p.real(operand) * p.real(change) + p.imag(operand) * p.imag(change)
        modulus = self.interpreter.value(node)
        none = self.interpreter.constant(0, node.dtype)
        return p.where(modulus == 0, none, along / modulus)


def _varies(element: dtype) -> bool:
    return element.is_floating_point or element.is_complex


def _inner_product(gradient: Value, change: Value) -> Value:
    """The real part of gradient · conj(change): how a real function changes."""
    if not gradient.dtype.is_complex:
        return gradient * (p.real(change) if change.dtype.is_complex else change)
    if not change.dtype.is_complex:
        return p.real(gradient) * change
    return p.real(gradient) * p.real(change) + p.imag(gradient) * p.imag(change)


def _gradient(
    interpreter: GraphInterpreter, output: Node, wanted: Node, gradient: Value
) -> Value | None:
    """The gradient of `wanted`, for that of `output`; None where it is zero."""
    change = _Tangents(interpreter, wanted, 1).of(output)
    if not wanted.dtype.is_complex:
        return None if change is None else _inner_product(_matching(gradient, change), change)
    if not any(node.prim in NOT_HOLOMORPHIC for node in Graph("", (), (output,)).nodes()):
        return None if change is None else _of_holomorphic(gradient, change)
    turned = _Tangents(interpreter, wanted, 1j).of(output)
    if change is None or turned is None:
        return None
    gradient = _matching(gradient, change)
    return p.complex(_inner_product(gradient, change), _inner_product(gradient, turned))


def _matching(gradient: Value, change: Value) -> Value:
    """`gradient` with parts of the type that the change's have."""
    part = change.dtype.to_real()
    return converted(gradient, part.to_complex() if gradient.dtype.is_complex else part)


def _of_holomorphic(gradient: Value, change: Value) -> Value:
    gradient = converted(gradient, change.dtype)
    if change.payload.prim == "constant" and change.payload.params["value"].imag == 0:
        return gradient * change
    return gradient * p.complex(p.real(change), -p.imag(change))


class GradientFunction:
    """The definition of the operator that gives the gradient of one operand of a pointwise one."""

    def __init__(self, definition: Definition, wanted: str, from_result: bool) -> None:
        self.definition = definition
        self.wanted = wanted
        self.from_result = from_result
        # What gives a gradient is derived itself, and has operands of these names already.
        taken = {parameter.name for parameter in definition.parameters}
        self.gradient = _unlike("gradient", taken)
        self.result = _unlike("result", taken)
        # Derivatives of derivatives trace what they are derived from again and again.
        self._traced: dict[Any, tuple[Graph | None, dict[str, Node]]] = {}

    def __call__(self, /, **named: Any) -> Value:
        gradient = named[self.gradient]
        names = [name for name, value in named.items() if isinstance(value, Value)]
        graph, inputs = self.graph({name: _described(value) for name, value in named.items()})
        if graph is None:
            return gradient.interpreter.constant(0, gradient.dtype)
        values = {id(inputs[name]): named[name] for name in names if name in inputs}
        return replayed(graph, values, gradient.interpreter)

    def graph(self, named: Mapping[str, Any]) -> tuple[Graph | None, dict[str, Node]]:
        """The gradient's graph, None for zero, and its inputs by name.

        `named` has dtypes in the places of values. What it lacks is an input, too: of a tensor that
        is not needed nothing is known but that.
        """
        try:
            # Numbers of several types are equal.
            key = tuple((name, value, type(value)) for name, value in named.items())
            found = self._traced.get(key)
        except TypeError:  # a list among the attributes
            return self._traced_graph(named)
        if found is None:
            if len(self._traced) >= _MOST_TRACED:
                self._traced.clear()
            found = self._traced[key] = self._traced_graph(named)
        return found

    def _traced_graph(self, named: Mapping[str, Any]) -> tuple[Graph | None, dict[str, Node]]:
        interpreter = GraphInterpreter()
        inputs: dict[str, Node] = {}
        element = named.get("operation", named[self.gradient])

        def made(name: str, of: dtype) -> Value:
            value = interpreter.input(len(inputs), of, ())
            inputs[name] = value.payload
            return value

        gradient = made(self.gradient, named[self.gradient])
        arguments: dict[str, Any] = {}
        for parameter in self.definition.parameters:
            given = named.get(parameter.name)
            if parameter.kind == "tensor" or isinstance(given, dtype):
                if given is None:
                    given = DTYPES["bool"] if parameter.name in CHOOSING else element
                arguments[parameter.name] = made(parameter.name, given)
            elif parameter.name in named:
                arguments[parameter.name] = given
            elif parameter.has_default:
                arguments[parameter.name] = parameter.default
        types = {name: value.dtype for name, value in arguments.items() if isinstance(value, Value)}
        result = self.definition({"types": types, **arguments})
        if not isinstance(result, Value) or self.wanted not in inputs:
            return None, inputs
        found = _gradient(interpreter, result.payload, inputs[self.wanted], gradient)
        if found is None:
            return None, inputs
        graph = Graph(self.definition.name, (), (found.payload,))
        if not self.from_result:
            return graph, inputs
        known = made(self.result, result.dtype)
        return substituted(graph, result.payload, known.payload), inputs


def _unlike(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"outer_{name}"
    return name


def _described(value: Any) -> Any:
    return value.dtype if isinstance(value, Value) else value


def substituted(graph: Graph, old: Node, new: Node) -> Graph:
    """`graph` with `new` wherever it reads `old`."""
    replaced: dict[int, Node] = {id(old): new}
    for node in graph.nodes():
        if id(node) in replaced:
            continue
        inputs = tuple(replaced[id(operand)] for operand in node.inputs)
        changed = any(one is not other for one, other in zip(inputs, node.inputs, strict=True))
        replaced[id(node)] = (
            Node(node.prim, inputs, node.params, node.dtype, node.shape) if changed else node
        )
    return Graph(graph.name, (), tuple(replaced[id(output)] for output in graph.outputs))


def replayed(graph: Graph, values: Mapping[int, Value], interpreter: Any) -> Value:
    """The graph's first output, its primitives bound to `values`, which stand for its inputs."""
    known = dict(values)
    for node in graph.nodes():
        if id(node) in known:
            continue
        if node.prim == "input":
            raise NoDerivativeError(f"{graph.name}: an operand is needed that was not expected to")
        if node.prim == "constant":
            known[id(node)] = interpreter.constant(node.params["value"], node.dtype)
            continue
        operands = [known[id(operand)] for operand in node.inputs]
        known[id(node)] = Prim.table[node.prim](*operands, **node.params)
    return known[id(graph.outputs[0])]


class Derived:
    """An operator that gives a gradient, and the names of what it is called with.

    The gradient comes first, then, with `from_result`, the result, then arguments of these names.
    `operator` is None where the gradient is zero, or, with `passes`, the result's own. It is that,
    too, where the number called `factor` is 1.
    """

    def __init__(
        self,
        operator: OpOverload | None,
        names: tuple[str, ...] = (),
        *,
        from_result: bool = False,
        passes: bool = False,
        factor: str | None = None,
    ) -> None:
        self.operator = operator
        self.from_result = from_result
        self.names = names
        self.passes = passes
        self.factor = factor


def derived(op: OpOverload, wanted: str) -> Derived:
    """What gives the gradient of the operand `wanted` of a pointwise operator.

    Raises NoDerivativeError where a primitive of its definition has no rule.
    """
    definition = structured.definition_of(op)
    whole = GradientFunction(definition, wanted, False)
    needed = _needed(whole)
    if needed is not None and not needed:
        return Derived(None)
    if needed == {whole.gradient} and _is_passed_on(whole, {}):
        return Derived(None, passes=True)
    function = whole
    if needed is None:
        needed = {one.name for one in definition.parameters if one.kind == "tensor"}
        needed.add(whole.gradient)
    else:
        shorter = GradientFunction(definition, wanted, True)
        fewer = _needed(shorter)
        if fewer is not None and shorter.result in fewer and len(fewer) <= len(needed):
            function, needed = shorter, fewer
    factor = _factor(whole) if needed == {whole.gradient} else None
    return _defined(op, definition, function, needed, factor)


def _needed(function: GradientFunction) -> set[str] | None:
    """The tensors that the gradient depends on, empty where it is zero; None: it cannot be said.

    Attributes are known only in a call, and what they may change then is not known here.
    """
    if any(one.kind == "attribute" for one in function.definition.parameters):
        return None
    needed: set[str] = set()
    tried = False
    for element in (DTYPES["float32"], DTYPES["complex64"]):
        try:
            graph, inputs = function.graph(_example(function, element))
        except NoDerivativeError:
            if not element.is_complex:
                raise
            continue
        except (RuntimeError, TypeError, ValueError, AssertionError, AttributeError):
            continue
        tried = True
        if graph is not None:
            read = {id(node) for node in graph.nodes()}
            needed.update(name for name, node in inputs.items() if id(node) in read)
    if not tried:
        return None
    tensors = {one.name for one in function.definition.parameters if one.kind == "tensor"}
    return needed & (tensors | {function.gradient, function.result})


def _example(function: GradientFunction, element: dtype) -> dict[str, Any]:
    """Arguments of which only the types are known; numbers are read when kernels run."""
    named: dict[str, Any] = {function.gradient: element}
    for parameter in function.definition.parameters:
        if parameter.kind in ("number", "scalar"):
            named[parameter.name] = element
    return named


def _factor(function: GradientFunction) -> str | None:
    """The number which the result's gradient is only multiplied by, if it has one."""
    for parameter in function.definition.parameters:
        number = parameter.kind in ("number", "scalar") and parameter.has_default
        if number and parameter.default == 1 and _is_passed_on(function, {parameter.name: 1}):
            return parameter.name
    return None


def _is_passed_on(function: GradientFunction, numbers: Mapping[str, int]) -> bool:
    """Whether the gradient is the result's own, whatever the type, for these numbers."""
    for element in (DTYPES["float32"], DTYPES["complex64"]):
        try:
            graph, inputs = function.graph({**_example(function, element), **numbers})
        except (NoDerivativeError, RuntimeError, TypeError, ValueError, AttributeError):
            continue
        if graph is None or graph.outputs[0] is not inputs[function.gradient]:
            return False
    return True


def _defined(
    op: OpOverload,
    definition: Definition,
    function: GradientFunction,
    needed: set[str],
    factor: str | None,
) -> Derived:
    from_result = function.result in needed
    leading = [function.gradient, *([function.result] if from_result else [])]
    arguments = [
        argument
        for argument in op._schema.arguments
        if not str(argument.type).startswith("Tensor") or argument.name in needed
    ]
    texts = [f"Tensor {name}" for name in leading]
    texts += [str(argument).replace("Tensor pred", "Tensor condition") for argument in arguments]
    name = "_".join(part for part in (op.name, op.overload, function.wanted) if part)
    if op.namespace != "aten":
        name = f"{op.namespace}_{name}"
    names = tuple(argument.name for argument in arguments)
    with _defining:
        found = registry.find_operator(f"gradient::{name}")
        if found is None:
            schema = f"{name}({', '.join(texts)}) -> Tensor"
            found = _define(schema, op, definition, function, CHOOSING.intersection(names))
    return Derived(found, names, from_result=from_result, factor=factor)


def _define(
    schema: str,
    op: OpOverload,
    definition: Definition,
    function: GradientFunction,
    choosing: frozenset[str],
) -> OpOverload:
    """The operator of a gradient, with its kernels."""
    made = registry.define("gradient", schema, kind="pointwise")
    made.entry.options["promotion"] = "default"
    # Operands may have been numbers, and are saved as such.
    made.entry.options["numbers_as_tensors"] = op.entry.options.get("numbers_as_tensors", False)

    def gradient(**named: Any) -> Value:
        # Only operands of this name take no part in finding the type to compute in.
        if "pred" in choosing:
            named["pred"] = named.pop("condition", named.get("pred"))
        return function(**named)

    structured.define_by(made, gradient, definition.place)
    own = structured.definition_of(made)
    own.options = Options(constants=definition.options.constants)
    structured.install_loops_pointwise(made)
    made.register(DispatchKey.Structured, decomposing_kernel(made, own), definition.place)
    return made
