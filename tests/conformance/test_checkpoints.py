"""Checkpoints both ways with torch: types, views, containers, parameters, devices."""

from __future__ import annotations

import io
import pickle
from collections import Counter, OrderedDict

import pytest
from comparison import torch

import aten

ELEMENTS = [
    *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"),
    *("bool", "complex64", "complex128", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float8_e5m2"),
]


def from_theirs(value, **settings):
    """What aten reads of what torch writes."""
    file = io.BytesIO()
    torch.save(value, file)
    return aten.load(io.BytesIO(file.getvalue()), **settings)


def from_ours(value):
    """What torch reads, allowing nothing, of what aten writes."""
    file = io.BytesIO()
    aten.save(value, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=True)


@pytest.mark.parametrize("element", ELEMENTS)
def test_types_both_ways(element):
    numbers = [0, 1, 2, 3, 4, 5]
    theirs = torch.tensor(numbers).to(getattr(torch, element)).reshape(2, 3)
    ours = aten.tensor(numbers).to(getattr(aten, element)).reshape(2, 3)
    read, sent = from_theirs(theirs), from_ours(ours)
    for one, other in ((read, theirs), (ours, sent)):
        assert one.dtype.name == str(other.dtype).removeprefix("torch.") == element
        assert one.to(aten.complex128).tolist() == other.to(torch.complex128).tolist()


def tensors(library):
    base = library.arange(24.0).reshape(2, 3, 4)
    return {
        "whole": base,
        "turned": base.permute(2, 0, 1),
        "window": base[1, 1:, ::2],
        "expanded": base[:1, :1, :1].expand(2, 3, 4),
        "scalar": base[0, 0, 3],
        "empty": library.zeros(0, 3),
        "trained": library.ones(2, requires_grad=True),
        "parameter": library.nn.Parameter(library.ones(2, 2)),
        "frozen": library.nn.Parameter(library.ones(2), requires_grad=False),
        "conjugate": library.tensor([1 + 2j, 3j]).conj(),
        "negative": library.tensor([1 + 2j, 3j]).conj().imag,
        "nowhere": library.empty_strided((2, 3), (1, 2), device="meta"),
    }


@pytest.mark.parametrize("name", tensors(torch))
def test_tensors_both_ways(name):
    theirs, ours = tensors(torch)[name], tensors(aten)[name]
    for one, other in ((from_theirs(theirs), theirs), (ours, from_ours(ours))):
        assert type(one).__name__ == type(other).__name__
        assert tuple(one.shape) == tuple(other.shape)
        assert tuple(one.stride()) == tuple(other.stride())
        assert one.requires_grad == other.requires_grad
        assert (one.is_conj(), one.is_neg()) == (other.is_conj(), other.is_neg())
        assert one.device.type == other.device.type
        if name != "nowhere":
            assert one.storage_offset() == other.storage_offset()
            assert one.tolist() == other.tolist()


def test_views_share_memory_again():
    for library, carry in ((torch, from_theirs), (aten, from_ours)):
        base = library.arange(6.0)
        read = carry([base, base[2:], base.view(2, 3).t(), base.clone()])
        read[0][3] = 40
        assert read[1][1].item() == read[2][0, 1].item() == 40
        assert read[3][3].item() == 3


def test_one_memory_of_two_types():
    base = aten.arange(4, dtype=aten.float32)
    for listed in ([base, base.view(aten.int32)], [base.view(aten.uint16), base]):
        read = from_ours(listed)
        assert [one.tolist() for one in read] == [one.tolist() for one in listed]
        assert read[0].untyped_storage().data_ptr() == read[1].untyped_storage().data_ptr()
        file = io.BytesIO()
        aten.save(listed, file)
        again = aten.load(io.BytesIO(file.getvalue()))
        again[0].zero_()
        assert again[1].tolist() == [0] * 4 if len(again[1]) == 4 else [0] * 8


def containers(library):
    shared = [1, 2]
    state = OrderedDict(a=1, b=library.ones(1))
    state._metadata = {"version": 1}
    return {
        "numbers": (0, -1, 255, 256, 1 << 31, -(1 << 31), 1 << 70, -(1 << 70), 1.5, 2j, True),
        "texts": ["", "ä€😀", "a" * 300, b"", b"\x00\xff", bytearray(b"12")],
        "nothing": (None, (), [], {}, set()),
        "nested": {"a": [(1, ({"b": (1,)},))], 3: {(1, "x"): None}, None: {1, "a", 2.5}},
        "shared": [shared, shared],
        "names": [library.Size((2, 3)), library.float16, library.bool, library.device("cpu")],
        "states": [state, Counter("aab")],
    }


@pytest.mark.parametrize("name", containers(torch))
def test_containers_both_ways(name):
    theirs, ours = containers(torch)[name], containers(aten)[name]
    if name != "states":
        assert repr(from_theirs(theirs)).replace("aten.", "torch.") == repr(theirs)
        assert repr(from_ours(ours)) == repr(ours).replace("aten.", "torch.")
    if name == "shared":
        for read in (from_theirs(theirs), from_ours(ours)):
            assert read[0] is read[1]
    if name == "states":
        for read in (from_theirs(theirs), from_ours(ours)):
            assert list(read[0]) == ["a", "b"]
            assert type(read[0]) is OrderedDict
            assert read[0]._metadata == {"version": 1}
            assert read[1] == Counter("aab")


def test_lists_within_themselves():
    given: list = [1]
    given.append(given)
    read = from_theirs(given)
    assert read[1] is read
    sent = from_ours(given)
    assert sent[1] is sent


def test_buffers_and_attributes():
    read = from_theirs(torch.nn.Buffer(torch.ones(2)))
    assert read.tolist() == [1, 1]
    marked = torch.nn.Parameter(torch.ones(2))
    marked.group = "slow"
    read = from_theirs(marked)
    assert isinstance(read, aten.nn.Parameter)
    assert read.group == "slow"
    marked = aten.nn.Parameter(aten.ones(2))
    marked.group = "slow"
    assert from_ours(marked).group == "slow"


@pytest.mark.parametrize("library", [aten, torch])
def test_training_goes_on_in_the_other(library):
    other = torch if library is aten else aten
    carry = from_ours if library is aten else from_theirs

    def parts(library):
        nn = library.nn
        library.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.LSTM(4, 2))
        return model, library.optim.AdamW(model.parameters(), lr=0.1)

    def step(library, model, optimizer):
        rows = library.arange(12.0).reshape(4, 3)
        optimizer.zero_grad()
        loss = model(rows)[0].square().sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    first, second = parts(library), parts(other)
    step(library, *first)
    saved = {"model": first[0].state_dict(), "optimizer": first[1].state_dict(), "epoch": 1}
    read = carry(saved)
    second[0].load_state_dict(read["model"])
    second[1].load_state_dict(read["optimizer"])
    for _ in range(3):
        assert step(library, *first) == pytest.approx(step(other, *second), abs=1e-5)


