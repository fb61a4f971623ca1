"""Calls of operators that are no functions of the package, beside torch's."""

from __future__ import annotations

import warnings
from typing import Any

from comparison import assert_same, torch, translated

import aten

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-11}


def numbers(*shape: int, element: str = "float32", seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed + len(shape))
    return torch.randn(shape, generator=generator).to(getattr(torch, element))


def layouts(element: str, seed: int) -> list:
    """Tensors in several layouts: of the same sizes, whatever the seed."""
    whole = (numbers(4, 3, seed=seed) * 2).to(getattr(torch, element))
    return [whole, whole.t(), whole[::2, 1:], whole[:0], whole[0, 0], whole[:1].expand(4, 3)]


def outcome(library: Any, name: str, places: tuple, keywords: dict) -> tuple[Any, Any]:
    """The result, or else the error, of `library.ops.aten.NAME`."""
    packet, _, overload = name.partition(".")
    function = getattr(getattr(library.ops.aten, packet), overload or "default")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*places, **keywords), None
        except Exception as error:
            return None, error


def compare(name: str, *places: Any, strides: bool = True, **keywords: Any) -> bool:
    """Runs the operator on both; whether torch took the arguments.

    Results and what is written agree as far as the first tensor's type allows.
    """
    given = translated(places)
    named = {
        key: aten.empty(0, dtype=translated(value.dtype))
        if key in ("out", "grad_input", "output", "out0", "out1", "out2") and value.numel() == 0
        else translated(value)
        for key, value in keywords.items()
    }
    results, error = outcome(aten, name, given, named)
    theirs, their_error = outcome(torch, name, places, keywords)
    if their_error is not None:
        assert isinstance(error, type(their_error)), (name, error, their_error)
        return False
    assert error is None, (name, error)
    limit = max(
        (TOLERANCE.get(str(one.dtype).removeprefix("torch."), 1e-5) for one in _tensors(places)),
        default=1e-5,
    )
    limits = {"tolerance": limit, "absolute": limit, "strides": strides}
    for our, their in ((results, theirs), (given, places)):
        assert_same(_as_tuples(our), _as_tuples(their), **limits)
    return True


def _tensors(values: Any) -> list:
    if isinstance(values, torch.Tensor):
        return [values] if values.is_floating_point() else []
    if isinstance(values, (list, tuple)):
        return [found for one in values for found in _tensors(one)]
    return []


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, (list, tuple)) else value
