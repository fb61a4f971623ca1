"""Compiled kernels that stand for composites pass by no kernel of the operators these call."""

from __future__ import annotations

import pytest

import aten
from aten._core.dispatch.fast_path import FastPath
from aten._core.dispatch.python_kernel import PythonKernel
from aten.dispatch import DispatchKey, DispatchKeySet, trace_dispatch
from aten.library import Library
from aten.registry import operator

A = aten.arange(24.0).reshape(2, 3, 4)
B = aten.arange(40.0).reshape(2, 4, 5)
WEIGHT = aten.arange(8.0).reshape(2, 4)
CASES = {
    "bmm": lambda: aten.matmul(A, B),
    "mv": lambda: aten.matmul(A, WEIGHT[0]),
    "mm": lambda: aten.nn.functional.linear(A[0], WEIGHT),
    "addmm": lambda: aten.nn.functional.linear(A[0], WEIGHT, aten.ones(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_in_the_place_of_a_compiled_product_is_called(name: str) -> None:
    call = CASES[name]
    expected = call()
    compiled = operator(f"aten::{name}").row_contents()[DispatchKey.CPU]
    called = []

    def product(*operands, **numbers):
        called.append(operands)
        return numpy_product(*operands)

    def numpy_product(*operands):
        arrays = [operand.numpy() for operand in operands]
        made = arrays[-2] @ arrays[-1]
        return aten.from_numpy(made + arrays[0] if name == "addmm" else made)

    with pytest.warns(UserWarning, match="overridden"):
        handle = operator(f"aten::{name}").register(DispatchKey.CPU, product)
    try:
        assert call().tolist() == expected.tolist()
        assert len(called) == 1
    finally:
        handle.destroy()
    assert call().tolist() == expected.tolist()
    assert len(called) == 1
    assert operator(f"aten::{name}").row_contents()[DispatchKey.CPU] is compiled


@pytest.mark.parametrize("name", CASES)
def test_traces_show_the_products_a_composite_calls(name: str) -> None:
    lines: list[str] = []
    with trace_dispatch(lines):
        CASES[name]()
    assert any(f"aten::{name}  CPU" in line for line in lines)


def test_products_without_memory_are_the_functions() -> None:
    meta = aten.matmul(aten.empty(2, 3, 4, device="meta"), aten.empty(2, 4, 5, device="meta"))
    assert meta.is_meta
    assert meta.shape == (2, 3, 5)
    layer = aten.nn.functional.linear(
        aten.empty(2, 3, 4, device="meta"), aten.empty(5, 4, device="meta")
    )
    assert layer.is_meta
    assert layer.shape == (2, 3, 5)


@pytest.mark.parametrize("name", ["_log_softmax", "nll_loss_forward"])
def test_losses_of_many_classes_pass_by_no_kernel(name: str) -> None:
    scores, classes = aten.rand(400, 3000), aten.zeros(400, dtype=aten.int64)
    inner = operator(f"aten::{name}")
    expected = aten.nn.functional.cross_entropy(scores, classes)
    called = []

    def above(keys: DispatchKeySet, *arguments, **keywords):
        called.append(name)
        return inner.redispatch(keys - DispatchKeySet(DispatchKey.AutogradCPU), *arguments)

    kernel = FastPath("kernel above", (), None, PythonKernel(above, with_keyset=True))
    handle = inner.register(DispatchKey.AutogradCPU, kernel)
    try:
        found = aten.nn.functional.cross_entropy(scores, classes)
    finally:
        handle.destroy()
    assert called == [name]
    assert abs(float(found - expected)) < 1e-4


def test_a_number_is_written_by_the_kernel_above_fill() -> None:
    x, fill = aten.zeros(3), operator("aten::fill_.Scalar")
    called = []

    def above(keys: DispatchKeySet, self, value):
        called.append(value)
        return fill.redispatch(keys - DispatchKeySet(DispatchKey.AutogradCPU), self, value)

    kernel = FastPath("kernel above", (), None, PythonKernel(above, with_keyset=True))
    handle = fill.register(DispatchKey.AutogradCPU, kernel)
    try:
        x[1] = 2.0
    finally:
        handle.destroy()
    assert (called, x.tolist()) == ([2.0], [0.0, 2.0, 0.0])


def test_an_operator_without_a_kernel_is_no_error_before_it_is_called() -> None:
    library = Library("test_stand_in", "FRAGMENT")
    library.define("nothing(Tensor x) -> Tensor")
    nothing = operator("test_stand_in::nothing")
    assert not nothing.is_plain(aten.zeros(2))
    with pytest.raises(NotImplementedError, match="no kernel"):
        nothing(aten.zeros(2))
    assert operator("aten::relu").is_plain(aten.zeros(2))
