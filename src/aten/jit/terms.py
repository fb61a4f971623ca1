"""The form of scripted functions: a tree of terms with control flow, types and source positions.

A term has a head and parts. `SHAPES` is the one table of what parts each head has; files are
written and checked by it, and evaluation and printing have an entry for each head.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aten.jit.types import ANY, Type, type_of


class Term(NamedTuple):
    """An expression or a statement.

    Attributes:
        head: what it is.
        parts: terms, tuples of terms, texts, or a plain value, as `SHAPES` says.
        type: of an expression's value.
        line: in the function's file.
    """

    head: str
    parts: tuple[Any, ...] = ()
    type: Type = ANY
    line: int = 0


# Kinds of parts: a term, terms, a text, texts, a plain value.
TERM, TERMS, TEXT, TEXTS, VALUE = "term", "terms", "text", "texts", "value"

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "constant": (VALUE,),
    "local": (TEXT,),
    "self": (),
    "member": (TERM, TEXT),
    "tuple": (TERMS,),
    "list": (TERMS,),
    "dict": (TERMS, TERMS),
    "binary": (TEXT, TERM, TERM),
    "unary": (TEXT, TERM),
    "compare": (TEXTS, TERMS),
    "and": (TERMS,),
    "or": (TERMS,),
    "choose": (TERM, TERM, TERM),
    "subscript": (TERM, TERM),
    "slice": (TERM, TERM, TERM),
    "attribute": (TERM, TEXT),
    "call_function": (TEXT, TERMS, TEXTS, TERMS),
    "call_method": (TERM, TEXT, TERMS, TEXTS, TERMS),
    "call_scripted": (TEXT, TERMS, TEXTS, TERMS),
    "call_own": (TERM, TEXT, TERMS, TEXTS, TERMS),
    "call_module": (TERM, TERMS, TEXTS, TERMS),
    "list_of": (TERM, TERM, TERM, TERMS),
    "dict_of": (TERM, TERM, TERM, TERM, TERMS),
    "format": (TERMS,),
}
STATEMENTS: dict[str, tuple[str, ...]] = {
    "assign": (TERM, TERM),
    "augment": (TEXT, TERM, TERM),
    "evaluate": (TERM,),
    "if": (TERM, TERMS, TERMS),
    "while": (TERM, TERMS),
    "for": (TERM, TERM, TERMS),
    "return": (TERM,),
    "raise": (TEXT, TERM),
    "assert": (TERM, TERM),
    "break": (),
    "continue": (),
    "pass": (),
}
SHAPES = {**EXPRESSIONS, **STATEMENTS}


class Parameter(NamedTuple):
    """A parameter: `default` is its value where `has_default`."""

    name: str
    type: Type
    has_default: bool = False
    default: Any = None
    keyword_only: bool = False


class Function(NamedTuple):
    """A scripted function; a method has no parameter for its module.

    Attributes:
        name: as it is called in its program.
        parameters: in their order.
        returns: the type of its result.
        body: statements.
        file: where its source is, for errors.
    """

    name: str
    parameters: tuple[Parameter, ...]
    returns: Type
    body: tuple[Term, ...]
    file: str
    line: int


def constant(value: Any, line: int = 0) -> Term:
    return Term("constant", (value,), type_of(value), line)
