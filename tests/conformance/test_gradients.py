"""Gradients of torch's operator database: the first samples of every entry, in float64."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch
from gradient_checks import check, name_of
from torch.testing._internal.common_methods_invocations import op_db

import aten

INFINITY = float("inf")
# What differs, and why.
KNOWN = {
    "sparse.sampled_addmm": "there are no sparse tensors",
    "sparse.mm.reduce": "there are no sparse tensors",
    "to_sparse": "there are no sparse tensors",
}


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


EDGES = {
    "logcumsumexp": [
        lambda t, x: x.logcumsumexp(0),
        ([1.0, INFINITY, 2.0], [-INFINITY, 1.0, 2.0], [1.0, -INFINITY, 2.0], [1e4, -1e4, 3.0]),
    ],
    "nextafter": [
        lambda t, x: t.nextafter(x, x.detach().round()),
        ([1.0, 2.5, INFINITY], [0.0, float("nan"), -0.5]),
    ],
    "std": [lambda t, x: x.std() * t.ones(3, dtype=x.dtype), ([2.0, 2.0, 2.0], [1.0, 2.0, 4.0])],
    "std along": [lambda t, x: t.stack([x, x], 1).std(1), ([2.0, -1.0, 0.0],)],
    "std and mean": [
        lambda t, x: sum(t.std_mean(x)) * t.ones(3, dtype=x.dtype),
        ([2.0, 2.0, 2.0], [1.0, 2.0, 4.0]),
    ],
    "std and mean along": [lambda t, x: sum(t.std_mean(t.stack([x, x], 1), 1)), ([2.0, 0.0, 1.0],)],
    "digamma": [lambda t, x: x.digamma(), ([INFINITY, INFINITY, INFINITY],)],
    "frexp": [lambda t, x: t.frexp(x)[0], ([0.0, 8.0, -5e-324], [INFINITY, 3.0, 1e300])],
}


@pytest.mark.parametrize("name", EDGES)
def test_gradients_at_edges(name):
    function, rows = EDGES[name]
    for row in rows:
        given = []
        for library in (torch, aten):
            leaf = library.tensor(row, dtype=library.float64, requires_grad=True)
            seed = library.tensor([1.0, -2.0, 0.5], dtype=library.float64)
            given.append(library.autograd.grad(function(library, leaf), leaf, seed)[0].tolist())
        assert given[1] == pytest.approx(given[0], rel=1e-12, nan_ok=True)


def test_running_sums_of_large_numbers_in_single_precision():
    leaf = aten.tensor([1e4, 1e4 + 0.5, 9999.0], requires_grad=True)
    (found,) = aten.autograd.grad(leaf.logcumsumexp(0), leaf, aten.ones(3))
    wide = torch.tensor([1e4, 1e4 + 0.5, 9999.0], dtype=torch.float64, requires_grad=True)
    (wanted,) = torch.autograd.grad(wide.logcumsumexp(0), wide, torch.ones_like(wide))
    assert found.tolist() == pytest.approx(wanted.tolist(), rel=1e-6)
