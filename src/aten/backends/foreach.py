"""Operators over lists: calls of the operator that the table names, for one element after another.

Which argument of the element's operator an argument is for is told by its name, else by its place:
`scalars` of `_foreach_add.ScalarList` is the second, so `other` of `add.Scalar`. An argument that
is a list where the element's operator takes no list gives each call its element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.shielding import ShieldedKernel
from aten._core.tensor.tensor import Tensor
from aten.backends.composite import install_variant
from aten.ops.lists import Unchanged
from aten.registry import operator


class _Part(NamedTuple):
    """What one argument of a call gives the calls of the element's operator."""

    name: str  # the list operator's name for it
    target: str  # the element operator's
    by_keyword: bool
    form: str  # "tensors", "numbers", "tensor of numbers", "tensor of one number", or "all"


def install_foreach(op: OpOverload) -> None:
    """A kernel for every backend, as it asks the dispatcher for each element."""
    if op.entry.variant == "out":
        install_variant(op)
        return
    kernel = ShieldedKernel(_over_lists(op))
    op.register(DispatchKey.CompositeExplicitAutograd, kernel, "aten/backends/foreach.py")


def _over_lists(op: OpOverload) -> Callable[..., Any]:
    element = operator(str(op.entry.options["element"]))
    parts = tuple(_parts(op, element))
    names = tuple(part.name for part in parts)
    changes = op.entry.variant == "inplace"

    def call(*arguments: Any, **keywords: Any) -> Any:
        given = dict(zip(names, arguments, strict=False)) | keywords
        used = [part for part in parts if part.name in given]
        count = _count(op.name, used, given)
        placed, named = (
            [one for one in used if one.by_keyword == apart] for apart in (False, True)
        )
        rows = zip(
            *(_column(op.name, part, given[part.name], count) for part in placed), strict=True
        )
        words: Iterable[dict[str, Any]] = repeat({}, count)
        if named:
            values = (_column(op.name, part, given[part.name], count) for part in named)
            targets = [part.target for part in named]
            words = (dict(zip(targets, row, strict=True)) for row in zip(*values, strict=True))
        if not changes:
            return tuple(element(*row, **word) for row, word in zip(rows, words, strict=True))
        lists = [given[part.name] for part in used if part.form == "tensors"]
        with Unchanged(lists[:1]):
            for row, word in zip(rows, words, strict=True):
                element(*row, **word)
        return None

    return call


def _parts(op: OpOverload, element: OpOverload) -> Sequence[_Part]:
    targets = element._schema.arguments
    by_name = {target.name: target for target in targets}
    parts = []
    for place, argument in enumerate(op._schema.arguments):
        target = by_name.get(argument.name) or targets[place]
        # What comes after an argument that is left out has to be named.
        apart = target.keyword_only or target is not targets[place]
        form = _form(str(argument.type), str(target.type))
        parts.append(_Part(argument.name, target.name, apart, form))
    return parts


def _form(given: str, taken: str) -> str:
    if given == f"{taken}[]":
        return "tensors" if taken == "Tensor" else "numbers"
    if given == "Tensor":
        return "tensor of one number" if taken == "Tensor" else "tensor of numbers"
    return "all"


def _count(name: str, parts: Sequence[_Part], given: dict[str, Any]) -> int:
    """How many elements the lists of tensors have.

    Raises RuntimeError for an empty list, and for lists that differ.
    """
    lists = {part.name: len(given[part.name]) for part in parts if part.form == "tensors"}
    count = next(iter(lists.values()))
    for other, length in lists.items():
        if length != count:
            raise RuntimeError(
                f"{name}: tensor lists must have the same number of tensors: {next(iter(lists))} "
                f"has {count}, {other} has {length}"
            )
    if count == 0:
        raise RuntimeError(f"{name}: {next(iter(lists))} must have at least one tensor")
    return count


def _column(name: str, part: _Part, value: Any, count: int) -> Sequence[Any]:
    """What each call gets of `value`. Raises RuntimeError where it has not one for each."""
    if part.form == "tensor of numbers":
        return _numbers(name, part.name, value, count)
    if part.form == "numbers" and len(value) != count:
        raise RuntimeError(
            f"{name}: {part.name} must have a number for each of the {count} tensors, not "
            f"{len(value)}"
        )
    if part.form in ("tensors", "numbers"):
        return list(value)
    if part.form == "tensor of one number" and value.dim() != 0:
        raise RuntimeError(
            f"{name}: {part.name} must be a tensor of 0 dimensions, but it has {value.dim()} "
            f"and {value.numel()} elements"
        )
    return [value] * count


def _numbers(name: str, argument: str, packed: Tensor, count: int) -> Sequence[Any]:
    if packed.dim() != 1 or len(packed) != count or not packed.is_contiguous():
        raise RuntimeError(
            f"{name}: {argument} must be a contiguous tensor of 1 dimension with {count} numbers, "
            f"but its sizes are {list(packed.shape)} and strides {list(packed.stride())}"
        )
    numbers: list[Any] = packed.tolist()
    return numbers
