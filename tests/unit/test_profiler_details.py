"""What a profile keeps of events besides their times: shapes, lines, memory, operations."""

from __future__ import annotations

import inspect
import sys

import pytest
from profiled_programs import BIAS, WEIGHT, X, names, recorded, tree

import aten
import aten.nn.functional as functional
from aten.library import _scoped_library
from aten.profiler import profile


def test_shapes_types_and_values_of_arguments():
    def program():
        aten.add(X, BIAS[0], alpha=2)
        aten.cat([X, X], 1)

    add, cat = (
        event
        for event in recorded(program, record_shapes=True).events()
        if event.name in ("aten::add", "aten::cat")
    )
    assert add.input_shapes == [[3, 4], [], []]
    assert add.input_dtypes == ["float32", "float32", "Scalar"]
    assert add.concrete_inputs == ["", "", 2]
    assert cat.input_shapes == [[[3, 4], [3, 4]], []]
    assert cat.input_dtypes == ["TensorList", "Scalar"]
    assert cat.concrete_inputs == [["", ""], 1]
    assert recorded(program).events()[0].input_shapes == []


def test_a_profile_keeps_no_tensor():
    x = aten.ones(1000)
    storage = x.untyped_storage()
    held = sys.getrefcount(storage)
    with profile(record_shapes=True, with_stack=True, with_flops=True) as prof:
        y = x.view(10, 100)
        del y
        assert sys.getrefcount(storage) == held
    assert names(prof.events()) == ["aten::view"]


def helper(x):
    return functional.linear(x, WEIGHT, BIAS)


def test_lines_of_callers_without_the_packages_own():
    events = recorded(lambda: helper(X), with_stack=True).events()
    first = inspect.getsourcelines(helper)[1]
    for event in events:
        assert event.stack[0] == f"{__file__}({first + 1}): helper"
        assert event.stack[1].endswith("<lambda>")
        assert not any("/aten/" in line for line in event.stack)
    assert recorded(lambda: helper(X)).events()[0].stack == []


def test_averages_by_lines_and_shapes_and_overloads():
    def program():
        X + 1
        X + X
        X + 1

    prof = recorded(program, with_stack=True, record_shapes=True)
    assert [entry.count for entry in prof.key_averages()] == [3]
    assert [entry.count for entry in prof.key_averages(group_by_stack_n=1)] == [1, 1, 1]
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert [(one.input_shapes, one.count) for one in by_shape] == [
        ([[3, 4], [], []], 2),
        ([[3, 4], [3, 4], []], 1),
    ]
    by_overload = prof.key_averages(group_by_overload_name=True)
    assert [(one.key, one.count) for one in by_overload] == [("aten::add.Tensor", 3)]


def test_memory_is_counted_to_the_operator_that_takes_it():
    def program():
        x = aten.empty(1024)
        y = functional.linear(x.view(16, 64), aten.ones(64, 64))
        del x
        return y

    prof = recorded(program, profile_memory=True)
    assert tree(prof.events()) == [
        ("aten::empty", []),
        ("aten::view", []),
        ("aten::ones", []),
        ("aten::linear", [("aten::t", []), ("aten::matmul", [("aten::mm", [])])]),
    ]
    empty, _, ones, linear, _, _, mm = prof.events()
    assert empty.self_cpu_memory_usage == empty.cpu_memory_usage == 4096
    assert ones.allocated_bytes == 4 * 64 * 64
    assert linear.self_cpu_memory_usage == 0
    assert linear.cpu_memory_usage == mm.self_cpu_memory_usage == 4096
    assert linear.peak_bytes == mm.peak_bytes == 4096
    outside = prof.key_averages()[-1]
    assert (outside.key, outside.count) == ("[memory]", 3)
    assert outside.self_cpu_memory_usage == -(4096 + 4 * 64 * 64 + 4096)
    assert prof.events().peak_bytes == 4096 + 4 * 64 * 64 + 4096


