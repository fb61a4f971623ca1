"""Calls that torch refuses are refused here, with the same type of exception and our own words."""

from __future__ import annotations

import re
import warnings

import pytest
import torch
import torch.nn.utils.rnn
import torch.testing
from wrong_calls import CALLS

import aten

# Accepted there, for here the names are not; or refused by torch for what it was built without.
ACCEPTED_BY_TORCH = "accepted"


def outcome(call: str, library: object) -> BaseException | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(call, {"P": library, "F": library.nn.functional})  # type: ignore[attr-defined]
        except Exception as error:
            return error
    return None


@pytest.fixture(autouse=True)
def _settings_stay():
    states = [(lib.get_default_dtype(), lib.get_num_threads()) for lib in (torch, aten)]
    yield
    for lib, (element, threads) in zip((torch, aten), states, strict=True):
        lib.set_default_dtype(element)
        lib.set_num_threads(threads)
        lib.set_default_device(None)


@pytest.mark.parametrize("call", CALLS)
def test_the_type_of_the_exception(call):
    expected = outcome(call, torch)
    assert expected is not None, "torch takes it"
    found = outcome(call, aten)
    assert isinstance(found, type(expected)) or type(expected) in EQUIVALENT.get(type(found), ())
    assert str(found), "an error without words"
    assert "_core" not in str(found)


# Of ours, which types of torch's one stands for: torch's classes of its own.
EQUIVALENT = {aten.linalg.LinAlgError: (torch.linalg.LinAlgError,)}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("P.relu(3)", "relu(): argument 'input' (position 1) must be Tensor, not int"),
        ("P.relu(input=3)", "relu(): argument 'input' must be Tensor, not int"),
        ("P.relu(x=3)", "relu(): argument 'x' must be Tensor, not int"),
        ("P.relu()", 'relu() missing 1 required argument: "input"'),
        ("P.ones(2).softmax('a')", "argument 'dim' (position 1) must be int, not str"),
        ("P.softmax(P.ones(2), 'a')", "argument 'dim' (position 2) must be int, not str"),
        ("P.softmax(P.ones(2), axis='a')", "argument 'axis' must be int, not str"),
        ("P.ones(2).relu(1, 2)", "relu() takes 0 positional arguments but 2 were given"),
        ("P.ones(2).foo", "'aten.Tensor' object has no attribute 'foo'"),
        ("P.ones(2) + 'a'", "unsupported operand type(s) for +: 'aten.Tensor' and 'str'"),
        ("P.linalg.inv(3)", "linalg_inv(): argument 'A' (position 1) must be Tensor, not int"),
    ],
)
def test_the_words_name_what_the_caller_wrote(call, words):
    text = re.sub(r"\s+", " ", str(outcome(call, aten)))
    assert words in text


def test_there_are_over_a_hundred():
    assert len(set(CALLS)) == len(CALLS) > 100
