"""The elementwise primitives as a vocabulary for expressions, with shorthands for conversion."""

from __future__ import annotations

from aten._core.dtypes import DTYPES
from aten.prims.elementwise import (
    abs,
    ceil,
    convert_element_type,
    copysign,
    floor,
    fma,
    maximum,
    minimum,
    round,
    shift_right_logical,
    sqrt,
    trunc,
    where,
)
from aten.prims.elementwise import (
    bitcast as _bitcast,
)
from aten.prims.prim import Number, Value

__all__ = [
    "abs",
    "bitcast",
    "ceil",
    "constant",
    "convert",
    "copysign",
    "floor",
    "fma",
    "maximum",
    "minimum",
    "round",
    "shift_right_logical",
    "sqrt",
    "trunc",
    "where",
]


def convert(value: Value, name: str) -> Value:
    """`value` as elements of the type called `name`; itself if they are that already."""
    if value.dtype.name == name:
        return value
    return convert_element_type(value, dtype=DTYPES[name])


def bitcast(value: Value, name: str) -> Value:
    """The bits of `value` read as the type called `name`, of the same size."""
    return _bitcast(value, dtype=DTYPES[name])


def constant(like: Value, number: Number) -> Value:
    """`number` as a value of the type of `like`."""
    return like.interpreter.constant(number, like.dtype)