def test_scratch_that_an_operator_gives_back_is_in_its_peak():
    with _scoped_library("profiled", "DEF") as library:
        library.define("scratch(Tensor x) -> Tensor")
        library.impl("scratch", lambda x: (aten.ones(1 << 20) + 1).sum() + x, "CPU")
        aten.memory.empty_cache()  # blocks that are kept may be larger than asked
        prof = recorded(lambda: aten.ops.profiled.scratch(aten.ones(16)), profile_memory=True)
    event = next(one for one in prof.events() if one.name == "profiled::scratch")
    large = 4 << 20
    assert 2 * large <= event.peak_bytes < 2 * large + 4096
    assert 2 * large <= event.freed_bytes < 2 * large + 4096
    assert event.cpu_memory_usage == 64


def test_memory_statistics_go_on():
    before = aten.memory.stats()
    with profile(profile_memory=True):
        blocks = [aten.empty(size) for size in (10, 1 << 10, 1 << 20)]
        del blocks
    after = aten.memory.stats()
    assert after["allocated_bytes"] == before["allocated_bytes"]
    assert after["active_blocks"] == before["active_blocks"]
    assert after["allocations"] >= before["allocations"] + 3


FLOPS = [
    ("aten::mm", lambda: aten.mm(aten.ones(2, 3), aten.ones(3, 4)), 2 * 2 * 3 * 4),
    ("aten::matmul", lambda: aten.ones(5, 2, 3) @ aten.ones(5, 3, 4), 5 * 2 * 2 * 3 * 4),
    ("aten::linear", lambda: functional.linear(X, WEIGHT, BIAS), 2 * 3 * 4 * 2),
    ("aten::mv", lambda: aten.mv(X, aten.ones(4)), 2 * 3 * 4),
    ("aten::dot", lambda: aten.dot(aten.ones(7), aten.ones(7)), 2 * 7),
    (
        "aten::conv2d",
        lambda: functional.conv2d(aten.ones(2, 4, 8, 9), aten.ones(6, 2, 3, 3), groups=2),
        2 * (2 * 6 * 6 * 7) * (2 * 3 * 3),
    ),
    (
        "aten::conv_transpose1d",
        lambda: functional.conv_transpose1d(aten.ones(2, 3, 5), aten.ones(3, 4, 2)),
        2 * (2 * 3 * 5) * (4 * 2),
    ),
    (
        "aten::einsum",
        lambda: aten.einsum("ij,jk->ik", aten.ones(2, 3), aten.ones(3, 4)),
        2 * 2 * 3 * 4,
    ),
    ("aten::add", lambda: aten.ones(3, 1) + aten.ones(4), 12),
    ("aten::sum", lambda: X.sum(1), 12),
    ("aten::cumsum", lambda: X.cumsum(0), 12),
    ("aten::addmm_", lambda: aten.ones(2, 4).addmm_(aten.ones(2, 3), aten.ones(3, 4)), 48),
    ("aten::view", lambda: X.view(12), 0),
    ("aten::ones", lambda: aten.ones(5), 0),
]


@pytest.mark.parametrize(("name", "call", "expected"), FLOPS, ids=[one[0] for one in FLOPS])
def test_operations_of_a_call(name, call, expected):
    prof = recorded(call, with_flops=True)
    event = next(one for one in prof.events() if one.name == name)
    assert event.flops == expected
    entry = next(one for one in prof.key_averages() if one.key == name)
    assert entry.flops == sum(one.flops for one in prof.events() if one.name == name)


def test_operations_of_attention():
    query, key, value = aten.ones(2, 3, 5, 8), aten.ones(2, 3, 7, 8), aten.ones(2, 3, 7, 4)
    prof = recorded(
        lambda: functional.scaled_dot_product_attention(query, key, value), with_flops=True
    )
    event = prof.events()[0]
    products = 2 * 2 * 3 * 5 * 7 * (8 + 4)
    assert event.name == "aten::scaled_dot_product_attention"
    assert products <= event.flops <= products + 10 * (2 * 3 * 5 * 7)
