"""Safetensors files, read back as they were written; files that lie are refused."""

import json

import pytest

import aten
from aten import safetensors
from aten.export import ArchiveError, FormatError


def contents(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(start: int, end: int, shape: object, dtype: str = "U8") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


TENSORS = {
    "transposed": aten.arange(6.0).reshape(2, 3).t(),
    "0-d": aten.tensor(True),
    "bfloat16": aten.tensor([1.5, -2.0], dtype=aten.bfloat16),
    "float8": aten.tensor([1.5, -2.0], dtype=aten.float8_e4m3fn),
    "empty": aten.zeros(0, 3, dtype=aten.int16),
    "conjugate": aten.tensor([1 + 2j]).conj(),
    "ä": aten.arange(5)[2:4],
}


def test_files_are_read_as_they_were_written(tmp_path) -> None:
    path = tmp_path / "tensors.safetensors"
    safetensors.save_file(TENSORS, path, {"format": "pt"})
    for read in (safetensors.load_file(path), safetensors.load(safetensors.save(TENSORS))):
        assert read.keys() == TENSORS.keys()
        for name, tensor in TENSORS.items():
            assert read[name].dtype is tensor.dtype
            assert read[name].shape == tensor.shape
            assert read[name].tolist() == tensor.tolist()
    assert safetensors.load_metadata(path) == {"format": "pt"}
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_loaded_tensor_survives_its_file(tmp_path) -> None:
    path = tmp_path / "tensors.safetensors"
    safetensors.save_file({"x": aten.arange(4)}, path)
    x = safetensors.load_file(path)["x"]
    x[0] = 7
    safetensors.save_file({"x": aten.zeros(4)}, path)
    assert x.tolist() == [7, 1, 2, 3]
    assert safetensors.load_file(path, device="meta")["x"].is_meta


def test_elements_are_aligned() -> None:
    data = safetensors.save({"a": aten.ones(1, dtype=aten.uint8), "b": aten.ones(3)})
    assert int.from_bytes(data[:8], "little") % 8 == 0
    shifted = contents(json.dumps({"x": entry(0, 8, [1], "I64")}).encode() + b" " * 3, b"\1" * 8)
    assert safetensors.load(shifted)["x"].data_ptr() % 8 == 0


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 7, b"\xff" * 20, contents({})[:-1], (2**40).to_bytes(8, "little") + b"{}"],
)
def test_what_is_no_file_is_refused(data) -> None:
    with pytest.raises(ArchiveError):
        safetensors.load(data)


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (b"[]", b""),
        (b"{", b""),
        (b"\xff\xfe", b""),
        (b"[" * 100_000, b""),
        (b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{}}', b"\0"),
        ({"a": 3}, b""),
        ({"a": {"dtype": "U8", "shape": [1]}}, b"\0"),
        ({"a": entry(0, 1, [1], "F3")}, b"\0"),
        ({"a": entry(0, 1, ["1"])}, b"\0"),
        ({"a": entry(0, 1, [True])}, b"\0"),
        ({"a": entry(0, 1, [1.0])}, b"\0"),
        ({"a": entry(0, 2, [2])}, b"\0"),
        ({"a": entry(-1, 0, [1])}, b"\0"),
        ({"a": entry(1, 0, [1])}, b"\0"),
        ({"a": entry(0, 1, [2])}, b"\0"),
        ({"a": entry(0, 1, [-1, -1])}, b"\0"),
        ({"a": entry(0, 0, [0, 2**63])}, b""),
        ({"a": entry(0, 0, [0, 2**40, 2**40])}, b""),
        ({"a": entry(0, 1, [1] * 100)}, b"\0"),
        ({"a": entry(0, 2, [2]), "b": entry(1, 3, [2])}, b"\0\0\0"),
        ({"a": entry(0, 1, [1]), "b": entry(2, 3, [1])}, b"\0\0\0"),
        ({"a": entry(0, 1, [1])}, b"\0\0"),
        ({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1, 1]}}, b"\0"),
        ({"a": entry(0, 2**70, [2**70])}, b"\0"),
    ],
)
def test_headers_that_lie_are_refused(header, data) -> None:
    with pytest.raises(FormatError):
        safetensors.load(contents(header, data))


def test_what_cannot_be_written_leaves_no_file(tmp_path) -> None:
    path = tmp_path / "tensors.safetensors"
    for tensors, metadata, error in (
        ({"x": 3}, None, TypeError),
        ({3: aten.ones(1)}, None, TypeError),
        ({"x": aten.ones(1)}, {"a": 3}, TypeError),
        ({"x": aten.ones(1, device="meta")}, None, ValueError),
        ({"x": aten.ones(1, dtype=aten.complex128)}, None, ValueError),
        ({"__metadata__": aten.ones(1)}, None, ValueError),
    ):
        with pytest.raises(error):
            safetensors.save_file(tensors, path, metadata)
    assert list(tmp_path.iterdir()) == []
