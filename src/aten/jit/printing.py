"""Scripted functions as text: Python with their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from aten.jit.terms import Function, Parameter, Term
from aten.jit.types import ANY


def function_text(function: Function, is_method: bool, types: bool = True) -> str:
    """The function's definition; with `types`, what each variable is that is assigned to."""
    own = ["self"] if is_method else []
    listed = [*own, *_parameters(function.parameters)]
    lines = [f"def {function.name}({', '.join(listed)}) -> {function.returns}:"]
    lines += _block(function.body, "    ", types)
    return "\n".join(lines) + "\n"


def _parameters(parameters: Sequence[Parameter]) -> Iterator[str]:
    keyword_only = False
    for one in parameters:
        if one.keyword_only and not keyword_only:
            keyword_only = True
            yield "*"
        default = f" = {_value(one.default)}" if one.has_default else ""
        yield f"{one.name}: {one.type}{default}"


def _block(body: Sequence[Term], indent: str, types: bool) -> list[str]:
    lines = [line for one in body for line in _statement(one, indent, types)]
    return lines or [f"{indent}pass"]


def _statement(term: Term, indent: str, types: bool) -> Iterator[str]:
    parts = term.parts
    if term.head == "if":
        yield f"{indent}if {text(parts[0])}:"
        yield from _block(parts[1], indent + "    ", types)
        if parts[2]:
            yield f"{indent}else:"
            yield from _block(parts[2], indent + "    ", types)
    elif term.head == "while":
        yield f"{indent}while {text(parts[0])}:"
        yield from _block(parts[1], indent + "    ", types)
    elif term.head == "for":
        yield f"{indent}for {text(parts[0])} in {text(parts[1])}:"
        yield from _block(parts[2], indent + "    ", types)
    elif term.head == "assign":
        target, value = parts
        known = types and target.head == "local" and target.type != ANY
        yield f"{indent}{text(target)}{f': {target.type}' if known else ''} = {text(value)}"
    elif term.head == "augment":
        yield f"{indent}{text(parts[1])} {parts[0]}= {text(parts[2])}"
    elif term.head == "evaluate":
        yield f"{indent}{text(parts[0])}"
    elif term.head == "return":
        yield f"{indent}return {text(parts[0])}"
    elif term.head == "raise":
        yield f"{indent}raise {parts[0]}({text(parts[1])})"
    elif term.head == "assert":
        said = parts[1]
        silent = said.head == "constant" and said.parts[0] is None
        yield f"{indent}assert {text(parts[0])}{'' if silent else f', {text(said)}'}"
    else:
        yield f"{indent}{term.head}"


def text(term: Term) -> str:
    """An expression as Python."""
    parts = term.parts
    if term.head == "constant":
        return _value(parts[0])
    if term.head in _SIMPLE:
        return _SIMPLE[term.head].format(*[_part(one) for one in parts])
    if term.head == "tuple":
        inner = ", ".join(map(text, parts[0]))
        return f"({inner},)" if len(parts[0]) == 1 else f"({inner})"
    if term.head == "dict":
        pairs = zip(parts[0], parts[1], strict=True)
        return f"{{{', '.join(f'{text(key)}: {text(value)}' for key, value in pairs)}}}"
    if term.head in ("and", "or"):
        return f"({f' {term.head} '.join(map(text, parts[0]))})"
    if term.head == "compare":
        signs = [f" {sign} {text(one)}" for sign, one in zip(parts[0], parts[1][1:], strict=True)]
        return f"({text(parts[1][0])}{''.join(signs)})"
    if term.head == "slice":
        bounds = ["" if _is_none(one) else text(one) for one in parts]
        return ":".join(bounds[: 2 + (bounds[2] != "")])
    if term.head in ("list_of", "dict_of"):
        *made, target, rows, tests = parts
        tail = "".join(f" if {text(one)}" for one in tests)
        element = ": ".join(map(text, made))
        loop = f"{element} for {text(target)} in {text(rows)}{tail}"
        return f"[{loop}]" if term.head == "list_of" else f"{{{loop}}}"
    if term.head == "format":
        return " + ".join(f"str({text(one)})" for one in parts[0]) or "''"
    return _call(term)


def _call(term: Term) -> str:
    if term.head in ("call_function", "call_scripted"):
        called, rest = term.parts[0], term.parts[1:]
    elif term.head == "call_module":
        called, rest = text(term.parts[0]), term.parts[1:]
    else:
        called, rest = f"{text(term.parts[0])}.{term.parts[1]}", term.parts[2:]
    args, keywords, values = rest
    listed = [text(one) for one in args]
    listed += [f"{key}={text(one)}" for key, one in zip(keywords, values, strict=True)]
    return f"{called}({', '.join(listed)})"


_SIMPLE = {
    "local": "{0}",
    "self": "self",
    "member": "{0}.{1}",
    "attribute": "{0}.{1}",
    "list": "[{0}]",
    "binary": "({1} {0} {2})",
    "unary": "({0} {1})",
    "choose": "({1} if {0} else {2})",
    "subscript": "{0}[{1}]",
}


def _part(part: Any) -> str:
    if isinstance(part, Term):
        return text(part)
    return ", ".join(map(text, part)) if isinstance(part, tuple) else str(part)


def _value(value: Any) -> str:
    return repr(value)


def _is_none(term: Term) -> bool:
    return term.head == "constant" and term.parts[0] is None
