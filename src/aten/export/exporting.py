"""From a module to an ExportedProgram."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from aten._core.base.device import device
from aten._core.tensor.making import is_fake
from aten._core.tensor.tensor import Tensor
from aten.export.capturing import captured
from aten.export.comparing import Point
from aten.export.dimensions import CaptureError, Dim, DimHint, Dynamic, DynamicSizes
from aten.export.tracing import Trace, trace
from aten.export.unification import Unified, pruned, ranges_of
from aten.grad_mode import is_grad_enabled
from aten.graph import pytree
from aten.graph.ir import Node, TensorMeta
from aten.graph.program import CallSpec, ExportedProgram
from aten.graph.signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from aten.graph.symbolic import Expression, ValueRange
from aten.graph.writing.expressions import kind_of
from aten.registry import ops
from aten.transforms import FakeTensorMode
from aten.transforms.trees import with_leaves

Sources = dict[str, tuple[str, int | None, Dynamic]]


class State(NamedTuple):
    """A module's tensor: its placeholder's name, what it is, and its name in the module."""

    name: str
    kind: InputKind
    target: str
    tensor: Tensor
    persistent: bool | None


def exported(
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any,
) -> ExportedProgram:
    """See `aten.export.export`."""
    return Exporter(module, args, dict(kwargs or {})).export(dynamic_shapes)


class _Names:
    """Identifiers, each once."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def new(self, wanted: str) -> str:
        base = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        base = base if base.isidentifier() else f"_{base}"
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        return name


