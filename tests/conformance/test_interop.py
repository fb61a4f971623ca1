"""Sharing memory with NumPy and torch, construction from data, pickling."""

import copy
import pickle

import ml_dtypes
import numpy
import pytest
from comparison import assert_same, compare

torch = pytest.importorskip("torch")

import aten  # noqa: E402

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
          "complex64", "complex128")  # fmt: skip


@pytest.mark.parametrize("name", [*DTYPES, "bfloat16"])
def test_dlpack_to_torch_and_back(name: str) -> None:
    element = aten.DTYPES[name] if hasattr(aten, "DTYPES") else getattr(aten, name)
    ours = aten.arange(12).view(3, 4).to(element)[1:, ::2]
    theirs = torch.from_dlpack(ours)
    assert_same(ours, theirs.as_strided(theirs.size(), theirs.stride()), strides=False)
    assert theirs.data_ptr() == ours.data_ptr()
    assert theirs.stride() == ours.stride()
    back = aten.from_dlpack(theirs)
    assert back.data_ptr() == ours.data_ptr()
    assert back.stride() == ours.stride()
    assert back.tolist() == ours.tolist()


def test_dlpack_keeps_memory_alive() -> None:
    theirs = torch.from_dlpack(aten.arange(1000))
    del_candidates = [aten.zeros(1000, dtype=aten.int64) for _ in range(10)]
    assert theirs.sum().item() == 499500
    ours = aten.from_dlpack(torch.arange(1000))
    del_candidates += [torch.zeros(1000, dtype=torch.int64) for _ in range(10)]
    assert ours.sum().item() == 499500


@pytest.mark.parametrize("versioned", [True, False])
def test_capsules_are_used_once_or_dropped(versioned: bool) -> None:
    tensor = aten.arange(4)
    capsule = tensor.__dlpack__(max_version=(1, 0) if versioned else None)
    assert aten.from_dlpack(capsule).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="not consumed"):
        aten.from_dlpack(capsule)
    tensor.__dlpack__(max_version=(1, 0) if versioned else None)  # nobody takes it


def test_dlpack_of_numpy() -> None:
    array = numpy.arange(6.0).reshape(2, 3).T
    tensor = aten.from_dlpack(array)
    array[0, 0] = 9
    assert tensor.tolist() == array.tolist()
    assert numpy.from_dlpack(tensor).tolist() == array.tolist()
    frozen = numpy.arange(3)
    frozen.flags.writeable = False
    aten.from_dlpack(frozen)[0] = 7
    assert frozen.tolist() == [0, 1, 2]


def test_dlpack_refuses() -> None:
    with pytest.raises(BufferError):
        aten.from_dlpack(numpy.arange(3)[::-1])
    with pytest.raises(BufferError):
        aten.empty(2, device="meta").__dlpack__()
    with pytest.raises(BufferError):
        aten.zeros(2).__dlpack__(stream=1)
    with pytest.raises(RuntimeError):
        aten.from_dlpack(3)
    assert aten.zeros(2).__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_shares_memory(name: str) -> None:
    array = numpy.arange(6).reshape(2, 3).astype(name)[:, ::2]
    tensor = aten.from_numpy(array)
    assert tensor.dtype.name == name
    assert tensor.tolist() == array.tolist()
    array[1, 1] = 0
    assert tensor.tolist() == array.tolist()
    assert numpy.shares_memory(tensor.numpy(), array)
    assert numpy.asarray(tensor).strides == array.strides


def test_numpy_extension_types() -> None:
    tensor = aten.tensor([1.5, -2.0]).bfloat16()
    array = tensor.numpy()
    assert array.dtype == ml_dtypes.bfloat16
    array[0] = 4
    assert tensor.tolist() == [4.0, -2.0]
    assert aten.from_numpy(array).dtype is aten.bfloat16
    assert aten.tensor(array).tolist() == [4.0, -2.0]


def test_numpy_errors() -> None:
    for expression in (
        lambda t: t.from_numpy([1, 2]),
        lambda t: t.from_numpy(numpy.array(["a"])),
        lambda t: t.from_numpy(numpy.arange(3)[::-1]),
        lambda t: t.empty(2, device="meta").numpy(),
    ):
        compare(expression)


