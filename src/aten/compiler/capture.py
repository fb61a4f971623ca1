"""What a function calls for arguments like these, as a functional graph; and when that holds again.

The function runs once on tensors without data. What it does with data (`item`, `if`) is refused
there, so that nothing of a program depends on the values it was captured with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CellType, FunctionType, MappingProxyType, MethodType
from typing import Any, NamedTuple

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.making import is_fake
from aten._core.tensor.tensor import Tensor
from aten.func import functionalize
from aten.grad_mode import no_grad
from aten.nn.modules.module import Module
from aten.transforms.fake_tensors import FakeTensorMode
from aten.transforms.recording import Recording, record
from aten.transforms.symbols.numbers import SymInt
from aten.utils._pytree import TreeSpec, tree_unflatten

_PLAIN_VALUES = (bool, int, float, complex, str, bytes, type(None))


class _Capturing(FakeTensorMode):
    """Writes to what has data, a module's buffers, are recorded and not carried out."""

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name == "copy_" and not is_fake(args[0]) and not args[0].is_meta:
            return args[0]
        return super().call(op, args, kwargs)


class Watched(NamedTuple):
    """A place that a function read while it was captured, and what it held.

    `namespace` is a dict, or the cell of a variable of an enclosing function.
    """

    namespace: Any
    name: str
    value: Any


def captured(
    function: Callable[..., Any],
    leaves: list[Any],
    structure: TreeSpec,
    constants: Sequence[Tensor] = (),
    symbols: Mapping[int, Sequence[SymInt | None]] = MappingProxyType({}),
) -> Recording:
    """The function on these arguments, as a graph over those of them that are tensors.

    `constants` are tensors that the function is known to read besides: what it uses of them is
    theirs whatever is done to them later. `symbols` are, for tensors by their place among those of
    the arguments, sizes that are symbols.

    Raises DataDependentOutputException or DynamicOutputShapeException where what it does depends on
    data, and whatever the function raises.
    """
    mode = _Capturing()
    places = [place for place, one in enumerate(leaves) if isinstance(one, Tensor)]
    fakes = [
        mode.from_tensor(leaves[place], symbols.get(number, ()))
        for number, place in enumerate(places)
    ]

    def over_tensors(*tensors: Tensor) -> Any:
        given = list(leaves)
        for place, one in zip(places, tensors, strict=True):
            given[place] = one
        args, kwargs = tree_unflatten(given, structure)
        return function(*args, **kwargs)

    with no_grad(), mode:
        recording = record(functionalize(over_tensors), *fakes, constants=constants)
    if any(is_fake(one) for one in recording.constants):
        raise RuntimeError("the function keeps tensors of one call for another")
    return recording


def watched(function: Callable[..., Any]) -> list[Watched]:
    """What decides what a function does besides its arguments, as far as it is its own: modules'
    tensors, numbers and members, variables around it and global ones that it names."""
    found: list[Watched] = []
    _watch(function, found, set())
    return found


def _watch(value: Any, found: list[Watched], seen: set[int]) -> None:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Module):
        for namespace, name, inner in _members(value):
            _note(namespace, name, inner, found, seen)
    elif isinstance(value, MethodType):
        _watch(value.__self__, found, seen)
        _watch(value.__func__, found, seen)
    elif isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        for name, cell in cells:
            _note_cell(name, cell, found, seen)
        for name in value.__code__.co_names:
            if name in value.__globals__:
                _note(value.__globals__, name, value.__globals__[name], found, seen)


def _note(namespace: Any, name: str, value: Any, found: list[Watched], seen: set[int]) -> None:
    if isinstance(value, (*_PLAIN_VALUES, Tensor)):
        found.append(Watched(namespace, name, value))
    elif isinstance(value, Module) or _is_ours(value):
        found.append(Watched(namespace, name, value))
        _watch(value, found, seen)


def _note_cell(name: str, cell: CellType, found: list[Watched], seen: set[int]) -> None:
    try:
        value = cell.cell_contents
    except ValueError:
        return
    _note(cell, name, value, found, seen)


def _is_ours(value: Any) -> bool:
    """Whether a function is of the program, and none of this package."""
    return isinstance(value, (FunctionType, MethodType)) and not (
        value.__module__ or ""
    ).startswith("aten.")


def _members(module: Module) -> Iterator[tuple[dict[str, Any], str, Any]]:
    inner = vars(module)
    for name, value in inner.items():
        if isinstance(value, _PLAIN_VALUES) or _is_ours(value):
            yield inner, name, value
    for namespace in (module._parameters, module._buffers, module._modules):
        for name, value in namespace.items():
            yield namespace, name, value
