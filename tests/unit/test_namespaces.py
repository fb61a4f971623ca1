"""Modules that look their names up at once are modules in every other way."""

import copy
import importlib
import inspect
import pickle
import types

import pytest

import aten
from aten._core.base.namespaces import Namespace, look_up_at_once

QUICK = (aten, aten.nn, aten.nn.functional, aten.linalg, aten.fft, aten.special)


@pytest.mark.parametrize("module", QUICK, ids=lambda module: module.__name__)
def test_they_are_modules(module):
    assert type(module) is Namespace
    assert isinstance(module, types.ModuleType)
    assert inspect.ismodule(module)
    assert importlib.import_module(module.__name__) is module
    assert repr(module).startswith(f"<module '{module.__name__}' from ")
    assert module.__dict__ is vars(module)
    assert pickle.loads(pickle.dumps(module)) is module
    assert copy.deepcopy(module) is module


@pytest.fixture
def made():
    module = types.ModuleType("made", "For tests.")
    module.there = 1
    look_up_at_once(module)
    return module


def test_names_are_the_dictionary_s(made):
    assert made.there == 1
    made.there = 2
    assert made.there == vars(made)["there"] == 2
    del made.there
    with pytest.raises(AttributeError, match="module 'made' has no attribute 'there'"):
        made.there  # noqa: B018
    assert made.__doc__ == "For tests."
    assert made.__class__ is Namespace


def test_what_is_not_there_is_asked_for(made):
    asked = []

    def find(name):
        asked.append(name)
        if name == "fails":
            raise ValueError(name)
        return name

    made.__getattr__ = find
    assert made.there == 1
    assert (made.other, made.other) == ("other", "other")
    assert asked == ["other", "other"]
    with pytest.raises(ValueError, match="fails"):
        made.fails  # noqa: B018


def test_functions_of_them_are_copied_and_pickled():
    assert copy.copy(aten.add) is aten.add
    assert pickle.loads(pickle.dumps(aten.nn.functional.relu)) is aten.nn.functional.relu


@pytest.mark.parametrize("given", [3, None, "aten"])
def test_others_are_no_modules(given):
    with pytest.raises(TypeError):
        look_up_at_once(given)