class Exporter:
    """One module with one example of its arguments."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not isinstance(args, tuple):
            raise TypeError(f"export: args is a tuple of arguments, got {type(args).__name__}")
        if not callable(module):
            raise TypeError(f"export: expected a module, got {type(module).__name__}")
        self.module = module
        self.given = (args, kwargs)
        self.leaves, self.in_spec = pytree.flattened(self.given)
        self.argument_names = _argument_names(module, args, kwargs)
        self.names = _Names()
        self.asked = False
        self.paths = {id(one): path for path, one in _modules(module)}
        # Inputs keep their names, whatever parameters are called.
        self.leaf_names = [self.names.new(one) for one in self._leaf_names()]
        self.state = self._state()

    def _leaf_names(self) -> list[str]:
        positional, keywords = self.in_spec.children
        specs = [*positional.children, *keywords.children]
        return [
            _identifier(path)
            for name, spec in zip(self.argument_names, specs, strict=True)
            for path in spec.paths(name)
        ]

    def _state(self) -> list[State]:
        """Parameters and buffers, each tensor once."""
        found: dict[int, State] = {}
        for place, kind, prefix in (
            ("_parameters", InputKind.PARAMETER, "p_"),
            ("_buffers", InputKind.BUFFER, "b_"),
        ):
            for path, owner in _modules(self.module):
                for name, tensor in getattr(owner, place, {}).items():
                    if not isinstance(tensor, Tensor) or id(tensor) in found:
                        continue
                    target = f"{path}.{name}" if path else name
                    persistent = (
                        name not in owner._non_persistent_buffers_set
                        if kind is InputKind.BUFFER
                        else None
                    )
                    own = self.names.new(prefix + target.replace(".", "_"))
                    found[id(tensor)] = State(own, kind, target, tensor, persistent)
        return list(found.values())

    def export(self, dynamic_shapes: Any) -> ExportedProgram:
        """The program. Sizes that may be dynamic are, as many of them as can be together."""
        sizes = self._dynamic_sizes(dynamic_shapes)
        optional = [name for name, one in sizes.symbols.items() if one.dim is DimHint.AUTO]
        if not optional:
            return self.exported(sizes)
        with contextlib.suppress(Exception):
            return self.exported(sizes)
        fixed = frozenset(optional)
        made = self.exported(sizes.without(fixed))
        for name in optional:
            with contextlib.suppress(Exception):
                made = self.exported(sizes.without(fixed - {name}))
                fixed -= {name}
        return made

    def exported(self, sizes: DynamicSizes) -> ExportedProgram:
        self.asked = False
        sources = self._sources(sizes)
        numbers = self._numbers(sizes)
        unified, ranges = captured(
            lambda point: self.run(sizes, point), sizes.symbols, sources, numbers
        )
        return self._program(unified, ranges, sizes, numbers)

    def _dynamic_sizes(self, given: Any) -> DynamicSizes:
        positional, keywords = self.in_spec.children
        specs = [*positional.children, *keywords.children]
        per_argument = _by_argument(given, self.argument_names)
        sizes = DynamicSizes()
        leaves = iter(self.leaves)
        for name, spec, one in zip(self.argument_names, specs, per_argument, strict=True):
            for path, leaf_given in zip(spec.paths(name), _spread(one, spec, name), strict=True):
                sizes.add_leaf(next(leaves), leaf_given, f"export: dynamic_shapes of {path}")
        return sizes

    def _sources(self, sizes: DynamicSizes) -> Sources:
        """Where each symbol is read, from a size that is the symbol itself if there is one."""
        found: Sources = {}
        for name, one in zip(self.leaf_names, sizes.sizes, strict=True):
            for dim, dynamic in one.items():
                known = found.get(dynamic.symbol)
                plain = dynamic.factor == 1 and not dynamic.offset
                if known is None or (plain and (known[2].factor, known[2].offset) != (1, 0)):
                    found[dynamic.symbol] = (name, dim, dynamic)
        return found

    def _numbers(self, sizes: DynamicSizes) -> dict[str, Node]:
        made = {}
        for name, leaf, one in zip(self.leaf_names, self.leaves, sizes.sizes, strict=True):
            if None in one:
                symbol = Expression(one[None].symbol).with_hint(leaf)
                made[name] = Node(name, "placeholder", name, meta={"val": symbol})
        return made

    def run(self, sizes: DynamicSizes, point: Point) -> Trace:
        """One trace with these sizes."""
        mode = FakeTensorMode()
        fakes = {id(one.tensor): mode.from_tensor(one.tensor) for one in self.state}
        leaves: list[Any] = []
        named = [(one.name, fakes[id(one.tensor)]) for one in self.state]
        for name, leaf, dynamic in zip(self.leaf_names, self.leaves, sizes.sizes, strict=True):
            if not isinstance(leaf, Tensor):
                leaves.append(_value(dynamic[None], point) if None in dynamic else leaf)
                continue
            fake = _fake_input(mode, leaf, dynamic, point)
            leaves.append(fake)
            named.append((name, fake))
        args, kwargs = with_leaves(self.given, leaves)
        with _replaced(self.module, fakes):
            # Of other traces than the first nobody asks where calls come from.
            paths, self.asked = (None if self.asked else self.paths), True
            return trace(
                lambda: self.module(*args, **kwargs),
                named,
                mode,
                paths,
                assigned=lambda: self._assigned(fakes),
                gradients=is_grad_enabled(),
            )

    def _assigned(self, fakes: Mapping[int, Tensor]) -> dict[str, Any]:
        """The tensors that a run put into the place of buffers, by their placeholders' names.

        Raises CaptureError where it replaced another tensor, or by what is not like it.
        """
        owners = dict(_modules(self.module))
        found: dict[str, Any] = {}
        for one in self.state:
            path, _, name = one.target.rpartition(".")
            was, now = fakes[id(one.tensor)], getattr(owners[path], name, None)
            if now is was:
                continue
            if one.kind is not InputKind.BUFFER or not _alike(was, now):
                raise CaptureError(
                    f"export: the program assigns {_described(now)} to the {_KINDS[one.kind]} "
                    f"{one.target} of {_described(was)}: what a program leaves in a module is "
                    f"assigned to its buffers, in the same shape and dtype"
                )
            found[one.name] = now
        return found

    def _program(
        self,
        unified: Unified,
        ranges: dict[str, ValueRange],
        sizes: DynamicSizes,
        numbers: Mapping[str, Node],
    ) -> ExportedProgram:
        inputs: list[tuple[Node, InputSpec]] = []
        for one in self.state:
            node = unified.inputs[one.name]
            if one.tensor.requires_grad:
                node.meta["val"] = node.meta["val"]._replace(requires_grad=True)
            spec = InputSpec(one.kind, TensorArgument(one.name), one.target, one.persistent)
            inputs.append((node, spec))
        constants = self._lift(unified, inputs)
        for name, leaf in zip(self.leaf_names, self.leaves, strict=True):
            inputs.append(_user_input(unified, numbers, name, leaf))
        graph, outputs = _finished(unified, [node for node, _ in inputs], dict(inputs))
        tensors = {one.target: one.tensor for one in self.state if one.persistent is False}
        return ExportedProgram(
            graph,
            ExportGraphSignature([spec for _, spec in inputs], outputs),
            _kept_state(self.module),
            {**tensors, **constants},
            ranges_of(graph, ranges),
            call_spec=self._call_spec(unified.traces[0]),
            dialect="TRAINING",
            example_inputs=self.given,
        )

    def _lift(self, unified: Unified, inputs: list[tuple[Node, InputSpec]]) -> dict[str, Tensor]:
        """Constants that the program met, as inputs."""
        attributes = _tensor_attributes(self.module)
        constants: dict[str, Tensor] = {}
        for node, tensor in unified.constants:
            target = attributes.get(id(tensor), f"lifted_tensor_{len(constants)}")
            node.name = node.target = self.names.new(f"c_{target.replace('.', '_')}")
            constants[target] = tensor
            spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target)
            inputs.append((node, spec))
        return constants

    def _call_spec(self, traced: Trace) -> CallSpec:
        tuples = {**pytree.named_tuples(self.in_spec), **pytree.named_tuples(traced.out_spec)}
        return CallSpec(
            pytree.written(self.in_spec),
            pytree.written(traced.out_spec),
            self.argument_names,
            tuples,
            tuple(path for path in self.paths.values() if path),
        )


def _finished(
    unified: Unified, placeholders: list[Node], specs: Mapping[Node, InputSpec]
) -> tuple[Any, list[OutputSpec]]:
    """The graph, which returns what is written to and then the results, and what these are."""
    returned: list[Any] = []
    outputs: list[OutputSpec] = []
    for target, value in unified.mutations.items():
        spec = specs[target]
        kind = MUTATIONS[spec.kind]
        name = spec.target if spec.kind is not InputKind.USER_INPUT else target.name
        returned.append(value)
        outputs.append(OutputSpec(kind, TensorArgument(value.name), name))
    for result in unified.results:
        returned.append(result)
        outputs.append(OutputSpec(OutputKind.USER_OUTPUT, argument_of(result)))
    returns = tuple(returned)
    graph = pruned(placeholders, unified.calls, returns, unified.graphs, unified.checks)
    return graph, outputs


MUTATIONS = {
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}
_NUMBERS: dict[str, Callable[[str], ArgumentSpec]] = {
    "sym_int": SymIntArgument,
    "sym_float": SymFloatArgument,
    "sym_bool": SymBoolArgument,
}


def argument_of(result: Any) -> ArgumentSpec:
    """How a signature names what is returned."""
    if not isinstance(result, Node):
        return ConstantArgument("", result)
    record = result.meta.get("val")
    if isinstance(record, TensorMeta):
        return TensorArgument(result.name)
    assert isinstance(record, (Expression, int, float))
    return _NUMBERS[kind_of(record)](result.name)


def _user_input(
    unified: Unified, numbers: Mapping[str, Node], name: str, leaf: Any
) -> tuple[Node, InputSpec]:
    if isinstance(leaf, Tensor):
        return unified.inputs[name], InputSpec(InputKind.USER_INPUT, TensorArgument(name))
    if name in numbers:
        return numbers[name], InputSpec(InputKind.USER_INPUT, SymIntArgument(name))
    if leaf is not None and not isinstance(leaf, (bool, int, float, str)):
        raise CaptureError(
            f"export: the argument {name} is a {type(leaf).__name__}, which is "
            f"neither a tensor nor a number"
        )
    node = Node(name, "placeholder", name, meta={"val": leaf})
    return node, InputSpec(InputKind.USER_INPUT, ConstantArgument(name, leaf))


_KINDS = {InputKind.BUFFER: "buffer", InputKind.PARAMETER: "parameter"}


def _alike(was: Tensor, now: Any) -> bool:
    return (
        isinstance(now, Tensor)
        and now.shape == was.shape
        and now.dtype is was.dtype
        and now.device == was.device
    )


def _described(value: Any) -> str:
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"a tensor of {list(value.shape)} of {value.dtype}"


def _identifier(path: str) -> str:
    return re.sub(r"\W+", "_", path.replace("'", "")).strip("_")


def _modules(module: Any) -> Iterator[tuple[str, Any]]:
    walk = getattr(module, "named_modules", None)
    return iter(()) if walk is None else walk()


def _tensor_attributes(module: Any) -> dict[int, str]:
    """Tensors that are attributes of modules, and neither parameters nor buffers."""
    found: dict[int, str] = {}
    for path, owner in _modules(module):
        for name, value in vars(owner).items():
            if isinstance(value, Tensor):
                found.setdefault(id(value), f"{path}.{name}" if path else name)
    return found


def _kept_state(module: Any) -> dict[str, Tensor]:
    read = getattr(module, "state_dict", None)
    if read is None:
        return {}
    return {name: one for name, one in read(keep_vars=True).items() if isinstance(one, Tensor)}


def _argument_names(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    forward = getattr(module, "forward", module)
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            names += [f"{one.name}_{place}" for place in range(len(args) - len(names))]
        elif one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            names.append(one.name)
    names = names[: len(args)]
    names += [f"argument_{place}" for place in range(len(names), len(args))]
    return [*names, *kwargs]


def _by_argument(given: Any, names: list[str]) -> list[Any]:
    """What `dynamic_shapes` has for each argument."""
    if given is None or isinstance(given, DimHint):
        return [given] * len(names)
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise CaptureError(
                f"export: dynamic_shapes names {', '.join(map(str, unknown))}; the arguments are "
                f"{', '.join(names)}"
            )
        return [given.get(name) for name in names]
    if isinstance(given, (tuple, list)):
        if len(given) != len(names):
            raise CaptureError(
                f"export: dynamic_shapes has {len(given)} entries for {len(names)} arguments"
            )
        return list(given)
    raise CaptureError(f"export: dynamic_shapes is a dict or a tuple, got {given!r}")


def _spread(given: Any, spec: pytree.TreeSpec, where: str) -> list[Any]:
    """What `dynamic_shapes` has for each leaf of an argument."""
    if spec.kind is None:
        return [given]
    if given is None or isinstance(given, (DimHint, Dim)):
        return [given] * spec.leaf_count
    if isinstance(given, Mapping) and spec.keys:
        parts = [given.get(key) for key in spec.keys[-len(spec.children) :]]
    elif isinstance(given, (tuple, list)) and len(given) == len(spec.children):
        parts = list(given)
    else:
        raise CaptureError(f"export: dynamic_shapes of {where} is not nested as the argument is")
    return [
        leaf
        for part, child in zip(parts, spec.children, strict=True)
        for leaf in _spread(part, child, where)
    ]


def _value(dynamic: Dynamic, point: Point) -> int:
    return dynamic.factor * point[dynamic.symbol] + dynamic.offset


def _fake_input(
    mode: FakeTensorMode, leaf: Tensor, dynamic: Mapping[int | None, Dynamic], point: Point
) -> Tensor:
    """A fake tensor as the example, with the sizes of a point; its dimensions lie in the same
    order in memory, without gaps."""
    if not dynamic or is_fake(leaf):
        return mode.from_tensor(leaf)
    sizes = [
        _value(dynamic[dim], point) if dim in dynamic else size
        for dim, size in enumerate(leaf.shape)
    ]
    return fake_tensor(mode, sizes, leaf.stride(), leaf.dtype, leaf.device)


def fake_tensor(
    mode: FakeTensorMode, sizes: Sequence[int], like: Sequence[int], dtype: Any, place: device
) -> Tensor:
    """A fake tensor whose dimensions lie in the order in which strides `like` fall."""
    strides = [0] * len(sizes)
    step = 1
    for dim in sorted(range(len(sizes)), key=lambda dim: (like[dim], -dim)):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    with mode:
        made: Tensor = ops.aten.empty_strided(sizes, strides, dtype=dtype, device=place)
    return made


@contextlib.contextmanager
def _replaced(module: Any, fakes: Mapping[int, Tensor]) -> Iterator[None]:
    """Fake tensors in the place of a module's parameters and buffers.

    Raises CaptureError where another attribute is assigned a tensor meanwhile: the program could
    not hold it.
    """
    kept: list[tuple[dict[str, Any], dict[str, Any]]] = []
    attributes: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    for path, owner in _modules(module):
        attributes.append((path, vars(owner), dict(vars(owner))))
        for members in (owner._parameters, owner._buffers):
            kept.append((members, dict(members)))
            for name, value in members.items():
                if value is not None:
                    members[name] = fakes[id(value)]
    try:
        yield
    finally:
        for members, values in kept:
            members.clear()
            members.update(values)
        assigned = [one for path, now, was in attributes for one in _taken_back(path, now, was)]
    if assigned:
        raise CaptureError(
            f"export: the program assigns tensors to the attributes {', '.join(assigned)}: "
            f"register them as buffers (register_buffer)"
        )


def _taken_back(path: str, now: dict[str, Any], was: Mapping[str, Any]) -> list[str]:
    """Puts back what attributes were that tensors were assigned to, and gives their names."""
    names = [
        name
        for name, value in now.items()
        if isinstance(value, Tensor) and value is not was.get(name)
    ]
    for name in names:
        if name in was:
            now[name] = was[name]
        else:
            del now[name]
    return [f"{path}.{name}" if path else name for name in names]
