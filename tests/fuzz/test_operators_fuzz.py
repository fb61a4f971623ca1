"""Every registered operator under random operands: an exception at worst, and nothing half done.

A bounded number of calls; `python tools/fuzz.py` makes as many as one likes, in processes of their
own.
"""

from __future__ import annotations

import random
import resource
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from operator_calls import Calls, call, call_recorded, operators
from transformed_calls import transformed_call

OPERATORS = operators()


@pytest.fixture(autouse=True)
def _bounded_memory():
    """Requests beyond a few gigabytes are refused, on machines that would promise them, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (4 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(autouse=True)
def _no_warnings():
    """Resized outputs and the like warn, as they should."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(st.sampled_from(OPERATORS), st.randoms(use_true_random=False))
def test_any_operator(op, source):
    call(op, *Calls(source).arguments(op))


@pytest.mark.parametrize("part", range(8))
def test_every_operator(part):
    for number, op in enumerate(OPERATORS[part::8]):
        for repeat in range(2):
            source = random.Random(f"{op} {number} {repeat}")
            call(op, *Calls(source).arguments(op))


@pytest.mark.parametrize("part", range(4))
def test_some_operators_recorded(part):
    for number, op in enumerate(OPERATORS[part::32]):
        source = random.Random(f"{op} {number} recorded")
        call_recorded(op, *Calls(source).arguments(op), source)


@pytest.mark.parametrize("part", range(4))
def test_some_operators_in_modes_and_transformations(part):
    for number, op in enumerate(OPERATORS[part::32]):
        source = random.Random(f"{op} {number} transformed")
        transformed_call(op, *Calls(source).arguments(op), source)
