"""What function transforms refuse, in both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import aten

CASES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda lib: lib.func.grad(lambda x: (x * x).sum())(lib.tensor([1 + 2j])),
    "jacrev": lambda lib: lib.func.jacrev(lambda x: x * x)(lib.tensor([1 + 2j])),
    "jacfwd": lambda lib: lib.func.jacfwd(lambda x: x * x)(lib.tensor([1 + 2j])),
    "jacrev of real": lambda lib: lib.func.jacrev(lambda x: x * 1j)(lib.ones(2)),
    "jacfwd of real": lambda lib: lib.func.jacfwd(lambda x: x * 1j)(lib.ones(2)),
    "in_dims": lambda lib: lib.func.vmap(lib.add, in_dims=[0, 0])(lib.ones(2), lib.ones(2)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lib", [aten, torch], ids=["aten", "torch"])
def test_refusals(name: str, lib: Any) -> None:
    error = ValueError if name == "in_dims" else (RuntimeError, AssertionError)
    with pytest.raises(error):
        CASES[name](lib)


@pytest.mark.parametrize("part", [slice(None), slice(0, 1)])
@pytest.mark.parametrize("lib", [aten, torch], ids=["aten", "torch"])
def test_functions_do_not_write_to_leaves(lib: Any, part: slice) -> None:
    class Increment(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    leaf = lib.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        Increment.apply(leaf[part] if part.stop else leaf)
    assert Increment.apply(lib.ones(2, requires_grad=True) * 1).sum().item() == 4
