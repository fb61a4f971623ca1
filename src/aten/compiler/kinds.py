"""Calls that are of one kind: those that one program serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from aten.compiler.dynamic import DynamicProgram


class Watched(NamedTuple):
    """A place that a function may read, and what it held.

    `namespace` is a dict, a cell, or an object with the attribute. Without a name it is a
    container, and `value` what it held in all.
    """

    namespace: Any
    name: Any
    value: Any


class Kind:
    """Calls that are alike but for sizes and strides.

    Attributes:
        shapes: the sizes of the first call.
        moving: sizes, by argument and dimension, that were not always the same.
        programs: programs for many sizes, with what they were captured with.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.shapes = [tuple(one.shape) for one in tensors]
        self.moving: set[tuple[int, int]] = set()
        self.programs: list[tuple[DynamicProgram, Any]] = []

    def note(self, tensors: Sequence[Tensor]) -> None:
        """See which sizes move."""
        for place, (known, one) in enumerate(zip(self.shapes, tensors, strict=True)):
            sizes = enumerate(zip(known, one.shape, strict=True))
            self.moving.update((place, dim) for dim, (size, now) in sizes if size != now)


def described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return (
            value.dtype,
            tuple(value.shape),
            value.stride(),
            value.device,
            value.requires_grad,
            is_plain(value),
        )
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, complex):
        return type(value), value.real.hex(), value.imag.hex()
    if is_known_by_identity(value):
        return type(value), id(value)
    return type(value), value


def described_but_for_sizes(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dtype, value.dim(), value.device, value.requires_grad, is_plain(value)
    return described(value)


def is_known_by_identity(value: Any) -> bool:
    """Whether equal objects may differ, or are not known to be equal."""
    kind: Any = type(value)
    if kind.__hash__ is object.__hash__:
        return True
    try:
        hash(value)
    except TypeError:
        return True
    return False


def leaves_but_tensors(leaves: Sequence[Any]) -> list[Any]:
    """The arguments that are no tensors."""
    return [one for one in leaves if not isinstance(one, Tensor)]


def share_memory(tensors: Sequence[Tensor]) -> bool:
    """Whether two of them have one memory."""
    return len({id(one.untyped_storage()) for one in tensors}) < len(tensors)


def places_of_program(module: Any) -> list[Watched]:
    """Where the parts and tensors of an exported program, as a module, stand, and what they are:
    somebody may put others in their place."""
    program = module.program
    names = ("graph", "state_dict", "constants")
    places = [Watched(module, "program", program)]
    places += [Watched(program, name, getattr(program, name)) for name in names]
    for tensors in (program.state_dict, program.constants):
        places += [Watched(tensors, name, one) for name, one in tensors.items()]
    return places


def name_of(place: Watched) -> str:
    """A place as messages say it."""
    if place.name is None:
        return f"a {type(place.namespace).__name__}"
    return str(place.name)
