"""Tensors from data against torch: sequences of every kind, NumPy's numbers, dtype arguments."""

import array
import collections

import numpy as np
import pytest
from comparison import compare

torch = pytest.importorskip("torch")


class Sequence:
    """A sequence that is none of Python's."""

    def __init__(self, *members):
        self.members = members

    def __len__(self):
        return len(self.members)

    def __getitem__(self, index):
        return self.members[index]


NUMBERS = {
    "float64 before float": lambda: [np.float64(2.5), 1.0],
    "float64 after float": lambda: [1.0, np.float64(2.5)],
    "float64 alone": lambda: np.float64(2.5),
    "float64 in a tuple": lambda: (np.float64(2.5),),
    "float64 beside int, nested": lambda: [[np.float64(2.5)], [1]],
    "float32": lambda: [np.float32(2.5), 1.0],
    "float32 and float64": lambda: [np.float32(2.5), np.float64(1)],
    "float16": lambda: [np.float16(2.5), 1],
    "complex128": lambda: [np.complex128(1 + 2j)],
    "complex128 and float32": lambda: [np.complex128(1), np.float32(1)],
    "complex64 and float": lambda: [np.complex64(1), 1.5],
    "int8 and int": lambda: [np.int8(2), 1],
    "uint8 and int8": lambda: [np.uint8(2), np.int8(1)],
    "bool": lambda: [np.bool_(True)],
    "uint16 and int": lambda: [np.uint16(2), 1],
    "elements of an array": lambda: list(np.ones(3)),
    "rows of an array": lambda: list(np.ones((2, 2), "f4")),
    "longdouble": lambda: [np.longdouble(1)],
    "datetime64": lambda: [np.datetime64(1, "s")],
    "str_": lambda: [np.str_("a")],
    "str_ alone": lambda: np.str_("a"),
}
SEQUENCES = {
    "range": lambda: range(4),
    "empty range": lambda: range(0),
    "ranges": lambda: [range(2), range(2, 4)],
    "a range and floats": lambda: (range(2), [1.0, 2.0]),
    "deque": lambda: collections.deque([1, 2.0]),
    "bytearray": lambda: bytearray(b"ab"),
    "bytes": lambda: b"ab",
    "memoryview": lambda: memoryview(b"ab"),
    "empty memoryview": lambda: memoryview(b""),
    "memoryview of doubles": lambda: memoryview(array.array("d", [1, 2])),
    "memoryview of two dimensions": lambda: memoryview(bytearray(4)).cast("B", (2, 2)),
    "memoryview and list": lambda: [memoryview(b"ab"), [1, 2]],
    "array of floats": lambda: array.array("f", [1, 2]),
    "array of ints": lambda: array.array("i", [1, 2]),
    "arrays in a list": lambda: [array.array("i", [1, 2]), array.array("i", [3, 4])],
    "a sequence of one's own": lambda: Sequence(1.5, 2),
    "nested sequences of one's own": lambda: [Sequence(1, 2), Sequence(3, 4)],
    "an empty sequence": lambda: Sequence(),
    "generator": lambda: (number for number in [1]),
    "map": lambda: map(int, [1]),
    "iterator": lambda: iter([1]),
    "set": lambda: {1, 2},
    "dict": lambda: {1: 2},
    "keys": lambda: {1: 2}.keys(),
    "None": lambda: None,
    "object": lambda: [object()],
    "text": lambda: "a",
    "text in a list": lambda: ["a"],
    "number and list": lambda: [1, [2]],
    "list and number": lambda: [[1], 2],
    "range and number": lambda: [range(2), 2],
    "range too long": lambda: [[1, 2], range(3)],
    "empty lists": lambda: [[], []],
    "an empty list first": lambda: [[], [1]],
    "an empty list beside int32": lambda: [np.array([], "i4"), []],
    "fraction below zero": lambda: [-0.5],
    "not a number": lambda: [float("nan")],
}
DTYPES = ["bool", "uint8", "uint16", "int32", "float32", "float64", "complex64"]


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays")
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_numpy_keep_their_type(name):
    compare(lambda library: library.tensor(NUMBERS[name]()))
    compare(lambda library: library.as_tensor(NUMBERS[name]()))
    compare(lambda library: library.asarray(NUMBERS[name]()))


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name):
    compare(lambda library: library.tensor(SEQUENCES[name]()))
    compare(lambda library: library.as_tensor(SEQUENCES[name]()))
    compare(lambda library: library.ones(1).new_tensor(SEQUENCES[name]()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_a_given_dtype(name, dtype):
    compare(lambda library: library.tensor(SEQUENCES[name](), dtype=getattr(library, dtype)))


def test_nested_bytes_are_text():
    compare(lambda library: library.tensor([b"ab"]))


TENSORS = {
    "one of one element": lambda t: t.tensor([t.tensor([1.0])]),
    "several of one element": lambda t: t.tensor([t.tensor([[1.0]]), t.tensor(2)]),
    "of one element and a number": lambda t: t.tensor([t.tensor([1.0]), 2]),
    "of no dimensions": lambda t: t.tensor([t.tensor(1.0, dtype=t.float64), 2.0]),
    "nested": lambda t: t.tensor([[t.tensor([1.0])], [2]]),
    "of two elements": lambda t: t.tensor([t.tensor([1.0, 2.0]), t.tensor([2.0, 3.0])]),
    "of none": lambda t: t.tensor([t.ones(0)]),
    "a size": lambda t: t.tensor(t.Size([2, 3])),
    "sizes": lambda t: t.tensor([t.Size([2, 3])]),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_among_numbers(name):
    compare(TENSORS[name])


BY_DTYPE = {
    "tensor": lambda t, d: t.tensor([1], dtype=d),
    "tensor of a tensor": lambda t, d: t.tensor(t.tensor(2.5).numpy(), dtype=d),
    "tensor of nothing": lambda t, d: t.tensor([], dtype=d),
    "as_tensor": lambda t, d: t.as_tensor([1], dtype=d),
    "as_tensor of an array": lambda t, d: t.as_tensor(np.ones(2), dtype=d),
    "as_tensor of a tensor": lambda t, d: t.as_tensor(t.ones(2), dtype=d),
    "asarray": lambda t, d: t.asarray([1, 2], dtype=d),
    "asarray of a range": lambda t, d: t.asarray(range(2), dtype=d),
    "asarray of bytes": lambda t, d: t.asarray(bytearray(b"\1\0\0\0\0\0\0\0" * 4), dtype=d),
    "asarray of a tensor": lambda t, d: t.asarray(t.ones(2), dtype=d),
    "new_tensor": lambda t, d: t.ones(2).new_tensor([1], dtype=d),
    "frombuffer": lambda t, d: t.frombuffer(bytearray(16), dtype=d),
}
NAMED = {
    "float": float,
    "int": int,
    "bool": bool,
    "complex": complex,
    "None": None,
    "text": "float32",
    "NumPy's": np.float32,
    "NumPy's dtype": np.dtype("f4"),
    "a number": 3,
    "another type": str,
}


@pytest.mark.parametrize("dtype", NAMED)
@pytest.mark.parametrize("name", BY_DTYPE)
def test_types_as_dtypes(name, dtype):
    compare(lambda library: BY_DTYPE[name](library, NAMED[dtype]))


BUFFERS = {
    "array of floats": lambda: array.array("f", [1, 2]),
    "array of ints": lambda: array.array("i", [1, 2]),
    "bytearray": lambda: bytearray(b"abcd"),
    "memoryview": lambda: memoryview(bytearray(b"abcd")),
    "deque": lambda: collections.deque([1]),
    "text": lambda: "abcd",
}


@pytest.mark.parametrize("name", BUFFERS)
def test_asarray_of_buffers(name):
    compare(lambda library: library.asarray(BUFFERS[name]()))
    compare(lambda library: library.asarray(BUFFERS[name](), dtype=library.int32))
    compare(lambda library: library.asarray(BUFFERS[name](), copy=False))


@pytest.mark.parametrize("data", [[1], "a", None, 3])
def test_frombuffer_of_what_is_no_buffer(data):
    compare(lambda library: library.frombuffer(data, dtype=library.float32))


def test_pinned_memory_is_refused():
    compare(lambda library: library.tensor([1], pin_memory=True))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "bool", "float32"])
@pytest.mark.parametrize("value", [-1, -2.0, -0.5, -128.5, 200, 200.0, 255.5, 3e10, float("nan")])
def test_numbers_that_are_written_have_to_fit(dtype, value):
    """Negative integers wrap around in unsigned types, negative floats do not."""
    for write in (
        lambda library, x: x.fill_(value),
        lambda library, x: x.masked_fill(x == 0, value),
        lambda library, x: library.constant_pad_nd(x, (1, 1), value),
        lambda library, x: library.nn.functional.pad(x, (1, 1), value=value),
        lambda library, x: x.index_fill(0, library.tensor([1]), value),
    ):
        compare(write, torch.zeros(3, dtype=getattr(torch, dtype)))
