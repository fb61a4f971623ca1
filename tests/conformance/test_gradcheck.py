"""Gradients beside finite differences: every entry of torch's operator database, in float64."""

from __future__ import annotations

import pytest
import torch
from gradient_checks import check_differences, name_of
from torch.testing._internal.common_methods_invocations import op_db

# What has no derivative that differences could give.
CONVERTED = "the result is of a type too short for differences"
SPARSE = "there are no sparse tensors"
NOT_DIFFERENT = {
    "float": CONVERTED,
    "half": CONVERTED,
    "bfloat16": CONVERTED,
    "cfloat": CONVERTED,
    "chalf": CONVERTED,
    "normal": "gradients of means go nowhere, as in torch",
    "sparse.sampled_addmm": SPARSE,
    "sparse.mm.reduce": SPARSE,
    "to_sparse": SPARSE,
}


ENTRIES = {
    name_of(entry): entry
    for entry in op_db
    if entry.supports_autograd and torch.float64 in entry.supported_backward_dtypes("cpu")
}


@pytest.mark.parametrize("part", range(8))
def test_gradients_are_what_differences_give(part):
    wrong = {
        name: check_differences(ENTRIES[name], 1)
        for name in sorted(set(ENTRIES) - set(NOT_DIFFERENT))[part::8]
    }
    assert {name: problem for name, problem in wrong.items() if problem} == {}
