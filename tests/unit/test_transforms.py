"""Modes that see every call, and operators taken apart to core and to primitives."""

from __future__ import annotations

import threading
import zlib
from typing import Any

import pytest

import aten
from aten import registry
from aten._generated.table import OPERATORS
from aten.conformance import Limits, check_decompositions
from aten.library import Library
from aten.transforms import Decompose, DispatchMode, UndecomposedError, decomposition_of, is_leaf

CORE = sorted(
    name
    for name, (_, _, variant, _, _, options) in OPERATORS.items()
    if "core" in options.get("tags", ()) and variant == "functional"
)
# A sample of what `aten conformance --decomposed prims` looks at.
SAMPLE = sorted(
    name
    for name, (_, _, variant, base, _, _) in OPERATORS.items()
    if variant == "functional" and name == base and zlib.crc32(name.encode()) % 8 == 0
)


class Noting(DispatchMode):
    def __init__(self, name: str = "", noted: list[str] | None = None) -> None:
        self.name = name
        self.noted: list[str] = [] if noted is None else noted

    def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.noted.append(self.name + op.name)
        return op(*args, **kwargs)


def test_a_mode_sees_what_composites_are_made_of() -> None:
    x = aten.ones(2, 2)
    with Noting() as noting:
        aten.matmul(x, x + 1)
        x += 1
    assert noting.noted == ["add", "mm", "add_"]
    x.add(1)
    assert len(noting.noted) == 3


def test_the_innermost_mode_comes_first_and_hands_on() -> None:
    noted: list[str] = []
    with Noting("outer ", noted), Noting("inner ", noted):
        aten.ones(1).neg()
    assert noted == ["inner ones", "outer ones", "inner neg", "outer neg"]


def test_a_mode_may_put_itself_in_force_again() -> None:
    class Again(Noting):
        def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            self.noted.append(op.name)
            if op.name != "square":
                return op(*args, **kwargs)
            with self:
                return args[0] * args[0]

    with Again() as again:
        assert aten.square(aten.full((), 3.0)).item() == 9
    assert again.noted == ["full", "square", "mul"]


def test_modes_are_a_threads_own_and_end_with_an_error() -> None:
    other: list[str] = []

    def work() -> None:
        aten.ones(1) + 1
        other.append("done")

    noting = Noting()
    thread = threading.Thread(target=work)
    with noting:
        thread.start()
        thread.join()
        left, right = aten.ones(2), aten.ones(3)
    with pytest.raises(RuntimeError, match="size"), noting:
        left.add(right)
    assert other == ["done"]
    assert noting.noted == ["ones", "ones", "add"]
    aten.ones(1)
    assert len(noting.noted) == 3


def test_one_mode_entered_by_several_threads() -> None:
    noting = Noting()
    ready = threading.Barrier(4)

    def work() -> None:
        for _ in range(50):
            with noting:
                ready.wait()
                aten.ones(1).neg()
            ready.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(noting.noted) == ["neg"] * 200 + ["ones"] * 200


def test_modes_left_in_a_wrong_order_are_refused() -> None:
    outer, inner = Noting(), Noting()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="in the order of their entry"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)


@pytest.mark.parametrize("name", CORE)
def test_every_core_operator_has_a_definition_and_is_whole_by_default(name: str) -> None:
    op = registry.operator(f"aten::{name}")
    assert is_leaf(op, "core")
    if not is_leaf(op, "prims"):
        decomposition_of(op)


@pytest.mark.parametrize("to", ["prims", "core"])
def test_a_network_taken_apart_gives_the_same(to: str) -> None:
    aten.manual_seed(0)
    x, w = aten.randn(2, 3, 8, 8), aten.randn(4, 3, 3, 3)

    def network() -> Any:
        y = aten.nn.functional.conv2d(x, w, stride=2).relu()
        y = aten.nn.functional.layer_norm(y.flatten(1), (36,))
        y += aten.nn.functional.gelu(y)
        return aten.softmax(y, -1)[:, aten.tensor([0, 5])]

    expected = network()
    with Decompose(to) as taken_apart:
        given = network()
    aten.testing.assert_close(given, expected)
    outside = [name for name in taken_apart.called if not _belongs(name, to)]
    assert outside == []


def _belongs(name: str, to: str) -> bool:
    op = registry.operator(name)
    if op.namespace == "prims":
        return to == "prims"
    return op.entry.kind in ("view", "factory") or "core" in op.entry.tags or op.name == "copy_"


@pytest.mark.parametrize("name", SAMPLE)
def test_what_is_taken_apart_gives_the_same(name: str) -> None:
    wrong = [
        one
        for one in check_decompositions(
            "prims", ("float32", "int64"), pattern=f"aten::{name}", limits=Limits(1, 20)
        )
        if one.operator == f"aten::{name}" and one.status in ("failed", "missing")
    ]
    assert wrong == []


def test_what_cannot_be_taken_apart_says_so() -> None:
    library = Library("test_transforms", "FRAGMENT")
    library.define("kernel_for_each_device(Tensor x) -> Tensor")
    with pytest.raises(UndecomposedError, match="kernel_for_each_device"):
        decomposition_of(registry.operator("test_transforms::kernel_for_each_device"))
    with pytest.raises(ValueError, match="to must be one of"):
        Decompose("most")
    with pytest.raises(ValueError, match="to must be one of"):
        aten.decompositions("most")


def test_the_table_of_decompositions() -> None:
    table = aten.decompositions("core")
    assert aten.ops.aten.relu.default not in table
    halves = table[aten.ops.aten.square.default](aten.tensor([1.5, 2.0]))
    assert halves.tolist() == [2.25, 4.0]


@pytest.mark.parametrize("to", ["core", "prims"])
def test_quotients_of_integers_and_sequences_are_taken_apart(to: str) -> None:
    left, right = aten.tensor([7, -8]), aten.tensor([2, 3])
    layer, steps = aten.nn.LSTM(4, 3), aten.randn(5, 2, 4)
    expected = layer(steps)[0]
    with Decompose(to) as taken_apart:
        assert aten.floor_divide(left, right).tolist() == [3, -3]
        assert aten.floor_divide(left, 3).tolist() == [2, -3]
        aten.testing.assert_close(layer(steps)[0], expected)
    assert not any(name.startswith("fused::") for name in taken_apart.called)
