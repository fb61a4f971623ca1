"""Methods of Tensor take a tensor first, and never an out= argument."""

from __future__ import annotations

import pytest

import aten
from aten._generated.table import METHODS, OPERATORS, PACKETS

X = aten.rand(2, 3)
PLACES = aten.zeros(2, 3, dtype=aten.int64)
CALLS = {
    "add": (1,),
    "amax": (0,),
    "bernoulli": (),
    "clamp_max": (0.5,),
    "clamp_min": (0.5,),
    "gather": (0, PLACES),
    "index_select": (0, PLACES[0]),
    "masked_select": (X > 0.5,),
    "sum": (0,),
    "take": (PLACES,),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_method_takes_out(name: str) -> None:
    out = aten.full((4,), 7.0)
    with pytest.raises(TypeError, match=name):
        getattr(X, name)(*CALLS[name], out=out)
    assert out.tolist() == [7.0] * 4
    getattr(X, name)(*CALLS[name])


@pytest.mark.parametrize("name", ["kthvalue", "sort", "topk", "min", "aminmax"])
def test_no_method_takes_several_outs(name: str) -> None:
    outs = {
        "aminmax": {"min": aten.zeros(0), "max": aten.zeros(0)},
    }.get(name, {"out": (aten.zeros(0), aten.zeros(0, dtype=aten.int64))})
    arguments = (1,) if name in ("kthvalue", "topk", "min") else ()
    with pytest.raises(TypeError, match=name):
        getattr(X, name)(*arguments, **outs)
    assert all(one.numel() == 0 for given in outs.values() for one in given)


@pytest.mark.parametrize("name", ["add", "clamp_max", "mul", "reshape", "__and__"])
@pytest.mark.parametrize("given", [(), (2, X), (2, 3), (None,), ([1.0],)])
def test_methods_are_for_tensors(name: str, given: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        getattr(aten.Tensor, name)(*given)


def test_functions_take_out_and_methods_have_something_left() -> None:
    out = aten.zeros(2, 3)
    assert aten.add(X, 1, out=out) is out
    for name in METHODS:
        assert any(OPERATORS[overload][2] != "out" for overload in PACKETS[name]), name


def test_data_may_be_given_another_dtype_and_goes_on_taking_gradients() -> None:
    x = aten.ones(3).requires_grad_()
    before = (x * 2).sum()
    x.data = aten.full((2,), 5.0, dtype=aten.float64)
    assert (x.dtype, x.tolist(), x.requires_grad) == (aten.float64, [5.0, 5.0], True)
    (x * 3).sum().backward()
    assert x.grad.dtype is aten.float64
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="data"):
        x.data = aten.ones(2, dtype=aten.int64)
    assert x.dtype is aten.float64
    with pytest.raises(RuntimeError):
        before.backward()


@pytest.mark.parametrize("change", ["double", "half", "bfloat16"])
def test_modules_change_their_dtype_in_place(change) -> None:
    module = aten.nn.Sequential(aten.nn.Linear(2, 3), aten.nn.BatchNorm1d(3))
    weight = module[0].weight
    getattr(module, change)()
    assert module[0].weight is weight
    wanted = {"double": aten.float64, "half": aten.float16, "bfloat16": aten.bfloat16}[change]
    assert {one.dtype for one in module.parameters()} == {wanted}
    given = aten.ones(4, 2, dtype=wanted)
    module(given).sum().backward()
    assert weight.grad.dtype is wanted
