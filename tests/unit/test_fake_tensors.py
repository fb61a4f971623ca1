"""Fake tensors: what they say they are, what they refuse, and programs run on them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from program_files import DATA, DIGITS

import aten
from aten._core.base.errors import DataDependentOutputException, DynamicOutputShapeException
from aten.export import load
from aten.graph.tensor_files import read_tensors
from aten.transforms import FakeTensorMode, Functionalize, functionalize, record

MODELS = ("bert", "clip", "gpt2", "llama", "resnet18", "static_kv_cache_decode", "unet")


def fake(*sizes: int, dtype: Any = None) -> Any:
    return FakeTensorMode().from_tensor(aten.ones(sizes, dtype=dtype))


def test_nothing_is_computed_and_everything_is_described() -> None:
    with FakeTensorMode():
        x = aten.zeros(1 << 20, 1 << 20)
        y = (x @ x.t()).softmax(-1)[:, ::2]
        z = aten.empty(2, 3, dtype=aten.int64, device="reference")
    assert (y.shape, y.stride(), y.dtype) == ((1 << 20, 1 << 19), (1 << 20, 2), aten.float32)
    assert not y.is_meta
    assert y.is_cpu
    assert str(y) == f"FakeTensor(..., size={tuple(y.shape)})"
    assert str(z.device) == "reference"
    assert (z + 1).device == z.device
    assert aten.nn.functional.conv2d(fake(1, 3, 8, 8), fake(4, 3, 3, 3)).is_cpu


def test_in_place_views_and_storages() -> None:
    x = aten.zeros(2, 3)
    mode = FakeTensorMode()
    one, row = mode.from_tensor(x), mode.from_tensor(x[1])
    assert one.untyped_storage() is row.untyped_storage()
    assert row.storage_offset() == 3
    assert mode.from_tensor(one) is one
    assert one.add_(1) is one
    one.t_()
    assert (one.shape, one.stride()) == ((3, 2), (1, 3))
    assert one[0].is_cpu
    out = aten.add(one, 1, out=fake(0))
    assert out.shape == (3, 2)
    assert x.tolist() == [[0, 0, 0]] * 2


UNKNOWN: list[tuple[str, Callable[[Any], Any]]] = [
    ("item", lambda x: x[0, 0].item()),
    ("item", lambda x: bool(x.sum() > 0)),
    ("tolist", lambda x: x.tolist()),
    ("numpy", lambda x: x.numpy()),
    ("numpy", lambda x: np.asarray(x)),
    ("aten::equal", lambda x: aten.equal(x, x)),
    ("aten::nonzero", lambda x: x.nonzero()),
    ("aten::masked_select", lambda x: x.masked_select(x > 0)),
    ("aten::index.Tensor", lambda x: x[x > 0]),
    ("aten::_unique2", lambda x: x.unique()),
    ("item", lambda x: aten.nn.functional.one_hot(x.long())),
]


@pytest.mark.parametrize(("name", "call"), UNKNOWN)
def test_what_depends_on_values_names_the_operator(name: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises((DataDependentOutputException, DynamicOutputShapeException)) as raised:
        call(fake(2, 3))
    assert str(raised.value).startswith(f"{name}: ")


def test_no_data_leaves_and_none_comes_in() -> None:
    x = fake(2)
    assert x.data_ptr() == 0
    with pytest.raises(BufferError):
        memoryview(x.untyped_storage())
    with pytest.raises(BufferError):
        aten.from_dlpack(x)
    assert pickle.loads(pickle.dumps(x)).is_meta
    with pytest.raises(RuntimeError, match=r"add_.Tensor: self has data"):
        aten.ones(2).add_(x)
    with pytest.raises(RuntimeError, match="same device"):
        x + x.to("reference")
    assert (aten.ones(2) + x).shape == (2,)


def test_masks_write_without_being_known() -> None:
    x = fake(2, 3)
    x[x > 0] = 1
    assert x.shape == (2, 3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ir", ["", ".core"])
def test_programs_on_fake_tensors(model: str, ir: str) -> None:
    program = load(DATA / f"{model}{ir}.pt2")
    data = read_tensors(str(DATA / f"{model}.npz"))
    mode = FakeTensorMode()
    state = {name: mode.from_tensor(value) for name, value in program.state_dict.items()}
    inputs = [mode.from_tensor(data[name]) for name in sorted(data) if name.startswith("in_")]
    real = program.flat_call([data[name] for name in sorted(data) if name.startswith("in_")])
    program.state_dict = state
    with mode:
        outputs = program.flat_call(inputs)
    for given, expected in zip(outputs, real, strict=True):
        assert given.data_ptr() == 0
        assert (given.shape, given.stride()) == (expected.shape, expected.stride())
        assert given.dtype is expected.dtype


def test_functionalized_and_recorded_on_fake_tensors() -> None:
    def program(x: Any) -> Any:
        y = x.t()
        y[0].mul_(2)
        aten.add(x, 1, out=aten.empty(0))
        return y.sum(0)

    with FakeTensorMode():
        recorded = record(functionalize(program), aten.zeros(3, 4))
    x, y = aten.ones(3, 4), aten.ones(3, 4)
    assert recorded(x).tolist() == program(y).tolist()
    assert x.tolist() == y.tolist()
    with FakeTensorMode(), Functionalize():
        assert program(aten.zeros(3, 4)).shape == (3,)


@pytest.mark.parametrize("batch", [2, 7])
def test_a_program_with_dynamic_sizes_takes_any_of_them(batch: int) -> None:
    program = load(DIGITS / "digits_cnn.pt2")
    x = aten.zeros(batch, 1, 8, 8)
    [real] = program.flat_call([x])
    mode = FakeTensorMode()
    program.state_dict = {name: mode.from_tensor(one) for name, one in program.state_dict.items()}
    [given] = program.flat_call([mode.from_tensor(x)])
    assert given.data_ptr() == 0
    assert (given.shape, given.stride()) == (real.shape, real.stride())
    assert given.shape == (batch, 10)
