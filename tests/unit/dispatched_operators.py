"""Operators of their own for tests of dispatch, and what serves them."""

import array
import itertools
from pathlib import Path

from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.making import tensor_from_buffer

GOLDEN = Path(__file__).parent.parent / "golden"
# What a kernel of it returns says which one was called, and with what.
SCALE = "scale(Tensor x, float by=2.0, *, bool negate=False) -> Any"

names = (f"operator_{number}" for number in itertools.count())


def make_tensor():
    return tensor_from_buffer(array.array("f", [1, 2, 3, 4]), DTYPES["float32"], [4])


def make_operator(schema=SCALE):
    """An operator of its own namespace, so that no two tests share registrations."""
    name, _, overload = schema.partition("(")[0].partition(".")
    return OpOverload(next(names), name, overload, schema)


def answer(value):
    return lambda *args, **kwargs: value


def named(name):
    function = answer(name)
    function.__qualname__ = name
    return function
