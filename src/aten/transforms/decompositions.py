"""What operators are made of: the functions that define them, as far down as an operator set goes.

A decomposition is no second text. It is the operator's own function, called with a mode in force
that hands on what belongs to the set and takes apart the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from aten import registry
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import PythonKernel
from aten._generated.table import OPERATORS
from aten.backends import core_set
from aten.backends.composite import is_variant, variant_function
from aten.backends.decomposition import decomposing_kernel
from aten.backends.modes import DispatchMode
from aten.backends.structured import definition_of, has_definition
from aten.ops.definition import load_function
from aten.ops.networks.gates import SEQUENCES
from aten.ops.windows.epilogues import EPILOGUES

SETS = ("core", "prims")
_FOLDS = ("reduction", "scan")
# What serves a device that has no kernels of operators: the definition.
_ANY_DEVICE = DispatchKey.__members__["Reference"]
# They make, look at, or move memory; there is nothing in them to take apart.
_MEMORY = frozenset(
    {
        *("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty"),
        *("new_empty_strided", "copy_", "set_", "resize_", "resize_as_", "_local_scalar_dense"),
        *("item", "size", "sym_size", "numel", "sym_numel", "stride", "_to_copy", "clone"),
    }
)


# Functions of `fused` that are no arithmetic, by name.
_SEQUENCES = {
    schema.partition("(")[0]: function for schema, function in {**SEQUENCES, **EPILOGUES}.items()
}


class UndecomposedError(LookupError):
    """An operator outside of the set has no definition to take apart."""


def is_leaf(op: OpOverload, to: str) -> bool:
    """Whether the operator belongs to the set, or only says where memory is and how it is read."""
    if op.entry.kind in ("view", "factory") or op.entry.base in _MEMORY or op.name in _MEMORY:
        return True
    if op.namespace == "prims":
        return to == "prims" or op.qualified_name not in core_kernels()
    if op.namespace != "aten":
        return op.namespace != "fused"
    return to == "core" and "core" in op.entry.tags and op.entry.variant == "functional"


_core_kernels: dict[str, Callable[..., Any]] = {}


def core_kernels() -> dict[str, Callable[..., Any]]:
    """Primitives that are calls of core operators, by qualified name."""
    if not _core_kernels:
        core = [name for name, row in OPERATORS.items() if "core" in _tags(row[5])]
        direct = frozenset(f"aten::{name}" for name in (*core, "copy"))
        _core_kernels.update(core_set.kernels_by_operators(direct))
        for name in ("scalar_tensor", "broadcast_in_dim", "copy_to"):
            _core_kernels[f"prims::{name}"] = getattr(core_set, name)
    return _core_kernels


def _tags(options: dict[str, object]) -> tuple[str, ...]:
    tags = options.get("tags", ())
    assert isinstance(tags, tuple)
    return tags


class Decompose(DispatchMode):
    """Runs operators as what they are made of, down to a set: "core" or "prims".

    `called` counts the operators of the set that were called, by qualified name. Raises ValueError
    for other sets; operators without a definition raise UndecomposedError.

    Example:

        >>> from aten.transforms import Decompose
        >>> with Decompose("prims") as taken_apart:
        ...     y = aten.sigmoid(aten.zeros(2))
        >>> y
        tensor([0.5000, 0.5000])
        >>> sorted(taken_apart.called)[-1]
        'prims::sigmoid'
    """

    def __init__(self, to: str = "core") -> None:
        if to not in SETS:
            raise ValueError(f"Decompose: to must be one of {SETS}, got {to!r}")
        self.to = to
        self.called: dict[str, int] = {}

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator, or what it is made of."""
        if is_leaf(op, self.to):
            self.called[op.qualified_name] = self.called.get(op.qualified_name, 0) + 1
            return op(*args, **kwargs)
        function = decomposition_of(op)
        with self:
            return function(*args, **kwargs)


def decompositions(to: str = "core") -> dict[OpOverload, Callable[..., Any]]:
    """For every functional operator outside of a set, a function that gives what it gives by calls
    of operators of the set alone.

    `to` is "core", the Core ATen operators, or "prims". Raises ValueError for other sets.

    Example:

        >>> table = aten.decompositions("prims")
        >>> table[aten.ops.aten.relu.default](aten.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    if to not in SETS:
        raise ValueError(f"decompositions: to must be one of {SETS}, got {to!r}")
    made: dict[OpOverload, Callable[..., Any]] = {}
    for name, (_, _, variant, _, _, _) in OPERATORS.items():
        if variant != "functional":
            continue
        op = registry.operator(f"aten::{name}")
        if not is_leaf(op, to) and _has_decomposition(op):
            made[op] = _taking_apart(op, to)
    return made


def _taking_apart(op: OpOverload, to: str) -> Callable[..., Any]:
    def decomposed(*args: Any, **kwargs: Any) -> Any:
        with Decompose(to):
            return op(*args, **kwargs)

    decomposed.__name__ = op.name
    return decomposed


def _has_decomposition(op: OpOverload) -> bool:
    try:
        decomposition_of(op)
    except UndecomposedError:
        return False
    return True


def decomposition_of(op: OpOverload) -> Callable[..., Any]:
    """The function that defines an operator in terms of others.

    Raises UndecomposedError where there is none.
    """
    if op.namespace == "fused" and op.name in _SEQUENCES:
        return _SEQUENCES[op.name]
    if op.namespace == "prims":
        return core_kernels()[op.qualified_name]
    if _is_arithmetic(op):
        decomposed = decomposing_kernel(op, definition_of(op)).function
        return lambda *args, **kwargs: decomposed(op, *_all_arguments(op, args, kwargs))
    if is_variant(op):
        return variant_function(op, op.entry.function)
    kernel, _ = op.registrations.resolve(_ANY_DEVICE)
    if isinstance(kernel, PythonKernel):
        function = kernel.function
        return partial(function, op) if kernel.with_op else function
    if kernel is None or not op.entry.function:
        raise UndecomposedError(f"{op.qualified_name} has a kernel for each device, no definition")
    # A compiled kernel stands in front of the function.
    return load_function(op.entry.function)


def _is_arithmetic(op: OpOverload) -> bool:
    """Whether the operator is a function of values; a fold is only where nothing is written."""
    if op.entry.kind == "pointwise" or op.namespace == "fused":
        return has_definition(op)
    return op.entry.kind in _FOLDS and op.entry.variant == "functional" and has_definition(op)


def _all_arguments(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Every argument of the schema in its order, defaults filled in."""
    made = list(args)
    for argument in op._schema.arguments[len(args) :]:
        default = argument.default if argument.has_default else None
        made.append(kwargs.get(argument.name, default))
    return made
