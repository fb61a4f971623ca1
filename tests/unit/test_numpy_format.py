"""Arrays in files, written by NumPy and read without it."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest

import aten
from aten.graph import numpy_format
from aten.graph.errors import ArchiveError, ExportError
from aten.graph.tensor_files import read_tensors

TYPES = "?bhilqBHIQefdFD"
SHAPES = [(), (1,), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)]


def sample(code: str, shape: tuple[int, ...]) -> np.ndarray:
    return (np.random.default_rng(0).standard_normal(shape) * 3).astype(code)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("code", TYPES)
def test_every_type_shape_and_order(tmp_path: Path, code: str, order: str) -> None:
    for number, shape in enumerate(SHAPES):
        array = sample(code, shape).astype(np.dtype(code).newbyteorder(order))
        for layout in ("C", "F"):
            path = tmp_path / f"a{number}{layout}.npy"
            np.save(path, np.asarray(array, order=layout))
            found = read_tensors(str(path))[path.stem]
            assert found.is_contiguous()
            assert tuple(found.shape) == shape
            assert found.dtype.name == array.dtype.newbyteorder("=").name
            np.testing.assert_array_equal(found.numpy(), array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives(tmp_path: Path, save: object) -> None:
    path = tmp_path / "a.npz"
    save(path, x=sample("f", (3, 4)), labels=np.arange(3))
    found = read_tensors(str(path))
    assert list(found) == ["x", "labels"]
    np.testing.assert_array_equal(found["x"].numpy(), sample("f", (3, 4)))
    assert found["labels"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions(tmp_path: Path, version: tuple[int, int]) -> None:
    path = tmp_path / "a.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.arange(4), version=version)
    assert read_tensors(str(path))["a"].tolist() == [0, 1, 2, 3]


def test_headers_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    wrong = {
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }": "unpickled",
        "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (2,), }": "unpickled",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }": "describes no array",
        "{'descr': '<f4', 'fortran_order': __import__('os'), 'shape': (2,)}": "describes no array",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }": "8 of 12 bytes are there",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999,), }": "8 of",
        "": "describes no array",
        good + " " * 70000: "a header of 70057 bytes",
    }
    for text, reason in {good: None, **wrong}.items():
        head = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text.encode()
        path.write_bytes(head + bytes(8))
        if reason is None:
            assert read_tensors(str(path))["a"].tolist() == [0.0, 0.0]
            continue
        with pytest.raises(ArchiveError, match=r"not a readable \.npy file") as raised:
            read_tensors(str(path))
        assert reason in str(raised.value)


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    """Nothing else comes of them, whatever bytes are changed or missing."""
    chance = random.Random(0)
    contents = []
    for save in (np.save, np.savez, np.savez_compressed):
        memory = io.BytesIO()
        save(memory, np.arange(12, dtype="f4").reshape(3, 4))
        contents.append(memory.getvalue())
    refused = 0
    for number in range(600):
        data = bytearray(contents[number % 3])
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        del data[chance.randrange(len(data)) if number % 2 else len(data) :]
        path = tmp_path / ("a.npy" if number % 3 == 0 else "a.npz")
        path.write_bytes(data)
        try:
            found = read_tensors(str(path))
        except ExportError:
            refused += 1
            continue
        assert all(isinstance(one, aten.Tensor) for one in found.values())
    assert 300 < refused < 600


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }   \n",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }\n",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }",
    ],
)
def test_headers_of_numpy_are_read_without_regular_expressions(header: str) -> None:
    assert numpy_format._as_written(header) == numpy_format._in_parts(header)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
        "{'descr':'<f4','fortran_order':False,'shape':(3,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
        "{'descr': '<f'4', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x",
        " {'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
    ],
)
def test_other_headers_go_the_long_way(header: str) -> None:
    assert numpy_format._as_written(header) is None
