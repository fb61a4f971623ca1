"""The field `fast_path` of an entry: what serves its ordinary calls in the place of its function.

    {kernel: sort}      a compiled kernel, which asks no operators, or the same as the function
    {kernel: reshape, stands_for: [view]}
                        one that does itself what the function asks `view` for; it looks whether
                        that has a kernel that did not come with it
    {forwards: "_softmax(self, dim, False)", unless: [dtype]}
                        a call of another operator, with own arguments and constants; not where
                        `dtype` is given
    {forwards: "native_layer_norm(input, normalized_shape, weight, bias, eps)[0]"}
                        the first of its results

Each is compared with the general way by `tests/fuzz/test_fast_paths.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forwarding:
    """A call of `target`: its arguments are places among the own ones, or tuples of a constant.

    Calls that give an argument at one of the places `absent` are not forwarded. `first`: the result
    is the first of the target's.
    """

    target: str
    sources: tuple[int | tuple[object], ...]
    absent: tuple[int, ...]
    first: bool


@dataclass(frozen=True, slots=True)
class FastPath:
    """A compiled `kernel`, and the operators it does without; or a forwarding."""

    kernel: str
    stands_for: tuple[str, ...]
    forwarding: Forwarding | None

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators it names."""
        return self.stands_for if self.forwarding is None else (self.forwarding.target,)


def read_fast_path(value: object, arguments: Sequence[str]) -> FastPath:
    """The field's `value`, for an operator with these `arguments`. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"expected {{kernel: …}} or {{forwards: …}}, found {value!r}")
    for name in value:
        if name not in ("kernel", "stands_for", "forwards", "unless"):
            raise ValueError(f"{name!r} is not one of kernel, stands_for, forwards, unless")
    kernel, call = (value.get(name, "") for name in ("kernel", "forwards"))
    if not isinstance(kernel, str) or not isinstance(call, str) or bool(kernel) == bool(call):
        raise ValueError("needs 'kernel' or 'forwards', one of them, as text")
    replaced, unless = _names("stands_for", value), _names("unless", value)
    if call and replaced:
        raise ValueError("'stands_for' needs 'kernel'")
    if kernel and unless:
        raise ValueError("'unless' needs 'forwards'")
    forwarding = _forwarding(call, unless, arguments) if call else None
    return FastPath(kernel, replaced, forwarding)


def _names(field: str, value: dict[str, object]) -> tuple[str, ...]:
    names = value.get(field, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"'{field}': expected a list of names, found {names!r}")
    return tuple(names)


def _forwarding(text: str, unless: tuple[str, ...], arguments: Sequence[str]) -> Forwarding:
    places = {name: place for place, name in enumerate(arguments)}
    for name in unless:
        if name not in places:
            raise ValueError(f"'unless': {name!r} is not an argument of the operator")
    head, opening, rest = text.partition("(")
    first = rest.endswith(")[0]")
    if not opening or not (first or rest.endswith(")")):
        raise ValueError(f"'forwards': expected 'operator(argument, …)', found {text!r}")
    given = rest.removesuffix("[0]").removesuffix(")").split(",")
    sources = tuple(_source(one.strip(), places) for one in given)
    return Forwarding(head, sources, tuple(places[name] for name in unless), first)


def _source(text: str, places: dict[str, int]) -> int | tuple[object]:
    if text in places:
        return places[text]
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError):
        raise ValueError(
            f"'forwards': {text!r} is neither an argument of the operator nor a constant"
        ) from None
