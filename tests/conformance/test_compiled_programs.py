"""Compiled programs around a sample of torch's operator database give what they give eagerly.

`tools/operator_database.py --forms compiled` runs the whole.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from database_checks import check, dtypes_of, has_samples
from torch.testing._internal.common_methods_invocations import op_db

ABSENT = ("jiterator", "sparse", "to_sparse", "torch.")
SAMPLE = [
    entry
    for entry in op_db
    if zlib.crc32(f"compiled {entry.name} {entry.variant_test_name}".encode()) % 8 == 0
    and not entry.name.startswith(ABSENT)
]


@pytest.mark.parametrize("entry", SAMPLE, ids=lambda entry: entry.formatted_name)
def test_a_program_around_the_operator(entry: Any) -> None:
    for dtype in dtypes_of(entry):
        if has_samples(entry, dtype):
            assert check(entry, dtype, 2, ("compiled",)) == {}
