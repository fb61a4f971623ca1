"""Classes of Tensor's own: made by calling them, by views, copies and pickles."""

import copy
import pickle

import pytest

import aten
from aten import Tensor


class Plain(Tensor):
    pass


class Named(Tensor):
    """Its constructor asks for more than data, as those of users do."""

    def __new__(cls, data, name):
        return Tensor.__new__(cls, data)

    def __init__(self, data, name):
        self.name = name


def test_calls_of_a_subclass_make_it():
    assert type(Plain([1.0, 2.0])) is Plain
    assert Plain([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert Plain(2, 3).shape == (2, 3)
    assert Plain().shape == (0,)


def test_a_constructor_with_more_arguments():
    made = Named([1, 2], name="row")
    assert (type(made), made.tolist(), made.name) == (Named, [1.0, 2.0], "row")
    assert type(aten.ones(2).as_subclass(Named)) is Named


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_do_not_construct_anew(copied):
    made = copied(Named([1, 2], name="row"))
    assert (type(made), made.tolist(), made.name) == (Named, [1.0, 2.0], "row")


def test_copies_of_what_is_empty_or_of_the_default_type(monkeypatch):
    aten.set_default_dtype(aten.float64)
    try:
        assert Plain().dtype is aten.float64
        assert aten.ones(2, dtype=aten.int32).as_subclass(Plain).dtype is aten.int32
    finally:
        aten.set_default_dtype(aten.float32)


def test_types_are_printed_by_their_public_name():
    assert repr(aten.FloatTensor) == "<class 'aten.FloatTensor'>"
    assert aten.ones(1).type() == "aten.FloatTensor"


def test_a_constructor_that_fails_leaves_nothing_behind():
    with pytest.raises(TypeError, match="data must be a sequence"):
        Plain(2.5)
    assert Plain([1]).tolist() == [1.0]
