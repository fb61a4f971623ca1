"""Every line of `derivatives.yaml` is compared with differences, here or over the database."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from derivative_lines import CALLS

import aten
from aten.autograd import gradcheck, gradgradcheck, rules
from aten.autograd._generated import DERIVATIVES

KEPT = Path(__file__).resolve().parents[1] / "conformance" / "gradient_database.json"
FORMULAS = {name for name, rows in DERIVATIVES.items() if isinstance(rows, tuple)}


def lines_of(results):
    """The lines of the operators that have made the results."""
    listed = results if isinstance(results, (list, tuple)) else [results]
    pending, found = [one.grad_fn for one in listed], set()
    while pending:
        node = pending.pop()
        if node is None:
            continue
        if hasattr(node, "op"):
            found.add(rules.line_of(node.op))
        pending += [following for following, _ in node.next_functions]
    return found


def test_every_line_is_compared():
    reached = set(json.loads(KEPT.read_text())["gradcheck"]["reached"])
    assert FORMULAS - reached - set(CALLS) == set()
    assert set(CALLS) - FORMULAS == set()


@pytest.mark.parametrize("line", CALLS)
def test_line(line):
    function, inputs = CALLS[line]
    assert line in lines_of(function(*inputs))
    assert gradcheck(function, inputs, check_forward_ad=True)
    assert gradgradcheck(function, inputs, check_undefined_grad=False, fast_mode=True)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("forward", [False, True])
def test_sums_of_infinities_change_by_halves(name, forward):
    # As what is equal does everywhere: where all is masked, that is times zero, and not NaN.
    x = aten.tensor([[math.inf, -math.inf, math.inf, -math.inf, 1.0]]).mT.expand(5, 2).clone()
    x[2, 1], x[3, 0] = 2.0, 3.0

    def function(x):
        return getattr(aten, name)(x[:, 0], x[:, 1])

    if forward:
        found = [aten.func.jvp(function, (x,), (one.expand(5, 2),))[1] for one in aten.eye(2)]
    else:
        found = list(aten.func.grad(lambda x: function(x).sum())(x).unbind(1))
    assert [one.tolist() for one in found] == [[0.5, 0.5, 1, 1, 0.5], [0.5, 0.5, 0, 0, 0.5]]