def test_files_by_their_path(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": torch.arange(1000.0)}, path)
    for mapped in (False, True):
        read = aten.load(path, mmap=mapped)["a"]
        assert read.tolist() == list(range(1000))
        read.zero_()
    assert torch.load(path)["a"].sum() == 499500
    read = aten.load(str(path), weights_only=True, mmap=True)["a"]
    # What is replaced stays what it was.
    aten.save({"a": aten.zeros(2)}, path)
    assert read.sum().item() == 499500
    assert torch.load(path, mmap=True)["a"].tolist() == [0, 0]
    assert [one.name for one in tmp_path.iterdir()] == ["model.pt"]


def test_other_devices(monkeypatch):
    on_gpu = io.BytesIO()
    # What torch writes on a machine that has the device.
    monkeypatch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
    torch.save([torch.ones(2)], on_gpu)
    monkeypatch.undo()
    file = io.BytesIO(on_gpu.getvalue())
    with pytest.raises(RuntimeError, match=r'cuda:0.*map_location="cpu"'):
        aten.load(file)
    seen = []

    def place(storage, name):
        seen.append((len(storage), name))
        return storage

    for wanted in ("cpu", aten.device("cpu"), {"cuda:0": "cpu"}, place):
        file.seek(0)
        assert aten.load(file, map_location=wanted)[0].tolist() == [1, 1]
    assert seen == [(8, "cuda:0")]
    file.seek(0)
    assert aten.load(file, map_location="meta")[0].is_meta
    file.seek(0)
    with pytest.raises(TypeError, match="map_location"):
        aten.load(file, map_location=lambda storage, name: 3)


@pytest.mark.parametrize(
    "value", [aten.nn.Linear(1, 1), print, pytest, frozenset(), Exception("x"), slice(1)]
)
def test_other_things_are_refused_by_name(value):
    for given in (value, {"a": [value]}):
        with pytest.raises(pickle.PicklingError, match=type(value).__name__):
            aten.save(given, io.BytesIO())


def test_archives_that_are_no_checkpoints(tmp_path):
    path = tmp_path / "old.pt"
    torch.save(torch.ones(2), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="not a zip archive"):
        aten.load(path)
    with pytest.raises(OSError, match="nowhere"):
        aten.load(tmp_path / "nowhere.pt")
    with pytest.raises(RuntimeError, match="empty"):
        aten.load(io.BytesIO())
    with pytest.raises(ValueError, match="path"):
        aten.load(io.BytesIO(), mmap=True)