TENSORS = {
    "float": lambda t: t.tensor(1.5),
    "int": lambda t: t.tensor(3),
    "bool": lambda t: t.tensor(True),
    "complex": lambda t: t.tensor(1j),
    "nested": lambda t: t.tensor([[1, 2], [3, 4]]),
    "mixed": lambda t: t.tensor([1, 2.5]),
    "bools and ints": lambda t: t.tensor([True, 2]),
    "empty": lambda t: t.tensor([]),
    "empty nested": lambda t: t.tensor([[], []]),
    "ragged": lambda t: t.tensor([[1], [2, 3]]),
    "ragged depth": lambda t: t.tensor([1, [2]]),
    "text": lambda t: t.tensor("abc"),
    "texts": lambda t: t.tensor(["abc"]),
    "none": lambda t: t.tensor(None),
    "dtype": lambda t: t.tensor([1, 2], dtype=t.float64),
    "truncated": lambda t: t.tensor([1.9, -1.9], dtype=t.int32),
    "too large": lambda t: t.tensor(300, dtype=t.uint8),
    "tuple": lambda t: t.tensor((1.0, 2.0)),
    "array": lambda t: t.tensor(numpy.arange(3, dtype=numpy.int16)),
    "array dtype": lambda t: t.tensor(numpy.arange(3), dtype=t.float32),
    "numpy number": lambda t: t.tensor(numpy.float64(2.5)),
    "list of numpy numbers": lambda t: t.tensor([numpy.int32(1), numpy.int32(2)]),
    "meta": lambda t: t.tensor([1.0, 2.0], device="meta"),
    "as_tensor list": lambda t: t.as_tensor([1, 2]),
    "as_tensor dtype": lambda t: t.as_tensor([1, 2], dtype=t.float16),
    "asarray list": lambda t: t.asarray([1.0, 2.0]),
    "asarray no copy": lambda t: t.asarray([1.0, 2.0], copy=False),
    "is_tensor": lambda t: (t.is_tensor(t.ones(1)), t.is_tensor(1)),
    "frombuffer": lambda t: t.frombuffer(bytearray(range(16)), dtype=t.int32, count=2, offset=4),
    "frombuffer beyond": lambda t: t.frombuffer(bytearray(4), dtype=t.int32, count=2),
    "frombuffer uneven": lambda t: t.frombuffer(bytearray(5), dtype=t.int32),
}


@pytest.mark.parametrize("name", TENSORS)
def test_construction(name: str) -> None:
    compare(TENSORS[name])


def test_what_shares_memory_and_what_copies() -> None:
    def expression(t):
        array, tensor = numpy.arange(3.0), t.arange(3.0)
        made = [
            t.as_tensor(array), t.asarray(array), t.tensor(array), t.asarray(array, copy=True),
            t.as_tensor(array, dtype=t.float32),
        ]  # fmt: skip
        array[0] = 9
        shared = [t.as_tensor(tensor) is tensor, t.asarray(tensor) is tensor]
        return [one[0].item() for one in made], shared

    compare(expression)


# Not float8_e5m2fnuz, of which torch reports half the distance between numbers.
FINFO = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "complex64",
         "float8_e4m3fnuz")  # fmt: skip


@pytest.mark.parametrize("name", FINFO)
def test_finfo(name: str) -> None:
    mine, theirs = aten.finfo(getattr(aten, name)), torch.finfo(getattr(torch, name))
    for attribute in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(mine, attribute) == pytest.approx(getattr(theirs, attribute), rel=1e-12)
    assert mine.dtype == theirs.dtype


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo(name: str) -> None:
    mine, theirs = aten.iinfo(getattr(aten, name)), torch.iinfo(getattr(torch, name))
    assert (mine.bits, mine.max, mine.min) == (theirs.bits, theirs.max, theirs.min)
    assert mine.dtype == theirs.dtype


def test_limits_of_the_wrong_dtypes() -> None:
    compare(lambda t: t.finfo(t.int32))
    compare(lambda t: t.iinfo(t.float32))


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickle_keeps_values_layout_and_sharing(protocol: int) -> None:
    base = aten.arange(12.0).view(3, 4)
    part, meta = base.t()[1:], aten.empty(2, 3, device="meta")
    again, part_again, meta_again = pickle.loads(pickle.dumps((base, part, meta), protocol))
    assert again.tolist() == base.tolist()
    assert (part_again.stride(), part_again.storage_offset()) == ((1, 4), 1)
    assert (meta_again.device.type, tuple(meta_again.shape)) == ("meta", (2, 3))
    part_again.fill_(5)
    assert again[0].tolist() == [0.0, 5.0, 5.0, 5.0]
    assert base[0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_pickle_out_of_band() -> None:
    tensor = aten.arange(6)
    buffers: list = []
    text = pickle.dumps(tensor, protocol=5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    again = pickle.loads(text, buffers=[bytearray(buffers[0].raw())])
    assert again.tolist() == tensor.tolist()


@pytest.mark.parametrize("dtype", ["bfloat16", "bool", "complex64"])
def test_pickle_dtypes(dtype: str) -> None:
    tensor = aten.arange(3).to(getattr(aten, dtype))
    again = pickle.loads(pickle.dumps(tensor))
    assert again.dtype is tensor.dtype
    assert again.tolist() == tensor.tolist()


def test_copies() -> None:
    def expression(t):
        base = t.arange(6.0).view(2, 3)
        part = base[1]
        shallow = copy.copy(base)
        deep, deep_part = copy.deepcopy([base, part])
        base.fill_(0)
        deep_part.fill_(7)
        return shallow, deep, deep_part

    compare(expression)
