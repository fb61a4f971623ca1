"""The text of tensors is torch's, but for the library's name."""

import pytest
from comparison import from_torch

torch = pytest.importorskip("torch")

import aten  # noqa: E402

nan, inf = float("nan"), float("inf")
TENSORS = {
    "ints": torch.tensor([1, -20, 300]),
    "int matrix": torch.tensor([[1, 2], [3, 400]]),
    "int8": torch.tensor([1, 2], dtype=torch.int8),
    "uint8": torch.tensor([1, 2], dtype=torch.uint8),
    "bools": torch.tensor([True, False]),
    "whole floats": torch.tensor([1.0, 2.0, -3.0]),
    "floats": torch.tensor([1.5, -2.25, 1000.125]),
    "small": torch.tensor([1e-5, 1.0]),
    "tiny": torch.tensor([1e-30]),
    "apart": torch.tensor([0.5, 600.0]),
    "large whole": torch.tensor([1e9, 1.0]),
    "whole apart": torch.tensor([1.0, 2000.0]),
    "doubles": torch.tensor([1.5, 2.5], dtype=torch.float64),
    "halves": torch.tensor([1.5, 0.1], dtype=torch.float16),
    "bfloat16": torch.tensor([1.5, 0.1], dtype=torch.bfloat16),
    "nan": torch.tensor([nan, 1.0]),
    "inf": torch.tensor([inf, -inf, 2.5]),
    "only nan": torch.tensor([nan, nan]),
    "inf and whole": torch.tensor([inf, -1.0, 200.0]),
    "nan and small": torch.tensor([nan, 1e-9]),
    "zeros": torch.zeros(2, 2),
    "negative zero": torch.tensor([-0.0, 1.5]),
    "0-d": torch.tensor(3.14159),
    "0-d int": torch.tensor(7),
    "0-d bool": torch.tensor(True),
    "0-d double": torch.tensor(1.0, dtype=torch.float64),
    "empty": torch.empty(0),
    "empty matrix": torch.empty(0, 3),
    "empty ints": torch.empty(2, 0, dtype=torch.int64),
    "complex": torch.tensor([1 + 2j, -0.5 - 3.25j]),
    "whole complex": torch.tensor([1 + 2j, 3 - 4j]),
    "complex128": torch.tensor([1 + 2j], dtype=torch.complex128),
    "0-d complex": torch.tensor(1j),
    "complex apart": torch.tensor([1e-6 + 2j, 5000.5 - 1j]),
    "complex nan": torch.tensor([complex(nan, 1.0), complex(1.5, inf)]),
    "matrix": torch.arange(12.0).view(3, 4) / 7,
    "cube": torch.arange(24).view(2, 3, 4),
    "4-d": torch.arange(16.0).view(2, 2, 2, 2),
    "long row": torch.arange(40),
    "long float row": torch.arange(30) / 3,
    "long complex row": torch.arange(9) * (1 + 1j),
    "summarized": torch.arange(2000),
    "summarized floats": torch.arange(2000) / 11,
    "summarized matrix": torch.arange(10000.0).view(100, 100),
    "summarized cube": torch.arange(4000).view(20, 20, 10),
    "summarized narrow": torch.arange(5000).view(2500, 2),
    "summarized wide": torch.arange(3000.0).view(2, 1500),
    "transposed": torch.arange(6.0).view(2, 3).t(),
    "meta": torch.empty(2, 3, device="meta"),
    "meta ints": torch.empty(2, dtype=torch.int64, device="meta"),
    "long suffix": torch.tensor([[1.123456789, 2.2, 3.3, 4.4, 5.5, 6.6, 7.7]] * 2).double(),
    "eight columns": torch.arange(16.0, dtype=torch.float64).view(2, 8) / 3,
}


def expected_text(tensor: torch.Tensor) -> str:
    return repr(tensor).replace("torch.", "aten.")


@pytest.mark.parametrize("name", TENSORS)
def test_repr(name: str) -> None:
    # Line breaks depend on the length of the suffixes, and the library's name is shorter here.
    mine = repr(from_torch(TENSORS[name]))
    theirs = expected_text(TENSORS[name])
    assert mine.split() == theirs.split() if "dtype" in theirs else mine == theirs


OPTIONS = [
    {"precision": 2},
    {"precision": 8},
    {"sci_mode": True},
    {"sci_mode": False},
    {"threshold": 5, "edgeitems": 1},
    {"linewidth": 40},
    {"profile": "short"},
    {"profile": "full"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(options: dict) -> None:
    try:
        torch.set_printoptions(**options)
        aten.set_printoptions(**options)
        for name in ("floats", "ints", "matrix", "cube", "complex", "long row", "whole floats"):
            assert repr(from_torch(TENSORS[name])) == expected_text(TENSORS[name])
    finally:
        torch.set_printoptions(profile="default")
        aten.set_printoptions(profile="default")


def test_default_dtype_decides_what_is_said() -> None:
    torch.set_default_dtype(torch.float64)
    aten.set_default_dtype(aten.float64)
    try:
        for name in ("floats", "doubles", "complex", "complex128", "empty", "meta"):
            mine, theirs = repr(from_torch(TENSORS[name])), expected_text(TENSORS[name])
            assert mine.split() == theirs.split()
    finally:
        torch.set_default_dtype(torch.float32)
        aten.set_default_dtype(aten.float32)


def test_str_and_format() -> None:
    tensor = aten.tensor(3.14159)
    assert str(tensor) == repr(tensor) == "tensor(3.1416)"
    assert f"{tensor:.1f}" == "3.1"
    assert f"{aten.tensor([1, 2])}" == "tensor([1, 2])"
    with pytest.raises(TypeError):
        f"{aten.tensor([1, 2]):.1f}"


def test_unknown_profile() -> None:
    with pytest.raises(ValueError, match="profile"):
        aten.set_printoptions(profile="tall")
