"""Memory shared with other libraries, and kept alive as long as anyone uses it."""

import copy
import gc
import pickle

import numpy
import pytest

import aten


def test_numpy_arrays_outlive_their_names() -> None:
    tensor = aten.from_numpy(numpy.arange(1000))
    gc.collect()
    assert int(tensor.sum()) == 499500
    array = aten.arange(1000).numpy()
    gc.collect()
    assert array.sum() == 499500


def test_storages_are_buffers() -> None:
    tensor = aten.arange(4, dtype=aten.int32)
    view = memoryview(tensor.untyped_storage())
    assert view.nbytes == 16
    view[0] = 7
    assert tensor.tolist() == [7, 1, 2, 3]
    with pytest.raises(BufferError):
        memoryview(aten.empty(2, device="meta").untyped_storage())


def test_bad_pickles_raise() -> None:
    from aten.copying import rebuild

    storage = aten.zeros(4).untyped_storage()
    with pytest.raises(ValueError, match="reach"):
        rebuild(storage, aten.float32, (5,), (1,), 0)
    with pytest.raises(ValueError, match="negative"):
        rebuild(storage, aten.float32, (2,), (-1,), 1)


def test_pickle_refuses_nothing_it_made() -> None:
    for tensor in (aten.zeros(0), aten.tensor(3), aten.zeros(2, 3).t(), aten.zeros(1).expand(4)):
        again = pickle.loads(pickle.dumps(tensor))
        assert again.tolist() == tensor.tolist()
        assert again.stride() == tensor.stride()


def test_frombuffer_shares_writable_memory() -> None:
    memory = bytearray(8)
    tensor = aten.frombuffer(memory, dtype=aten.uint8)
    tensor[3] = 9
    assert memory[3] == 9
    with pytest.raises(BufferError):
        memory.extend(b"more")


class Marked(aten.Tensor):
    pass


def test_pickle_and_copies_keep_class_attributes_and_laziness() -> None:
    x = aten.tensor([1 + 2j]).conj().as_subclass(Marked)
    x.note = "kept"
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert type(made) is Marked
        assert made.note == "kept"
        assert made.is_conj()
        assert made.tolist() == [1 - 2j]


def test_memory_in_use_elsewhere_does_not_move() -> None:
    x = aten.arange(4)
    view = memoryview(x.untyped_storage())
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(1000)
    view.release()
    capsule = x.__dlpack__()
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(1000)
    del capsule
    assert x.resize_(1000)[:4].tolist() == [0, 1, 2, 3]


def test_lazy_memory_is_not_handed_out() -> None:
    x = aten.tensor([1 + 2j]).conj()
    with pytest.raises(BufferError, match="resolve_conj"):
        x.__dlpack__()
    with pytest.raises(RuntimeError, match="resolve_conj"):
        x.view(aten.complex64).view(aten.float32)
    assert x.resolve_conj().tolist() == [1 - 2j]


def test_parts_are_written_by_assignment() -> None:
    x = aten.tensor([1 + 2j])
    x.real, x.imag = aten.tensor([5.0]), aten.tensor([6.0])
    assert x.tolist() == [5 + 6j]
    x.data = aten.tensor([7j, 8j])
    assert x.tolist() == [7j, 8j]


@pytest.mark.parametrize(
    "share",
    [
        numpy.asarray,
        lambda x: x.numpy(),
        numpy.from_dlpack,
        lambda x: numpy.frombuffer(x.untyped_storage(), "f4"),
    ],
    ids=["asarray", "numpy", "dlpack", "buffer"],
)
def test_memory_that_an_array_shows_stays_where_it_is(share):
    x = aten.ones(1000)
    array = share(x)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(10_000)
    x.set_(aten.zeros(3))
    assert array.sum() == 1000
