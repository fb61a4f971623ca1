"""Composites that ask one other operator go straight there, and only where that is the same."""

from __future__ import annotations

import pytest

import aten
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.forwarding import ForwardingKernel
from aten._core.dispatch.python_kernel import PythonKernel
from aten.dispatch import trace_dispatch
from aten.registry import operator


def test_ordinary_calls_meet_the_other_operator_alone() -> None:
    value = aten.tensor([[1.0, 2.0], [3.0, 5.0]])
    lines: list[str] = []
    with trace_dispatch(lines):
        aten.softmax(value, 1)
    assert [any(name in line for line in lines) for name in ("softmax.int", "_softmax")] == [
        True
    ] * 2


def test_a_given_dtype_is_converted_to_first() -> None:
    count = aten.tensor([[1, 2], [3, 5]])
    assert aten.softmax(count, 1, dtype=aten.float64).dtype is aten.float64
    with pytest.raises((RuntimeError, NotImplementedError)):
        aten.softmax(count, 1)


def test_the_first_of_several_results() -> None:
    value = aten.tensor([[1.0, 2.0, 6.0], [3.0, 5.0, 4.0]])
    whole = aten.native_layer_norm(value, [3], None, None, 1e-5)
    assert aten.nn.functional.layer_norm(value, [3]).tolist() == whole[0].tolist()


def test_kernels_of_the_other_operator_are_met() -> None:
    target = operator("_log_softmax")

    def ours(self: aten.Tensor, dim: int, half_to_float: bool) -> aten.Tensor:
        assert (dim, half_to_float) == (1, False)
        return self + 40

    with pytest.warns(UserWarning, match="overridden"):
        handle = target.register(DispatchKey.CPU, ours)
    try:
        assert aten.log_softmax(aten.zeros(1, 2), 1).tolist() == [[40.0, 40.0]]
    finally:
        handle.destroy()
    assert aten.log_softmax(aten.zeros(1, 1), 1).tolist() == [[0.0]]


def test_more_arguments_than_a_kernel_forwards() -> None:
    with pytest.raises(ValueError, match="too many arguments"):
        ForwardingKernel(operator("_softmax"), tuple(range(17)), (), False, PythonKernel(print))
