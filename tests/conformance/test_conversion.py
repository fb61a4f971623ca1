"""clone, contiguous and to beside torch: values, dtype, strides, whether a tensor stays itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import aten
from aten._core.memory import storage

LAYOUTS = {
    "row-major": lambda lib: lib.arange(24).reshape((2, 3, 4)),
    "0-d": lambda lib: lib.arange(24).reshape((2, 3, 4))[1, 2, 3],
    "empty": lambda lib: lib.arange(24).reshape((2, 3, 4))[:, :0].transpose(0, 2),
    "transposed": lambda lib: lib.arange(24).reshape((2, 3, 4)).transpose(0, 2),
    "permuted": lambda lib: lib.arange(24).reshape((2, 3, 4)).permute(1, 2, 0),
    "stepped": lambda lib: lib.arange(48).reshape((2, 3, 8))[..., 1::2],
    "from an offset": lambda lib: lib.arange(24).reshape((2, 3, 4))[1:],
    "transposed from an offset": lambda lib: lib.arange(24).reshape((2, 3, 4))[1].t(),
    "expanded": lambda lib: lib.arange(4).expand(3, 4),
    "expanded scalar": lambda lib: lib.arange(1).expand(3, 4),
    "one element, odd strides": lambda lib: lib.arange(24).as_strided((1, 4, 1), (7, 1, 9)),
    "ones inside": lambda lib: lib.arange(24).as_strided((3, 1, 2), (1, 11, 3)),
    "overlapping": lambda lib: lib.arange(24).as_strided((3, 3), (1, 1)),
    "overlapping with gaps": lambda lib: lib.arange(24).as_strided((2, 4), (4, 2)),
    "channels last": lambda lib: lib.arange(24).reshape((1, 2, 3, 4)).permute(0, 3, 1, 2),
}
DTYPES = ("float32", "float64", "int64", "bool", "bfloat16", "complex64")
CALLS = {
    "clone": lambda lib, x: x.clone(),
    "clone, row-major": lambda lib, x: x.clone(memory_format=lib.contiguous_format),
    "clone, as it is": lambda lib, x: x.clone(memory_format=lib.preserve_format),
    "contiguous": lambda lib, x: x.contiguous(),
    "the same dtype": lambda lib, x: x.to(x.dtype),
    "the same dtype, copied": lambda lib, x: x.to(x.dtype, copy=True),
    "the same, by name": lambda lib, x: x.to(dtype=x.dtype, copy=True),
    "nothing": lambda lib, x: x.to(),
    "the same device": lambda lib, x: x.to("cpu"),
    "float64": lambda lib, x: x.to(lib.float64),
    "float32": lambda lib, x: x.float(),
    "int32": lambda lib, x: x.int(),
    "float64 by name": lambda lib, x: x.to(dtype=lib.float64),
    "float64, not blocking": lambda lib, x: x.to(lib.float64, True),
    "int16, row-major": lambda lib, x: x.to(lib.int16, memory_format=lib.contiguous_format),
    "like another": lambda lib, x: x.to(lib.ones(1, dtype=lib.float64)),
    "type_as": lambda lib, x: x.type_as(lib.ones(1, dtype=lib.float64)),
    "device and dtype": lambda lib, x: x.to("cpu", lib.float64),
    "int16 method, row-major": lambda lib, x: x.short(memory_format=lib.contiguous_format),
}


@pytest.fixture(params=[False, True], ids=["copied at once", "copied lazily"])
def _least_shared(request: Any) -> Any:
    before = storage.set_least_shared(1 if request.param else 1 << 40)
    yield
    storage.set_least_shared(before)


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.usefixtures("_least_shared")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_as_torch_does(layout: str, name: str) -> None:
    for dtype in DTYPES:
        given, expected = (_outcome(lib, layout, dtype, name) for lib in (aten, torch))
        assert given == expected, dtype


def _outcome(lib: Any, layout: str, dtype: str, name: str) -> tuple[Any, ...]:
    # Of a storage that holds the wanted type, so that windows on it are views.
    source = LAYOUTS[layout](_Typed(lib, dtype))
    made = CALLS[name](lib, source)
    elements = str(made.dtype).rpartition(".")[2]
    before = tuple(made.shape), _strides(made), elements, made is source, made.tolist()
    if made is not source and made.numel():
        made.view(-1)[0:1].zero_() if made.is_contiguous() else made.zero_()
    return *before, source.tolist(), made.tolist()


def _strides(tensor: Any) -> list[int]:
    """Those that say where elements are."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return [stride for size, stride in pairs if size > 1 and tensor.numel()]


class _Typed:
    """A library whose ranges have another dtype."""

    def __init__(self, lib: Any, dtype: str) -> None:
        self._lib, self._dtype = lib, getattr(lib, dtype)

    def arange(self, count: int) -> Any:
        return self._lib.arange(count).to(self._dtype)


@pytest.mark.parametrize("name", ["clone", "contiguous", "float64", "the same dtype, copied"])
def test_lazy_conjugates(name: str) -> None:
    results = []
    for lib in (aten, torch):
        x = lib.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.0]]).conj()
        if name == "float64":
            x = x.imag
        results.append(CALLS[name](lib, x).tolist())
    assert results[0] == results[1]


def test_what_is_refused() -> None:
    for lib in (aten, torch):
        with pytest.raises(RuntimeError):
            lib.ones(2).clone(memory_format=lib.channels_last)
        with pytest.raises(TypeError):
            lib.ones(2).to("nonsense", 3, 4, 5, 6)
        with pytest.raises((RuntimeError, NotImplementedError)):
            lib.ones(2, device="meta").to("cpu")
        assert lib.ones(2, device="meta").to(lib.float64).dtype == lib.float64
        assert lib.ones(2, device="meta").clone().device.type == "meta"
