"""Gradients of torch's operator database: the first samples of every entry, in float64."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch
from gradient_checks import check
from torch.testing._internal.common_methods_invocations import op_db

# What differs, and why.
KNOWN = {
    "as_strided_scatter": "torch has a gradient for what was overwritten",
    "linalg.pinv.hermitian": "of a Hermitian operand the gradient is Hermitian here",
    "frexp": "the mantissa is made of bits, through which nothing goes back",
    "nn.functional.ctc_loss": "its table is written in place, with minus infinities",
    "linalg.lstsq": "residuals have no gradient here",
    "linalg.lstsq.grad_oriented": "residuals have no gradient here",
    "max_pool2d_with_indices_backward": "compared through its own test",
    "nextafter": "torch has no formula, and says so later",
    "sparse.sampled_addmm": "there are no sparse tensors",
    "sparse.mm.reduce": "there are no sparse tensors",
    "to_sparse": "there are no sparse tensors",
}


def name_of(entry):
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


ENTRIES = {name_of(entry): entry for entry in op_db if entry.supports_autograd}


@pytest.mark.parametrize("part", range(8))
def test_the_first_samples_have_torchs_gradients(part):
    wrong = {}
    for name in sorted(ENTRIES)[part::8]:
        if name in KNOWN or torch.float64 not in ENTRIES[name].supported_backward_dtypes("cpu"):
            continue
        problem = check(ENTRIES[name], torch.float64, 2)
        if problem:
            wrong[name] = problem
    assert wrong == {}


def test_the_page_is_what_the_tool_keeps(monkeypatch):
    root = Path(__file__).resolve().parents[2]
    monkeypatch.syspath_prepend(str(root / "tools"))
    tool = runpy.run_path(str(root / "tools/gradient_database.py"))
    assert tool["section"]() in (root / "docs/conformance.md").read_text()
