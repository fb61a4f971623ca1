"""Dynamic sizes as users name them: `Dim`, and what `dynamic_shapes` says of each argument."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.graph.errors import ExportError


class CaptureError(ExportError):
    """A function or module cannot be captured as a graph; the message says where and why."""


class DimHint(enum.Enum):
    """What a dimension may do that has no name."""

    AUTO = enum.auto()
    DYNAMIC = enum.auto()
    STATIC = enum.auto()


class Dim:
    """A named dynamic size.

    A size that depends on it is written as `2 * dim`, `dim + 1` or `dim - 1`. `Dim.DYNAMIC` is a
    size without a name, `Dim.AUTO` one that is dynamic where the program allows, and `Dim.STATIC`,
    like None, one that is fixed.

    Args:
        name: an identifier.
        min: the smallest size; 0 if left out. Sizes 0 and 1 are in the range of an exported
            program only where it is the same for them.
        max: the largest size; None for no limit.

    Raises ValueError for other names and for empty ranges.

    Example:

        >>> batch = aten.export.Dim("batch", min=1, max=64)
        >>> batch, 2 * batch + 1
        (Dim('batch', min=1, max=64), 2*batch + 1)
    """

    AUTO = DimHint.AUTO
    DYNAMIC = DimHint.DYNAMIC
    STATIC = DimHint.STATIC

    __slots__ = ("__name__", "factor", "max", "min", "offset", "root")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"Dim: {name!r} is no name")
        self.__name__ = name
        self.min = 0 if min is None else min
        self.max = max
        self.root = self
        self.factor, self.offset = 1, 0
        if max is not None and max < self.min:
            raise ValueError(f"Dim: {name} ranges from {self.min} to {max}, which is empty")

    def _derived(self, factor: int, offset: int) -> Dim:
        made = Dim.__new__(Dim)
        made.root, made.factor, made.offset = self.root, factor, offset
        made.min = factor * self.root.min + offset
        made.max = None if self.root.max is None else factor * self.root.max + offset
        scaled = self.root.__name__ if factor == 1 else f"{factor}*{self.root.__name__}"
        made.__name__ = scaled if not offset else f"{scaled} {'-+'[offset > 0]} {abs(offset)}"
        return made

    def __add__(self, other: int) -> Dim:
        if type(other) is not int:
            return NotImplemented
        return self._derived(self.factor, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self + (-other) if type(other) is int else NotImplemented

    def __mul__(self, other: int) -> Dim:
        if type(other) is not int or other <= 0:
            return NotImplemented
        return self._derived(self.factor * other, self.offset * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        limits = f", min={self.min}" * bool(self.min)
        limits += "" if self.max is None else f", max={self.max}"
        return f"Dim({self.__name__!r}{limits})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dimensions with the same limits.

    Example:

        >>> aten.export.dims("height", "width", min=8)
        (Dim('height', min=8), Dim('width', min=8))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class Dynamic(NamedTuple):
    """One dynamic size of an input: the symbol's name, and the size as factor*symbol + offset."""

    symbol: str
    factor: int
    offset: int


class Symbol(NamedTuple):
    """A dynamic size of a program: its limits and the value it has in the example."""

    name: str
    dim: Dim | DimHint
    example: int

    @property
    def lower(self) -> int:
        return self.dim.min if isinstance(self.dim, Dim) else 0

    @property
    def upper(self) -> int | None:
        return self.dim.max if isinstance(self.dim, Dim) else None

    def __str__(self) -> str:
        return self.dim.__name__ if isinstance(self.dim, Dim) else self.name


class DynamicSizes:
    """Which sizes of which leaves are dynamic.

    Attributes:
        symbols: by name.
        sizes: for each leaf a dict from dimension to what its size is; a number's is under None.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}
        self.sizes: list[dict[int | None, Dynamic]] = []
        self._named: dict[int, str] = {}
        self._kept: list[Dim] = []

    def add_leaf(self, leaf: Any, given: Any, where: str) -> None:
        """One more leaf, and what `dynamic_shapes` has in its place. Raises CaptureError."""
        found: dict[int | None, Dynamic] = {}
        if isinstance(leaf, Tensor):
            for dim, one in _by_dimension(leaf, given, where):
                if one is not None and one is not DimHint.STATIC:
                    found[dim] = self._dynamic(one, leaf.shape[dim], f"{where}, dimension {dim}")
        elif given is DimHint.DYNAMIC or isinstance(given, Dim):
            if type(leaf) is not int:
                raise CaptureError(f"{where}: only tensors' sizes and integers can be dynamic")
            found[None] = self._dynamic(given, leaf, where)
        elif given is not None and given not in (DimHint.AUTO, DimHint.STATIC):
            raise CaptureError(f"{where}: expected None for {leaf!r}, got {given!r}")
        self.sizes.append(found)

    def without(self, fixed: frozenset[str]) -> DynamicSizes:
        """The same, with these symbols at their examples."""
        made = DynamicSizes()
        made.symbols = {name: one for name, one in self.symbols.items() if name not in fixed}
        made.sizes = [
            {dim: one for dim, one in sizes.items() if one.symbol not in fixed}
            for sizes in self.sizes
        ]
        return made

    def _dynamic(self, one: Dim | DimHint, size: int, where: str) -> Dynamic:
        if isinstance(one, DimHint):
            name = self._new_symbol(one, size)
            return Dynamic(name, 1, 0)
        root = one.root
        example, rest = divmod(size - one.offset, one.factor)
        if rest or not one.min <= size or (one.max is not None and size > one.max):
            limits = f"{one.min} to {'any' if one.max is None else one.max}"
            raise CaptureError(f"{where}: its size {size} is no {one.__name__}, which is {limits}")
        known = self._named.get(id(root))
        if known is None:
            known = self._named[id(root)] = self._new_symbol(root, example)
            self._kept.append(root)
        elif self.symbols[known].example != example:
            raise CaptureError(
                f"{where}: its size {size} makes {root.__name__} {example}, and another makes it "
                f"{self.symbols[known].example}"
            )
        return Dynamic(known, one.factor, one.offset)

    def _new_symbol(self, dim: Dim | DimHint, example: int) -> str:
        name = f"s{len(self.symbols)}"
        self.symbols[name] = Symbol(name, dim, example)
        return name


def _by_dimension(leaf: Tensor, given: Any, where: str) -> Iterator[tuple[int, Any]]:
    if given is None:
        return
    if isinstance(given, DimHint):
        given = dict.fromkeys(range(leaf.dim()), given)
    if isinstance(given, Mapping):
        pairs = [(_dimension(dim, leaf, where), one) for dim, one in given.items()]
    elif isinstance(given, (tuple, list)):
        if len(given) != leaf.dim():
            raise CaptureError(f"{where}: {len(given)} sizes for {leaf.dim()} dimensions")
        pairs = list(enumerate(given))
    else:
        raise CaptureError(f"{where}: expected a dict or tuple of Dims, got {given!r}")
    for dim, one in pairs:
        if type(one) is int and one == leaf.shape[dim]:
            continue
        if one is not None and not isinstance(one, (Dim, DimHint)):
            raise CaptureError(f"{where}, dimension {dim}: expected a Dim or None, got {one!r}")
        yield dim, one


def _dimension(dim: Any, leaf: Tensor, where: str) -> int:
    if type(dim) is not int or not -leaf.dim() <= dim < leaf.dim():
        raise CaptureError(f"{where}: there is no dimension {dim!r} of {leaf.dim()}")
    return dim % leaf.dim()
