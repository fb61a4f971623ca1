"""What Python asks of a tensor, number by number, and the containers results come in."""

import math

import pytest
from comparison import compare, from_torch

import aten

torch = pytest.importorskip("torch")

CONVERSIONS = {
    "float": float,
    "int": int,
    "complex": lambda x: repr(complex(x)),
    "bool": bool,
    "index": lambda x: x.__index__(),
    "in a list": lambda x: ["zero", "one", "two"][x],
    "range": lambda x: [*range(x)],
    "sqrt": math.sqrt,
    "floor": math.floor,
    "percent": lambda x: f"{float(x):.2f}",
    "item": lambda x: repr(x.item()),
}
VALUES = {
    "two": lambda t: t.ones(2),
    "none": lambda t: t.ones(0),
    "two ints": lambda t: t.arange(2),
    "a number": lambda t: t.tensor(2.0),
    "an int": lambda t: t.tensor(2),
    "a bool": lambda t: t.tensor(True),
    "one in a row": lambda t: t.tensor([[2]]),
    "half": lambda t: t.tensor(2.5, dtype=t.float16),
    "infinity": lambda t: t.tensor(math.inf),
    "NaN": lambda t: t.tensor(math.nan),
    "complex": lambda t: t.tensor(1 + 2j),
    "complex that is real": lambda t: t.tensor(2 + 0j),
    "complex NaN": lambda t: t.tensor(complex(1, math.nan)),
    "meta": lambda t: t.ones((), device="meta"),
    "meta int": lambda t: t.ones((), device="meta", dtype=t.int64),
    "two on meta": lambda t: t.ones(2, device="meta"),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(name, value):
    compare(lambda t: CONVERSIONS[name](VALUES[value](t)))


SEVERAL = {
    "where": lambda t, x: t.where(x),
    "where of no dimensions": lambda t, x: t.where(x[0, 0]),
    "nonzero": lambda t, x: t.nonzero(x, as_tuple=True),
    "nonzero method": lambda t, x: x.nonzero(as_tuple=True),
    "gradient": lambda t, x: t.gradient(x),
    "gradient of a dim": lambda t, x: t.gradient(x, dim=0),
    "gradient of dims": lambda t, x: t.gradient(x, dim=(0, 1)),
    "gradient with spacing": lambda t, x: t.gradient(x, spacing=2.0),
    "gradient with spacings": lambda t, x: t.gradient(x, spacing=(1.0, 2.0)),
    "gradient of coordinates": lambda t, x: t.gradient(x, spacing=(t.arange(2), t.arange(3))),
    "gradient of dims with spacing": lambda t, x: t.gradient(x, spacing=2.0, dim=(0, 1)),
    "bin edges": lambda t, x: t.histogramdd(x, [2, 2, 2])[1],
    "split": lambda t, x: t.split(x, 1),
    "chunk": lambda t, x: x.chunk(2),
    "unbind": lambda t, x: x.unbind(1),
    "tensor_split": lambda t, x: t.tensor_split(x, 2),
    "hsplit": lambda t, x: t.hsplit(x, 3),
    "meshgrid": lambda t, x: t.meshgrid(x[0], x[1], indexing="ij"),
    "broadcast_tensors": lambda t, x: t.broadcast_tensors(x, x[0]),
    "atleast_2d": lambda t, x: t.atleast_2d(x, x[0]),
    "unravel_index": lambda t, x: t.unravel_index(t.tensor([3, 1]), (2, 2)),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_containers(name):
    x = torch.tensor([[1.0, 0.0, 4.0], [2.0, 3.0, 0.0]])
    compare(lambda t, x: type(SEVERAL[name](t, x)), x)
    compare(lambda t, x: SEVERAL[name](t, x), x)


@pytest.mark.parametrize(
    "number", [9 + 0j, 1.5 - 2j, 9 - 0j, 3e10 + 0j, complex(1, math.inf), complex(math.nan, 0.0)]
)
def test_zeros_below_the_axis_in_print(number):
    for value in (torch.tensor([number]), torch.tensor([number, 2 + 1j])):
        assert repr(from_torch(value).conj()) == repr(value.conj()).replace("torch", "aten")
        assert repr(from_torch(value)) == repr(value).replace("torch", "aten")


def test_errors_say_how_many_elements_there_are():
    with pytest.raises(ValueError, match="can be converted to Python scalars, this has 2"):
        float(aten.ones(2))
