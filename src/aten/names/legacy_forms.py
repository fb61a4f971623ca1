"""Signatures of long ago, in which numbers stand before the tensors that they multiply.

`addmm(beta, input, alpha, mat1, mat2)` is `addmm(input, mat1, mat2, beta=beta, alpha=alpha)`, and
so for all that follow: which keywords the numbers are, the schema says.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor

# Operators that torch takes in this form, in-place and out= variants included.
_FORMS = frozenset(
    {
        "add",
        "addbmm",
        "addcdiv",
        "addcmul",
        "addmm",
        "addmv",
        "addr",
        "baddbmm",
        "sub",
    }
)


def read(
    name: str, candidates: tuple[OpOverload, ...], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]] | None:
    """The arguments that the schema takes; None for calls that are not in this form.

    Warns (UserWarning), as torch does.
    """
    if name.removesuffix("_") not in _FORMS or set(kwargs) - {"out"}:
        return None
    tensors = [one for one in args if isinstance(one, Tensor)]
    numbers = [one for one in args if isinstance(one, (int, float, complex))]
    if not numbers or len(tensors) + len(numbers) != len(args) or args[-1] is not tensors[-1]:
        return None
    names = _scalars(candidates, len(tensors))
    if len(numbers) > len(names):
        return None
    warnings.warn(
        f"{name}(): numbers before the tensors they multiply are deprecated; name them: "
        f"{', '.join(f'{one}=…' for one in names[: len(numbers)])}",
        UserWarning,
        stacklevel=3,
    )
    return tensors, {**kwargs, **dict(zip(names, numbers, strict=False))}


def _scalars(candidates: tuple[OpOverload, ...], count: int) -> list[str]:
    """The keyword-only numbers of the overload that takes so many tensors and nothing else."""
    for candidate in candidates:
        schema = candidate._schema
        types = [str(one.type) for one in schema.positional]
        if types == ["Tensor"] * count:
            return [one.name for one in schema.keyword_only if str(one.type) == "Scalar"]
    return []
