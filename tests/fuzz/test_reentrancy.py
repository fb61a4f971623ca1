"""Operands changed in the middle of a call: an exception at worst, and every tensor a window.

A bounded number of calls; `python tools/fuzz.py --reentrant` makes as many as one likes, in
processes of their own.
"""

from __future__ import annotations

import random
import resource
from pathlib import Path

import pytest
from operator_calls import operators
from reentrant_calls import reentrant_call

OPERATORS = operators()
CALLS = 1600
PARTS = 8


@pytest.fixture(autouse=True)
def _bounded_memory():
    """Requests beyond a few gigabytes are refused, on machines that would promise them, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (4 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize("part", range(PARTS))
def test_calls_whose_arguments_change_operands(part):
    succeeded = 0
    for number in range(part, CALLS, PARTS):
        succeeded += reentrant_call(random.Random(number), OPERATORS)
    assert succeeded > CALLS // PARTS // 10
