"""The documentation of an operator, put together from what is known of it.

Its schemas say how it is called; its section or its function, what it does; its kind and promotion,
of which shape and dtype the result is.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from aten.documentation.definitions import documentation_at
from aten.documentation.kinds import KINDS, PROMOTIONS
from aten.documentation.sections import Section, sections
from aten.documentation.signatures import Signature, result_names, signatures
from aten.schema import FunctionSchema

_OWN_NAMES = re.compile(
    r"\b_(bool|complex|float|int|str|device|dtype|layout|memory_format|Generator|Storage)\b"
)
_AS_DTYPE = "dtype | type[bool] | type[int] | type[float] | type[complex]"
_SHAPES = {
    "scan": "The result has the input's shape.",
    "view": "The result is a view: it shares the input's memory, and nothing is copied.",
    "copy": "The result has memory of its own.",
    "factory": "The result is a new tensor. Without `dtype` it has the default dtype, or the one "
    "that the arguments ask for.",
}


class Described(NamedTuple):
    """An overload, as far as its documentation needs it."""

    schema: FunctionSchema
    kind: str
    base: str
    function: str
    promotion: str
    numbers_as_tensors: bool
    alias_of: str

    @property
    def variant(self) -> str:
        return self.schema.kind


def name_for_users(packet: str, *, is_function: bool) -> str:
    """Where users find an operator, behind `aten.`: "softmax", "linalg.svd", "Tensor.view"."""
    for namespace in ("linalg", "fft", "special"):
        short = packet.removeprefix(f"{namespace}_")
        if short != packet and not packet.endswith("_"):
            return f"{namespace}.{short}"
    if is_function:
        return packet
    for namespace in ("nn.functional", "Tensor"):
        if f"{namespace}.{packet}" in sections():
            return f"{namespace}.{packet}"
    return f"ops.aten.{packet}"


def operator_text(called: str, overloads: Sequence[Described], *, is_method: bool = False) -> str:
    """The whole documentation; `called` is the name without `aten.`."""
    short = called.rpartition(".")[2]
    forms = signatures(overloads, is_method=is_method)
    shown = list(dict.fromkeys(call_text(short, one, overloads) for one in forms))
    parts = ["\n".join(shown), *explanation(called, overloads)]
    example = _section(called, overloads).example
    if example:
        parts.append("Example:\n\n" + _indented(example))
    return "\n\n".join(parts)


def summary_text(called: str, overloads: Sequence[Described]) -> str:
    """What an editor shows: what the operator does, and an example."""
    example = _section(called, overloads).example
    parts = [_what_it_does(called, overloads)[0], example and "Example:\n\n" + _indented(example)]
    return "\n\n".join(part for part in parts if part)


def explanation(called: str, overloads: Sequence[Described]) -> list[str]:
    """The paragraphs between the signature and the example."""
    result = " ".join([*_shape(overloads), *_dtype(overloads), *_results(overloads)])
    paragraphs = [
        *_what_it_does(called, overloads),
        f"Result: {result}" if result else "",
        f"Raises: {' '.join(_errors(overloads))}",
        _definition(overloads),
    ]
    return [
        *(_wrapped(one) for one in paragraphs if one),
        "Schemas:\n\n" + _indented("\n".join(str(one.schema) for one in overloads)),
    ]


def call_text(name: str, signature: Signature, overloads: Sequence[Described]) -> str:
    """`topk(input: Tensor, k: int, …) -> (values, indices)`."""
    returns = signature.returns
    if returns.startswith("_results."):
        returns = f"({', '.join(_names(overloads))})"
    text = f"{name}({', '.join(signature.parameters)}) -> {returns}"
    return _OWN_NAMES.sub(r"\1", text).replace(_AS_DTYPE, "dtype")


def _names(overloads: Sequence[Described]) -> tuple[str, ...]:
    """The names of the operator's several results."""
    found = (result_names(one.schema.name.name, one.schema.returns) for one in overloads)
    return next((names for names in found if names), ())


