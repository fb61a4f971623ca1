"""Types, sizes and tensors' records in the form of torch's serialized schema."""

from __future__ import annotations

import math
from typing import Any

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten.graph.deserialize import DTYPE_NAMES, LAYOUT_NAMES, MEMORY_FORMAT_NAMES
from aten.graph.errors import FormatError
from aten.graph.ir import Size, TensorMeta
from aten.graph.symbolic import Expression, Number
from aten.graph.writing.expressions import kind_of, spelled

Json = dict[str, Any]

_DTYPE_CODES = {name: code for code, name in DTYPE_NAMES.items()}
_LAYOUT_CODES = {name: code for code, name in LAYOUT_NAMES.items()}
_MEMORY_FORMAT_CODES = {name: code for code, name in MEMORY_FORMAT_NAMES.items()}


def written_dtype(value: dtype) -> int:
    return _code(_DTYPE_CODES, value.name, "element type")


def written_layout(value: layout) -> int:
    return _code(_LAYOUT_CODES, value.name, "layout")


def written_memory_format(value: memory_format) -> int:
    return _code(_MEMORY_FORMAT_CODES, value.name, "memory format")


def _code(codes: dict[str, int], name: str, kind: str) -> int:
    if name not in codes:
        raise FormatError(f"the {kind} {name} has no number in a file")
    return codes[name]


def written_device(value: device) -> Json:
    return {"type": value.type, "index": value.index}


def written_float(value: float) -> float | str:
    """JSON has no infinities and no NaN; they are texts."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def written_number(value: Number) -> Json:
    """A plain value as a tagged one."""
    if isinstance(value, bool):
        return {"as_bool": value}
    return {"as_int": value} if isinstance(value, int) else {"as_float": written_float(value)}


def written_size(value: Expression | Number) -> Json:
    """A SymInt, SymFloat or SymBool: a plain value, or an expression with what it once was."""
    if not isinstance(value, Expression):
        return written_number(value)
    hint = None if value.hint is None else _written_hint(value, value.hint)
    return {"as_expr": {"expr_str": spelled(value), "hint": hint}}


def _written_hint(value: Expression, hint: Number) -> Json:
    made = {"sym_bool": bool, "sym_int": int, "sym_float": float}[kind_of(value)](hint)
    return written_number(made)


def written_meta(value: TensorMeta) -> Json:
    return {
        "dtype": written_dtype(value.dtype),
        "sizes": [_int_size(size) for size in value.shape],
        "requires_grad": value.requires_grad,
        "device": written_device(value.device),
        "strides": [_int_size(stride) for stride in value.stride],
        "storage_offset": _int_size(value.storage_offset),
        "layout": written_layout(value.layout),
    }


def _int_size(value: Size) -> Json:
    return written_size(value)
