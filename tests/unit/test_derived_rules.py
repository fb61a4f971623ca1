"""Every rule that is derived from an operator's definition is compared with differences, twice.

Operands are numbers from 0.2 on, a range for each, where nearly all functions are smooth.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from derivative_lines import numbers

import aten
from aten import registry
from aten._generated.table import OPERATORS
from aten.autograd import gradcheck, gradgradcheck
from aten.autograd._generated import DERIVATIVES
from aten.autograd.rules import line_of, rule_of
from aten.ops.networks.gates import GATES

# Ranges of operands, for functions that are not defined below 1.
OPERANDS: dict[str, tuple[float, float]] = {"acosh": (1.2, 1.8), "arccosh": (1.2, 1.8)}
# The second derivative would be a kernel of more operands than one takes.
ONCE = {"elu_backward"}
BITWISE = {"__and__", "__or__", "__xor__", "__lshift__", "__rshift__"}
# Numbers for arguments that are no tensors, by name: beside the kinks of functions.
SCALARS: dict[str, Any] = {
    "self": 0.1,
    "exponent": 3,
    "n": 2,
    "decimals": 0,
    "other": 1.5,
    "lambd": 0.4,
    "threshold": 0.4,
    "rounding_mode": None,
    "is_result": False,
    "self_is_result": False,
}


def derived_operators() -> list[Any]:
    """Functional operators with a rule of their own that is in no table, of real numbers."""
    found = []
    listed = [registry.operator(f"aten::{name}") for name in OPERATORS]
    fused = [registry.operator(f"fused::{schema.partition('(')[0]}") for schema in GATES]
    for op in (*listed, *fused):
        if op.entry.variant in ("inplace", "out") or line_of(op) in DERIVATIVES:
            continue
        if op.name.startswith("bitwise_") or op.name in BITWISE:
            # Of integers, which have no gradients.
            continue
        if op.entry.kind not in ("pointwise", "fused"):
            continue
        rule = rule_of(op)
        if rule.formulas and rule.through is None and not rule.missing:
            found.append(op)
    return found


def arguments(op: Any) -> tuple[list[Any], dict[str, Any], list[int]]:
    """Arguments of a call, and the places of the tensors."""
    args, kwargs, tensors = [], {}, []
    for argument in op._schema.arguments:
        kind = str(argument.type)
        if kind == "Tensor" and argument.name == "condition":
            value: Any = aten.tensor([[True], [False], [True]])
        elif kind == "Tensor":
            first = 0.2 + 0.25 * len(tensors)
            low, high = OPERANDS.get(op.name, (first, first + 0.15))
            tensors.append(len(args))
            value = numbers(3, 2, low=low, high=high)
        elif kind == "Scalar" and not argument.has_default:
            value = SCALARS.get(argument.name, 0.5)
        elif not argument.has_default:
            value = SCALARS.get(argument.name, 1)
        else:
            continue
        if argument.keyword_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs, tensors


CHECKED = derived_operators()


def test_there_are_some():
    assert len(CHECKED) > 80


@pytest.mark.parametrize("op", CHECKED, ids=str)
def test_rule(op):
    args, kwargs, places = arguments(op)

    def function(*tensors):
        given = list(args)
        for place, one in zip(places, tensors, strict=True):
            given[place] = one
        return op(*given, **kwargs)

    inputs = [args[place] for place in places]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(*inputs)
    assert result.grad_fn is not None
    assert rule_of(op).formulas
    # Forward mode goes back twice.
    assert gradcheck(function, inputs, check_forward_ad=op.name not in ONCE)
    if op.name not in ONCE:
        assert gradgradcheck(function, inputs, check_undefined_grad=False, fast_mode=True)
