"""Whoever changes an index, a mask or an offset during a call gets some value, or an exception.

What is tried, and how, is in changing_indices.py, which runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import changing_indices
import pytest
from operator_calls import operators

RECIPES = changing_indices.recipes()
# Arguments that say where, which or how many. To operators lowered to loops they are numbers.
SAYING_WHERE = frozenset(
    (
        *("index", "indices", "mask", "condition", "sorter", "pivots", "LU_pivots", "grid"),
        *("offsets", "lengths", "repeats", "batch_sizes", "tensor_indices_or_sections"),
        *("target", "targets", "input_lengths", "target_lengths", "random_samples"),
    )
)
LOOPS = frozenset(("pointwise", "reduction"))


def _chosen(request: pytest.FixtureRequest) -> list[str]:
    return [
        item.callspec.params["name"]
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_nothing_but_values_and_exceptions"
    ]


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What became of all recipes of this run, one after the other in one script."""
    script = Path(changing_indices.__file__)
    done = subprocess.run(
        [sys.executable, script, *_chosen(request)],
        env=os.environ | {"PYTHONPATH": str(script.parent)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    listed = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["name"]: one for one in listed}


@pytest.mark.parametrize("name", RECIPES)
def test_nothing_but_values_and_exceptions(name: str, outcomes: dict[str, Any]) -> None:
    found = outcomes[name]
    assert found["status"] == 0, found
    assert found["calls"] > 0, found
    assert found["wrong"] == 0, found
    assert not [one for one in found["raised"] if one.startswith("refused")], found


def _says_where(op: Any) -> bool:
    return any(
        argument.name in SAYING_WHERE and "Tensor" in str(argument.type) and not argument.is_write
        for argument in (*op._schema.arguments, *op._schema.keyword_only)
    )


def test_every_operator_that_is_told_where_is_tried() -> None:
    """A new one needs a recipe. Variants that write elsewhere share their base's function, and what
    is made of other operators reads no index itself."""
    tried = {name.partition(" ")[0] for name in RECIPES}
    missing = [
        op.entry.base
        for op in operators()
        if _says_where(op)
        and op.entry.kind not in LOOPS
        and {"cpu", "native", "fast_path"} & set(op.entry.options)
        and not tried & {op.entry.base, op.name, op.entry.base.partition(".")[0] + "_"}
    ]
    assert missing == []
