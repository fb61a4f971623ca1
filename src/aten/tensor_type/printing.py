"""Tensors as text, laid out as torch lays them out.

All numbers of a tensor share one format: integers as they are, floats with a fixed number of
decimals, or in scientific notation where they differ too much in size. Large tensors show their
edges only.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import Any

from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.tensor.making import is_fake, row_of
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
# Stands for the elements left out of a nested list.
_GAP = ...
# Numbers further apart than this, or beyond these sizes, are written in scientific notation.
_WIDEST_RATIO = 1000.0
_GREATEST_PLAIN = 1e8
_LEAST_PLAIN = 1e-4


class _Options:
    """What `set_printoptions` sets."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; what is not given stays, except `sci_mode`, which becomes automatic.

    precision: decimals of floats; threshold: the number of elements from which on only edges are
    shown; edgeitems: how many of them at each end; linewidth: characters to a line; profile:
    "default", "short" or "full", applied first. Raises ValueError for unknown profiles.

    Example:

        >>> aten.set_printoptions(precision=2)
        >>> aten.tensor([0.12345])
        tensor([0.12])
        >>> aten.set_printoptions(profile="default")
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: profile must be one of {', '.join(_PROFILES)}")
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    settings = dict(_PROFILES[profile]) if profile is not None else {}
    settings.update({name: value for name, value in given.items() if value is not None})
    for name, value in settings.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The print options in use.

    Example:

        >>> aten.get_printoptions()["precision"]
        4
    """
    return {name: getattr(_options, name) for name in _Options.__slots__}


class _Format:
    """How the numbers of one tensor are written: `width` characters each, at least."""

    def __init__(self, numbers: list[Any], is_floating: bool) -> None:
        self.is_floating = is_floating
        self.whole = True
        self.scientific = False
        self.width = 1
        if is_floating:
            self._measure_floats([n for n in numbers if n != 0 and math.isfinite(n)])
        else:
            self.width = max((len(str(number)) for number in numbers), default=1)

    def _measure_floats(self, numbers: list[float]) -> None:
        if not numbers:
            return
        least, greatest = min(map(abs, numbers)), max(map(abs, numbers))
        self.whole = all(number == math.ceil(number) for number in numbers)
        self.scientific = greatest / least > _WIDEST_RATIO or greatest > _GREATEST_PLAIN
        if not self.whole:
            self.scientific = self.scientific or least < _LEAST_PLAIN
        if _options.sci_mode is not None:
            self.scientific = _options.sci_mode
        if self.scientific:
            texts = [f"{number:.{_options.precision}e}" for number in numbers]
        elif self.whole:
            texts = [f"{number:.0f}." for number in numbers]
        else:
            texts = [f"{number:.{_options.precision}f}" for number in numbers]
        self.width = max(self.width, max(map(len, texts)))

    def __call__(self, number: Any) -> str:
        if not self.is_floating:
            text = str(number)
        elif self.scientific:
            text = f"{number:.{_options.precision}e}"
        elif self.whole:
            text = f"{number:.0f}" + ("." if math.isfinite(number) else "")
        else:
            text = f"{number:.{_options.precision}f}"
        return text.rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each in a format of its own."""

    def __init__(self, numbers: list[complex]) -> None:
        self.real = _Format([number.real for number in numbers], True)
        self.imaginary = _Format([number.imag for number in numbers], True)
        self.width = self.real.width + self.imaginary.width + 1

    def __call__(self, number: complex) -> str:
        imaginary = self.imaginary(number.imag).lstrip()
        sign = "" if imaginary.startswith("-") else "+"
        return f"{self.real(number.real)}{sign}{imaginary}j"


def text_of(tensor: Tensor) -> str:
    """`repr(tensor)`."""
    known = row_of(tensor)
    if known is not None:
        inner = textwrap.indent(text_of(known.value), "    ")
        return f"BatchedTensor(lvl={known.level}, bdim=0, value=\n{inner}\n)"
    history = _history_of(tensor)
    # A window of our own: lists are made on the way, and finalizers may change the caller's tensor.
    cls = type(tensor)
    with ExcludeDispatchKeyGuard(KEYS_OF_MODES):
        tensor = tensor.detach().as_subclass(Tensor)
    suffixes = [] if tensor.is_cpu else [f"device='{tensor.device}'"]
    fake = is_fake(tensor)
    name = cls.__name__ if cls is not Tensor else "FakeTensor" if fake else "tensor"
    indent = len(name) + 1
    if tensor.is_meta or fake:
        body = "..."
        suffixes.append(f"size={tuple(tensor.shape)}")
        shows_type = tensor.dtype is not get_default_dtype()
    elif tensor.numel() == 0:
        body = "[]"
        if tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        shows_type = tensor.dtype is not get_default_dtype()
    else:
        body = _body(tensor, indent)
        shows_type = not _follows_from_numbers(tensor.dtype)
    if shows_type:
        suffixes.append(f"dtype={tensor.dtype}")
    return _with_suffixes(f"{name}({body}", suffixes + history, indent)


def _history_of(tensor: Tensor) -> list[str]:
    """That gradients flow to a tensor, and what it was made by."""
    if not tensor.requires_grad:
        return []
    made_by = tensor.grad_fn
    return ["requires_grad=True"] if made_by is None else [f"grad_fn=<{made_by.name()}>"]


def _follows_from_numbers(element: dtype) -> bool:
    default = get_default_dtype()
    return element in (default, default.to_complex()) or element.name in ("int64", "bool")


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"


def _body(tensor: Tensor, indent: int) -> str:
    shown = _edges(tensor) if tensor.numel() > _options.threshold else tensor.tolist()
    numbers = list(_flattened(shown))
    if tensor.is_complex():
        return _nested_text(shown, indent, tensor.dim(), _ComplexFormat(numbers))
    form = _Format(numbers, tensor.is_floating_point())
    return _nested_text(shown, indent, tensor.dim(), form)


def _edges(tensor: Tensor) -> Any:
    """Nested lists in which a gap stands for what lies between the edges of a dimension."""
    if tensor.dim() == 0:
        return tensor.tolist()
    count, edge = tensor.size(0), _options.edgeitems
    if count <= 2 * edge:
        return [_edges(row) for row in tensor.unbind(0)]
    if tensor.dim() == 1:
        head, tail = tensor.narrow(0, 0, edge), tensor.narrow(0, count - edge, edge)
        return [*head.tolist(), _GAP, *tail.tolist()]
    head_rows = [_edges(tensor.select(0, index)) for index in range(edge)]
    tail_rows = [_edges(tensor.select(0, index)) for index in range(count - edge, count)]
    return [*head_rows, _GAP, *tail_rows]


def _flattened(shown: Any) -> Iterator[Any]:
    if isinstance(shown, list):
        for part in shown:
            yield from _flattened(part)
    elif shown is not _GAP:
        yield shown


def _nested_text(shown: Any, indent: int, rank: int, form: _Format | _ComplexFormat) -> str:
    if rank == 0:
        return form(shown)
    if rank == 1:
        return _row_text(shown, indent, form)
    rows = [
        "..." if row is _GAP else _nested_text(row, indent + 1, rank - 1, form) for row in shown
    ]
    return "[" + ("," + "\n" * (rank - 1) + " " * (indent + 1)).join(rows) + "]"


def _row_text(numbers: list[Any], indent: int, form: _Format | _ComplexFormat) -> str:
    per_line = max(1, (_options.linewidth - indent) // (form.width + 2))
    texts = [" ..." if number is _GAP else form(number) for number in numbers]
    lines = [", ".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
