"""The operators that exported architectures use are there, those of other libraries included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aten
from aten import registry
from aten.conformance.examination import FAILED, FORMS, MISSING, Limits, check_forms
from aten.transforms import is_leaf

LISTS = json.loads((Path(__file__).parents[1] / "data" / "model_ops.json").read_text())


@pytest.mark.parametrize("flavour", ["core_ir", "training_ir"])
def test_every_operator_of_inference_is_there(flavour: str) -> None:
    names = [entry["op"] for entry in LISTS[flavour]]
    assert len(names) > 100
    assert [name for name in names if _missing(name)] == []


def _missing(name: str) -> bool:
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    found: Any = registry.find_packet(namespace, packet)
    return found is None or (overload or "default") not in found.overloads()


def test_rows_times_the_matrix_of_their_group() -> None:
    rows = aten.arange(8, dtype=aten.float32).reshape((4, 2))
    matrices = aten.stack([aten.eye(2), 2 * aten.eye(2), 3 * aten.eye(2)])
    grouped = aten.ops.transformers.grouped_mm_fallback
    out = grouped(rows, matrices, aten.tensor([1, 1, 3], dtype=aten.int32))
    assert out.tolist() == [[0, 1], [6, 9], [12, 15], [0, 0]]
    with pytest.raises(RuntimeError, match="grouped_mm: expected rows"):
        grouped(rows, matrices, aten.tensor([1]))


def test_gradients_of_rows_times_the_matrix_of_their_group() -> None:
    rows = aten.arange(8, dtype=aten.float32).reshape((4, 2)).requires_grad_()
    matrices = aten.arange(18, dtype=aten.float32).reshape((3, 2, 3)).requires_grad_()
    ends = aten.tensor([1, 1, 3], dtype=aten.int32)
    grad = aten.arange(12, dtype=aten.float32).reshape((4, 3)).cos()
    aten.ops.transformers.grouped_mm_fallback(rows, matrices, ends).backward(grad)
    backward = aten.ops.transformers.grouped_mm_fallback_backward
    of_rows, of_matrices = backward(grad, rows.detach(), matrices.detach(), ends)
    assert of_rows.tolist() == rows.grad.tolist()
    assert of_matrices.tolist() == matrices.grad.tolist()
    with pytest.raises(RuntimeError, match="expected a gradient of shape"):
        backward(grad.t(), rows.detach(), matrices.detach(), ends)


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_in_every_form(form: str) -> None:
    names = [entry["op"] for entry in LISTS["core_ir"] if not _missing(entry["op"])]
    names = [name for name in names if name.startswith("aten::")][::4]
    if form in ("core", "prims"):
        names = [name for name in names if not is_leaf(registry.operator(name), form)]
    found = [*check_forms(form, names, ("float32",), limits=Limits(1))]
    assert [one for one in found if one.status in (FAILED, MISSING)] == []
    assert sum(one.calls > 0 for one in found) * 4 >= len(names) * 3
    with pytest.raises(ValueError, match="form must be one of"):
        next(check_forms("most", names))
