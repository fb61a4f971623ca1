"""The elementwise primitives as a vocabulary for expressions, with shorthands for conversion."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten.prims.elementwise import (
    abs,
    ceil,
    convert_element_type,
    copysign,
    floor,
    fma,
    fmod,
    maximum,
    minimum,
    reciprocal_estimate,
    round,
    rsqrt_estimate,
    shift_right_logical,
    sqrt,
    trunc,
    where,
)
from aten.prims.elementwise import (
    bitcast as _bitcast,
)
from aten.prims.elementwise import (
    lookup as _lookup,
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
    "fmod",
    "lookup",
    "maximum",
    "minimum",
    "reciprocal_estimate",
    "round",
    "rsqrt_estimate",
    "shift_right_logical",
    "shortcut",
    "sqrt",
    "trunc",
    "where",
    "where_rare",
]


def where_rare(condition: Value, general: Value, usual: Value) -> Value:
    """`usual`, but `general` where the condition holds, which is seldom.

    `general` is right everywhere, and costs more. The condition should follow from the operands in
    a few steps: a loop may then test a stretch of elements first, and leave `general` out where it
    holds for none of them. Loops that do not test take `general` alone.
    """
    return where(condition, general, usual, rare="choice")


def shortcut(condition: Value, general: Value, usual: Value) -> Value:
    """`where_rare` for a `general` that `usual` equals bit by bit but where the condition holds."""
    return where(condition, general, usual, rare="shortcut")


def convert(value: Value, name: str) -> Value:
    """`value` as elements of the type called `name`; itself if they are that already."""
    if value.dtype.name == name:
        return value
    return convert_element_type(value, dtype=DTYPES[name])


def bitcast(value: Value, name: str) -> Value:
    """The bits of `value` read as the type called `name`, of the same size."""
    return _bitcast(value, dtype=DTYPES[name])


def lookup(table: tuple[float, ...], index: Value) -> Value:
    """The float32 of `table`, of 16 or 32, that the low bits of an int32 tell.

    So many fit into vector registers, where all lanes look up their entries as fast as they
    multiply.
    """
    return _lookup(index, table=table)


def constant(like: Value, number: Number) -> Value:
    """`number` as a value of the type of `like`."""
    return like.interpreter.constant(number, like.dtype)
