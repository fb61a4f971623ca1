"""Devices, layouts and memory formats."""

import copy
import pickle

import pytest

import aten


@pytest.mark.parametrize(
    ("given", "kind", "index", "text"),
    [
        (("cpu",), "cpu", None, "cpu"),
        (("cuda:1",), "cuda", 1, "cuda:1"),
        (("cuda", 0), "cuda", 0, "cuda:0"),
        (("meta",), "meta", None, "meta"),
        (("privateuseone:2",), "privateuseone", 2, "privateuseone:2"),
    ],
)
def test_devices(given, kind, index, text):
    place = aten.device(*given)
    assert (place.type, place.index, str(place)) == (kind, index, text)
    assert pickle.loads(pickle.dumps(place)) == copy.deepcopy(place) == place


def test_equality_and_hash():
    assert aten.device("cuda:1") == aten.device("cuda", 1)
    assert hash(aten.device("cuda:1")) == hash(aten.device("cuda", 1))
    assert aten.device("cuda") != aten.device("cuda:0")
    assert aten.device("cpu") != "cpu"
    assert repr(aten.device("cuda:1")) == "device(type='cuda', index=1)"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (("gpu",), RuntimeError, "Expected one of cpu, cuda.* device type at start"),
        (("cuda:",), RuntimeError, "Invalid device string: 'cuda:'"),
        (("cuda:-1",), RuntimeError, "Invalid device string"),
        (("cuda:01",), RuntimeError, "Invalid device string"),
        (("cuda:x",), RuntimeError, "Invalid device string"),
        (("cuda:0", 0), RuntimeError, "must not include an index"),
        (("cuda", -1), RuntimeError, "Device index must"),
        (("cuda", 4096), RuntimeError, "Device index must"),
        ((1.5,), TypeError, "must be str"),
        (("",), RuntimeError, "Expected one of|Device string must not be empty"),
    ],
)
def test_bad_devices_say_what_is_wrong(given, error, message):
    with pytest.raises(error, match=message):
        aten.device(*given)


@pytest.mark.parametrize(
    "value",
    [aten.strided, aten.sparse_coo, aten.contiguous_format, aten.channels_last],
    ids=str,
)
def test_layouts_and_memory_formats_are_one_object_each(value):
    assert pickle.loads(pickle.dumps(value)) is value
    assert repr(value).startswith("aten.")


def test_tensors_say_where_they_are():
    x = aten.tensor([1.0])
    assert x.device == aten.device("cpu")
    assert x.layout is aten.strided
