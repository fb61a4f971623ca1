"""A schema from a Python function's annotations, as torch.library.infer_schema makes it.

def scale(x: Tensor, by: float = 1.0, *, out: Tensor | None = None) -> Tensor
(Tensor x, float by=1., *, Tensor? out=None) -> Tensor
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union, get_args, get_origin

from aten._core.base.device import device
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor

_TYPES: dict[object, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "complex",
    dtype: "ScalarType",
    device: "Device",
}
_NUMBER = frozenset({bool, int, float})
_SEQUENCES = (list, Sequence)


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema, without a name unless `op_name` is given.

    `mutates_args` names the arguments that are written to; "unknown" stands for all tensors.

    Raises:
        ValueError: a parameter has no annotation, one that has no schema type, or a default that
            a schema cannot write; or `mutates_args` names no parameter.
    """
    signature = inspect.signature(prototype_function, eval_str=True)
    mutated = set() if mutates_args == "unknown" else set(mutates_args)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError("mutates_args must be a sequence of names or the string 'unknown'")
    unknown = mutated - set(signature.parameters)
    if unknown:
        raise ValueError(f"mutates_args names no parameter of the function: {sorted(unknown)}")
    parts: list[str] = []
    for place, parameter in enumerate(signature.parameters.values()):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        text = _type_of_parameter(parameter)
        if parameter.name in mutated or (mutates_args == "unknown" and text.startswith("Tensor")):
            text = _written(text, f"a{place}", parameter.name)
        parts.append(f"{text} {parameter.name}{_default_of(parameter)}")
    returns = _returns(signature.return_annotation)
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _type_of_parameter(parameter: inspect.Parameter) -> str:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise ValueError(f"parameter {parameter.name}: an operator has no *args and **kwargs")
    if parameter.annotation is parameter.empty:
        raise ValueError(f"parameter {parameter.name} must have a type annotation")
    found = _schema_type(parameter.annotation)
    if found is None:
        raise ValueError(
            f"parameter {parameter.name} has unsupported type {parameter.annotation}; supported: "
            f"Tensor, int, float, bool, str, complex, dtype, device, int | float | bool, "
            f"and their lists and unions with None"
        )
    return found


def _schema_type(annotation: object) -> str | None:
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in _SEQUENCES and len(args) == 1:
        element = _schema_type(args[0])
        return None if element is None else f"{element}[]"
    if origin is Union or origin is types.UnionType:
        present = [argument for argument in args if argument is not type(None)]
        element = "Scalar" if frozenset(present) == _NUMBER else None
        if len(present) == 1:
            element = _schema_type(present[0])
        if element is not None:
            return element + "?" * (len(present) < len(args))
    return None


def _written(text: str, alias: str, name: str) -> str:
    if not text.startswith("Tensor"):
        raise ValueError(f"mutates_args names {name}, which is no Tensor but {text}")
    return f"Tensor({alias}!){text.removeprefix('Tensor')}"


def _default_of(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is parameter.empty:
        return ""
    if isinstance(default, dtype):
        return f"={default.name}"
    if isinstance(default, device):
        return f'="{default}"'
    if default is None or isinstance(default, (bool, int, float)):
        return f"={default}"
    if isinstance(default, str):
        return f'="{default}"'
    raise ValueError(f"parameter {parameter.name}: a schema cannot have the default {default!r}")


def _returns(annotation: object) -> str:
    if annotation is None:
        return "()"
    if get_origin(annotation) is tuple:
        return f"({', '.join(_return_type(one) for one in get_args(annotation))})"
    return _return_type(annotation)


def _return_type(annotation: object) -> str:
    found = _schema_type(annotation)
    if found is None or "?" in found:
        raise ValueError(
            f"the return type {annotation} is not supported: expected Tensor, int, float, bool, "
            f"a list of Tensor, a tuple of these, or None"
        )
    return found
