"""What a fake tensor says it is, where that depends on symbols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from aten._core.base.device import memory_format
from aten._core.base.sizes import Size
from aten._core.tensor.making import is_fake
from aten._core.tensor.tensor import Tensor
from aten._core.views.views import try_view
from aten.transforms.symbols.environment import ShapeEnvironment
from aten.transforms.symbols.numbers import SymFloat, SymInt, size_of, sized
from aten.transforms.symbols.polynomials import Polynomial, number

# Where a tensor keeps its geometry; `_core/tensor/tensor.pyx` looks there.
ATTRIBUTE = "_symbolic"


class Geometry:
    """Sizes, strides and offset of a fake tensor, in elements, and the bytes of its storage.

    Attributes:
        environment: the environment of the symbols.
    """

    __slots__ = ("_bytes", "_offset", "_sizes", "_strides", "environment")

    def __init__(
        self,
        environment: ShapeEnvironment,
        sizes: Sequence[Polynomial],
        strides: Sequence[Polynomial],
        offset: Polynomial,
        storage_bytes: Polynomial,
    ) -> None:
        self.environment = environment
        self._sizes = tuple(sizes)
        self._strides = tuple(strides)
        self._offset = offset
        self._bytes = storage_bytes

    @property
    def sizes(self) -> Any:
        sizes: list[Any] = [sized(self.environment, one) for one in self._sizes]
        return Size(sizes)

    @property
    def strides(self) -> tuple[Any, ...]:
        return tuple(sized(self.environment, one) for one in self._strides)

    @property
    def offset(self) -> Any:
        return sized(self.environment, self._offset)

    @property
    def numel(self) -> Any:
        return sized(self.environment, self.count)

    @property
    def count(self) -> Polynomial:
        total = number(1)
        for one in self._sizes:
            total = total * one
        return total

    @property
    def storage_bytes(self) -> Polynomial:
        return self.environment.simplified(self._bytes)

    def parts(self) -> list[Polynomial]:
        """Sizes, then strides, then the offset."""
        simplified = self.environment.simplified
        return [simplified(one) for one in (*self._sizes, *self._strides, self._offset)]

    def has_view(self, sizes: Sequence[Any]) -> bool:
        """Whether a view has these sizes, and no element would have to move."""
        from aten.transforms.symbols.probing import answer

        return bool(answer(self, lambda window, given: try_view(window, given) is not None, sizes))

    def is_contiguous(self, order: memory_format) -> bool:
        """Whether elements lie in this order without gaps, as `Tensor.is_contiguous` says."""
        from aten.transforms.symbols.probing import answer

        return bool(answer(self, lambda window, _: window.is_contiguous(order)))


def geometry_of(value: Any) -> Geometry | None:
    """What is known of a fake tensor's symbolic sizes; None of other values."""
    if type(value) is not Tensor or not is_fake(value):
        return None
    found = getattr(value, ATTRIBUTE, None)
    return found if isinstance(found, Geometry) else None


def sized_like(environment: ShapeEnvironment, tensor: Tensor, sizes: Sequence[Any]) -> Geometry:
    """The geometry of a tensor some of whose sizes are symbols, and which lies in memory alike.

    Raises ValueError where a symbol's hint is not the size.
    """
    if len(sizes) != tensor.dim():
        raise ValueError(f"{len(sizes)} sizes for a tensor of {tensor.dim()} dimensions")
    made = [
        number(size) if given is None else size_of(given)
        for size, given in zip(tensor.shape, sizes, strict=True)
    ]
    known: list[Polynomial] = []
    for size, meant in zip(tensor.shape, made, strict=True):
        if meant is None or environment.hint(meant) != size:
            raise ValueError(f"{meant} does not stand for a size of {size}")
        known.append(meant)
    strides = [number(one) for one in tensor.stride()]
    running = number(1)
    for dim in sorted(range(tensor.dim()), key=lambda dim: (tensor.stride(dim), -dim)):
        if environment.hint(running) == tensor.stride(dim):
            strides[dim] = running
            running = running * known[dim]
    reach = number(1)
    for one, stride in zip(known, strides, strict=True):
        reach = reach + (one - number(1)) * stride
    offset = number(tensor.storage_offset())
    storage_bytes = (reach + offset) * number(tensor.dtype.itemsize)
    return Geometry(environment, known, strides, offset, storage_bytes)


def describe(tensor: Tensor, geometry: Geometry) -> None:
    """Let a fake tensor say that its sizes, strides and offset are these."""
    if all(one.is_constant for one in geometry.parts()):
        vars(tensor).pop(ATTRIBUTE, None)
    else:
        setattr(tensor, ATTRIBUTE, geometry)


def environment_of(values: Any) -> ShapeEnvironment | None:
    """The environment of the symbols in arguments; None where there are none.

    Raises ValueError where they are of several environments.
    """
    found = None
    for one in _environments(values):
        if found is not None and one is not found:
            raise ValueError("symbolic sizes of two environments in one call")
        found = one
    return found


def _environments(values: Any) -> Iterator[ShapeEnvironment]:
    if isinstance(values, (SymInt, SymFloat)):
        yield values.environment
    elif isinstance(values, Tensor):
        known = geometry_of(values)
        if known is not None:
            yield known.environment
    elif isinstance(values, (list, tuple)):
        for one in values:
            yield from _environments(one)
    elif isinstance(values, dict):
        for one in values.values():
            yield from _environments(one)
