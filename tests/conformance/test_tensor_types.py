"""Tensors made by calling types, and conversion to types by name, against torch."""

import array
import collections

import numpy as np
import pytest
from comparison import compare

torch = pytest.importorskip("torch")

NAMES = [
    *("FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "ByteTensor"),
    *("CharTensor", "ShortTensor", "IntTensor", "LongTensor", "BoolTensor"),
]
OF_DATA = {
    "nothing": lambda t, made: made(),
    "floats": lambda t, made: made([1.0, 2.5]),
    "ints": lambda t, made: made([1, 0]),
    "a tuple": lambda t, made: made((1, 2)),
    "bools": lambda t, made: made([True, False]),
    "nested": lambda t, made: made([[1, 2], [3, 4]]),
    "empty": lambda t, made: made([]),
    "empty tuple": lambda t, made: made(()),
    "empty lists": lambda t, made: made([[[]]]),
    "zero": lambda t, made: made(0),
    "by keyword": lambda t, made: made(data=[1, 2]),
    "an array": lambda t, made: made(np.ones(3)),
    "an array of ints": lambda t, made: made(np.arange(3, dtype="i4")),
    "an array of no dimensions": lambda t, made: made(np.array(3.0)),
    "an array of one number": lambda t, made: made(np.array([3])),
    "a range": lambda t, made: made(range(3)),
    "a deque": lambda t, made: made(collections.deque([1, 2])),
    "a bytearray": lambda t, made: made(bytearray(b"ab")),
    "another array": lambda t, made: made(array.array("f", [1, 2])),
    "on the CPU": lambda t, made: made([1, 2], device="cpu"),
    "float": lambda t, made: made(2.5),
    "bool": lambda t, made: made(True),
    "None": lambda t, made: made(None),
    "text": lambda t, made: made("a"),
    "bytes": lambda t, made: made(b"ab"),
    "text inside": lambda t, made: made(["a"]),
    "None inside": lambda t, made: made([None]),
    "generator": lambda t, made: made(number for number in [1]),
    "dict": lambda t, made: made({1: 2}),
    "set": lambda t, made: made({1, 2}),
    "ragged": lambda t, made: made([[1, 2], [3]]),
    "number and list": lambda t, made: made([1, [2]]),
    "a float of NumPy's": lambda t, made: made(np.float64(3)),
    "dtype": lambda t, made: made([1.0], dtype=t.float32),
    "unknown keyword": lambda t, made: made(2, unknown=1),
    "sizes": lambda t, made: made(sizes=(2, 3)),
    "two keywords": lambda t, made: made(size=(2,), data=[1]),
    "two lists": lambda t, made: made([2], [3]),
    "a tuple and an int": lambda t, made: made((2,), 3),
    "meta": lambda t, made: made([2], device="meta"),
    "meta sizes": lambda t, made: made(2, device="meta"),
    "no device like that": lambda t, made: made(2, device="cuda"),
    "large": lambda t, made: made([1 << 40]),
    "negative": lambda t, made: made([-1]),
    "a tensor of another type": lambda t, made: made(t.ones(2, dtype=t.complex64)),
    "a tensor elsewhere": lambda t, made: made(t.ones(2, device="meta")),
    "two tensors": lambda t, made: made(t.ones(2), t.ones(2)),
    "a keyword tensor": lambda t, made: made(other=made([1, 2])),
}
OF_SIZES = {
    "ints": lambda t, made: made(2, 3),
    "one": lambda t, made: made(3),
    "an int of NumPy's": lambda t, made: made(np.int64(3)),
    "an array that is an int": lambda t, made: made(np.array(3)),
    "a size": lambda t, made: made(t.Size([2, 3])),
    "size=": lambda t, made: made(size=(2, 3)),
    "size= a list": lambda t, made: made(size=[2]),
    "tensors": lambda t, made: made(t.tensor(3), t.tensor(2)),
    "a tensor after": lambda t, made: made(3, t.tensor(2)),
    "device": lambda t, made: made(2, device="cpu"),
    "negative": lambda t, made: made(-1),
    "negative later": lambda t, made: made(2, -3),
    "a float": lambda t, made: made(3, 2.5),
    "a bool": lambda t, made: made(3, True),
    "a bool first": lambda t, made: made(True, 3),
    "too large": lambda t, made: made(10**30),
    "too many": lambda t, made: made(1 << 62, 1 << 62),
}


def _types(library):
    class Own(library.Tensor):
        pass

    yield library.Tensor
    yield Own
    yield from (getattr(library, name) for name in NAMES)


@pytest.mark.parametrize("number", range(len(NAMES) + 2))
@pytest.mark.parametrize("name", OF_DATA)
def test_data(name, number):
    compare(lambda t: OF_DATA[name](t, [*_types(t)][number]))


@pytest.mark.parametrize("number", range(len(NAMES) + 2))
@pytest.mark.parametrize("name", OF_SIZES)
def test_sizes(name, number):
    compare(lambda t: _described(OF_SIZES[name](t, [*_types(t)][number])))


def _described(made):
    return [*made.shape], str(made.dtype).rpartition(".")[2], made.stride(), made.device.type


@pytest.mark.parametrize("name", [*OF_DATA])
@pytest.mark.parametrize("element", ["float32", "float64", "int64", "complex64", "uint16", "bool"])
def test_new(name, element):
    compare(lambda t: OF_DATA[name](t, t.ones(1, dtype=getattr(t, element)).new))


def test_new_elsewhere():
    compare(lambda t: t.ones(1, device="meta").new(2))
    compare(lambda t: t.ones(1, device="meta").new([2]))
    compare(lambda t: t.ones(1, device="meta").new(2, device="cpu"))
    compare(lambda t: t.ones(1).new(2, device="meta"))


def test_tensors_share_their_memory():
    def shared(t):
        given = t.tensor([1.0, 2.0])
        for made in (t.Tensor, t.FloatTensor, given.new):
            made(given)[0] = made(given)[0] + 1
        return given, t.Tensor(given[1:].untyped_storage())

    compare(shared)


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_default_types():
    def made(t):
        try:
            t.set_default_tensor_type(t.DoubleTensor)
            first = t.Tensor([1]), t.Tensor(), t.FloatTensor([1]), t.get_default_dtype()
            t.set_default_tensor_type("torch.HalfTensor")
            return first, t.Tensor([1]), t.Tensor(0), t.ones(1, dtype=t.float64).type(t.Tensor)
        finally:
            t.set_default_dtype(t.float32)

    compare(made)
    compare(lambda t: t.set_default_tensor_type(t.LongTensor))
    compare(lambda t: t.set_default_tensor_type(3))


def test_instances():
    def judged(t):
        class Own(t.Tensor):
            pass

        values = [
            *(t.ones(1, dtype=getattr(t, name)) for name in ("float32", "float64", "int64")),
            *(t.ones(1, dtype=getattr(t, name)) for name in ("bool", "uint16", "complex64")),
            t.ones(1, device="meta"),
            t.ones(1).as_subclass(Own),
            Own([1.0]),
            3,
            None,
        ]
        types = [getattr(t, name) for name in NAMES]
        return [[isinstance(value, one) for one in types] for value in values], [
            (issubclass(t.Tensor, one), issubclass(one, t.Tensor), isinstance(one, type))
            for one in types
        ]

    compare(judged)


@pytest.mark.parametrize("name", NAMES)
def test_what_types_say(name):
    def said(t):
        one = getattr(t, name)
        return (
            one.__name__,
            one.dtype,
            one.is_cuda,
            one.is_sparse,
            str(one.layout).partition(".")[2],
        )

    compare(said)


ELEMENTS = ["float32", "int64", "complex64", "complex128", "uint16", "float8_e5m2", "bool"]


@pytest.mark.parametrize("element", [*ELEMENTS, "bfloat16", "uint8", "int8", "int32", "float16"])
def test_type_names(element):
    def named(t):
        here = t.empty(1, dtype=getattr(t, element))
        elsewhere = t.empty(1, dtype=getattr(t, element), device="meta")
        return here.type().partition(".")[2], elsewhere.type().partition(".")[2]

    compare(named)
    compare(lambda t: t.ones(2).type(f"torch.{named(torch)[0]}"))


TO_TYPES = {
    **{name: lambda t, x, name=name: x.type(getattr(t, name)) for name in NAMES},
    "Tensor": lambda t, x: x.type(t.Tensor),
    "Tensor's name": lambda t, x: x.type("torch.Tensor"),
    "dtype": lambda t, x: x.type(t.int32),
    "keyword": lambda t, x: x.type(dtype=t.LongTensor, non_blocking=True),
    "same": lambda t, x: x.type(t.FloatTensor) is x,
    "no package": lambda t, x: x.type("LongTensor"),
    "nonsense": lambda t, x: x.type("torch.nonsense"),
    "of dtype": lambda t, x: x.type("torch.float32"),
    "CUDA": lambda t, x: x.type("torch.cuda.LongTensor"),
    "float": lambda t, x: x.type(float),
    "int": lambda t, x: x.type(int),
    "bool": lambda t, x: x.type(bool),
    "NumPy's": lambda t, x: x.type(np.float32),
    "number": lambda t, x: x.type(3),
    "object": lambda t, x: x.type(np.dtype("f4")),
}


@pytest.mark.parametrize("name", TO_TYPES)
def test_conversion(name):
    compare(lambda t: TO_TYPES[name](t, t.tensor([1.5, 0.0])))
