"""Every line of `derivatives.yaml` is compared with differences, here or over the database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from derivative_lines import CALLS

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
