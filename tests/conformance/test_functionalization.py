"""Programs of views and writes, functionalized: what torch's functionalize gives and writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import aten
from aten.transforms import DispatchMode, Functionalize, functionalize, record

Program = Callable[[Any, Any], Any]


def write_to_slices(m: Any, x: Any) -> Any:
    y = x[1:, ::2]
    y.mul_(3)
    x[0] -= 1
    return y + 1, x.sum()


def write_through_views(m: Any, x: Any) -> Any:
    flat = x.view(-1)
    flat[3:9].add_(1)
    x.t()[1].exp_()
    x.permute(1, 0).unsqueeze(0).diagonal(0, 1, 2).fill_(4)
    return flat.clone(), x.transpose(0, 1).contiguous()


def write_by_parts(m: Any, x: Any) -> Any:
    first, second = x.split(2)
    first.copy_(second)
    one, *_, last = x.unbind(1)
    last.zero_()
    return one * 2, first, second


def write_by_strides(m: Any, x: Any) -> Any:
    y = x.as_strided((3, 2), (6, 1), 1)
    y.sigmoid_()
    x.expand(2, 4, 6)[0].add_(1)
    return y.relu(), x.unfold(0, 2, 2).sum()


def write_outs(m: Any, x: Any) -> Any:
    out, indices = m.empty(0), m.empty(0, dtype=m.int64)
    m.add(x, 1, out=out)
    out.relu_()
    m.sort(out, 1, out=(out, indices))
    m.mm(x, x.t(), out=m.empty(4, 4))
    return out, indices


def write_metadata(m: Any, x: Any) -> Any:
    y = x.clone()
    y.t_()
    y.unsqueeze_(0)
    y[0, 2] = 5
    return y, y.squeeze(0)


def write_made_tensors(m: Any, x: Any) -> Any:
    y = m.zeros(4, 6)
    y[x > 0] = 1
    y[:, [0, 2]] += x[:, :2]
    y.index_put_((m.tensor([1, 1]), m.tensor([2, 2])), m.tensor([1.0, 2.0]), accumulate=True)
    y.masked_fill_(x < -1, 9)
    y.scatter_(1, m.tensor([[0], [1], [2], [3]]), 7.0)
    return y, m.cumsum(y, 0)


def write_numbers(m: Any, x: Any) -> Any:
    y = x.to(m.int64)
    y.floor_divide_(2)
    y += 3
    y.clamp_(-1, 4)
    return y, y.float().mul_(x)


def write_statistics(m: Any, x: Any) -> Any:
    mean, var = m.zeros(6), m.ones(6)
    y = m.nn.functional.batch_norm(x, mean, var, training=True)
    return m.nn.functional.relu(y, inplace=True), mean, var


def write_complex(m: Any, x: Any) -> Any:
    y = m.view_as_complex(x.view(4, 3, 2))
    y.mul_(2j)
    m.view_as_real(y)[..., 0].add_(1)
    return y.real.clone(), x + 0


def write_bits(m: Any, x: Any) -> Any:
    bits = x.view(m.int32)
    bits.bitwise_and_(0x7FFFFFFF)
    return x.sqrt(), bits


def write_lists(m: Any, x: Any) -> Any:
    m._foreach_add_([x[0], x[2]], 2)
    m._foreach_mul_([x], x[1].clone().sum())
    return m._foreach_neg([x, x[0]])


PROGRAMS: list[Program] = [
    *(write_to_slices, write_through_views, write_by_parts, write_by_strides, write_outs),
    *(write_metadata, write_made_tensors, write_numbers, write_statistics, write_complex),
    *(write_bits, write_lists),
]


class Watching(DispatchMode):
    def __init__(self) -> None:
        self.written: list[str] = []

    def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(argument.is_write for argument in op._schema.arguments):
            self.written.append(op.qualified_name)
        return op(*args, **kwargs)


def values() -> Any:
    return np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def each(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def assert_same(given: Any, expected: Any) -> None:
    for one, two in zip(each(given), each(expected), strict=True):
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_programs_do_as_torchs(program: Program) -> None:
    theirs, ours, recorded, under_mode = (values() for _ in range(4))
    x = torch.from_numpy(theirs)
    expected = torch.func.functionalize(lambda x: program(torch, x))(x)
    watching, y = Watching(), aten.from_numpy(ours)
    with watching:
        given = functionalize(lambda y: program(aten, y))(y)
    assert_same(given, expected)
    assert_same(y, x)
    assert watching.written == ["aten::copy_"] * int((theirs != values()).any())
    with Functionalize():
        given = program(aten, aten.from_numpy(under_mode))
    assert_same(given, expected)
    assert_same(aten.from_numpy(under_mode), x)
    graph = record(functionalize(lambda y: program(aten, y)), aten.from_numpy(values()))
    assert_same(graph(aten.from_numpy(recorded)), expected)
    assert_same(aten.from_numpy(recorded), x)


def test_results_on_shared_memory_stay_on_it() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        y.mul_(2)
        return x[0].add_(1), y, y[1]

    x = aten.zeros(2, 2)
    row, made, part = functionalize(program)(x)
    row.fill_(9)
    assert x.tolist() == [[9, 9], [0, 0]]
    made.fill_(3)
    assert part.tolist() == [3, 3]