def _section(called: str, overloads: Sequence[Described]) -> Section:
    known = sections()
    if called in known:
        return known[called]
    # A method is described with the function of its name, an operator where users find it.
    packet = overloads[0].schema.name.name
    places = ("Tensor", "nn.functional", "ops.aten")
    for name in (packet, *(f"{place}.{packet}" for place in places)):
        if name in known:
            return known[name]
    return Section("", "")


def _what_it_does(called: str, overloads: Sequence[Described]) -> list[str]:
    section = _section(called, overloads)
    if section.text:
        return section.text.split("\n\n")
    first = overloads[0]
    if first.variant == "inplace":
        plain = first.schema.name.name.removesuffix("_")
        text = sections().get(plain, section).text or "\n\n".join(_of_definitions(overloads))
        inner, *rest = text.split("\n\n")
        if inner:
            return [f"`{plain}`, written into the tensor itself: {_lowered(inner)}", *rest]
    if first.alias_of:
        name = first.alias_of.partition(".")[0]
        text = sections().get(name, section).text or (_of_definitions(overloads) or [""])[0]
        return [f"Another name of `{name}`. {text}".strip()]
    return _of_definitions(overloads) or ["An operator without a function of its own."]


def _of_definitions(overloads: Sequence[Described]) -> list[str]:
    """What the operator's function says, in the first of its overloads that says something."""
    for one in overloads:
        text = documentation_at(one.function)
        if text:
            return re.sub(r"\bself\b", "input", text).split("\n\n")
    return []


def _lowered(text: str) -> str:
    first = text.partition(" ")[0]
    return text if first[1:2].isupper() or not first.isalpha() else text[:1].lower() + text[1:]


def _shape(overloads: Sequence[Described]) -> list[str]:
    first = overloads[0]
    tensors = [one for one in first.schema.arguments if one.type.base == "Tensor"]
    if first.variant == "inplace":
        return ["The tensor itself, whose shape and dtype stay."]
    if first.kind == "pointwise":
        if len([one for one in tensors if not one.is_out]) > 1:
            return ["Operands broadcast; the result has their common shape."]
        return ["The result has the input's shape."]
    if any(one.name == "keepdim" for each in overloads for one in each.schema.arguments):
        return ["The dimensions folded away are left out, or have size 1 with `keepdim`."]
    return [_SHAPES[first.kind]] if first.kind in _SHAPES else []


def _dtype(overloads: Sequence[Described]) -> list[str]:
    first = overloads[0]
    if first.variant == "inplace" or first.promotion not in PROMOTIONS:
        return []
    return [f"Its dtype: {PROMOTIONS[first.promotion]}."]


def _results(overloads: Sequence[Described]) -> list[str]:
    names = _names(overloads)
    return [f"Several results come as a tuple with the names {', '.join(names)}."] if names else []


def _definition(overloads: Sequence[Described]) -> str:
    first = overloads[0]
    text = f"Kind: {first.kind}, {KINDS[first.kind]}." if first.kind in KINDS else ""
    module, _, function = next((one.function for one in overloads if one.function), "").partition(
        ":"
    )
    if not function:
        return text
    return f"{text} Defined by `{function}` in {module.replace('.', '/')}.py."


def _errors(overloads: Sequence[Described]) -> list[str]:
    arguments = [one for each in overloads for one in each.schema.arguments]
    found = ["TypeError for arguments that fit no schema."]
    if any(one.name in ("dim", "dims", "dim0", "dim1") for one in arguments):
        found.append("IndexError for dimensions that the input does not have.")
    tensors = [one for one in overloads[0].schema.arguments if one.type.base == "Tensor"]
    if overloads[0].kind == "pointwise" and len(tensors) > 1:
        found.append("RuntimeError for shapes that do not broadcast.")
    if any(one.is_out for one in arguments):
        found.append("RuntimeError for `out` of a dtype that cannot hold the result.")
    if overloads[0].variant == "inplace":
        found.append("RuntimeError where the tensor's dtype or shape cannot hold the result.")
    return found


def _wrapped(paragraph: str) -> str:
    """A paragraph in lines that fit a terminal; one with lines of its own stays."""
    if any(line.startswith((" ", "- ", "|")) for line in paragraph.splitlines()):
        return paragraph
    return textwrap.fill(paragraph, 88)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())
