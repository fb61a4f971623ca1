"""Functionalization: what the host sees under the mode, what is refused, what is recorded."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from program_files import DATA

import aten
from aten.export import load
from aten.graph.tensor_files import read_tensors
from aten.library import Library
from aten.transforms import Decompose, DispatchMode, Functionalize, functionalize, record

MODELS = ("bert", "clip", "gpt2", "llama", "resnet18", "static_kv_cache_decode", "unet")


class Watching(DispatchMode):
    def __init__(self) -> None:
        self.written: list[str] = []

    def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(argument.is_write for argument in op._schema.arguments):
            self.written.append(op.name)
        return op(*args, **kwargs)


def test_the_host_reads_what_was_written() -> None:
    x = aten.zeros(2, 2)
    with Functionalize():
        y = x.t()
        y[0] += 1
        assert x.tolist() == [[1, 0], [1, 0]]
        assert y[0, 0].item() == 1
        x.mul_(2)
        assert "2., 0." in str(x)
        assert x.numpy()[0, 0] == 2
        x.add_(1)
        assert (
            bytes(memoryview(x.untyped_storage())) == aten.tensor([3.0, 1, 3, 1]).numpy().tobytes()
        )
        x.add_(1)
        assert copy.deepcopy(x).tolist() == pickle.loads(pickle.dumps(y)).t().tolist()
        made = aten.from_dlpack(x.mul_(2))
        assert made.tolist() == [[8, 4], [8, 4]]
        x.zero_()
    assert x.tolist() == y.tolist() == [[0, 0], [0, 0]]


def test_an_error_leaves_what_was_written_before() -> None:
    x, y = aten.zeros(2), aten.zeros(3)

    def program() -> None:
        with Functionalize():
            x.add_(1)
            x.add_(y)

    with pytest.raises(RuntimeError, match="size"):
        program()
    assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="can't be cast"), Functionalize():
        aten.ones(2, dtype=aten.int64).add_(0.5)
    with pytest.raises(RuntimeError, match="single memory location"), Functionalize():
        aten.ones(1).expand(3).add_(1)


def test_tensors_from_outside_that_share_memory() -> None:
    whole = aten.arange(6)
    part, bits = whole[2:4], whole.view(aten.int32)
    with Functionalize():
        part.add_(10)
        assert whole.sum().item() == 35
        assert bits[4].item() == 12
        whole.zero_()
    assert part.tolist() == [0, 0]


def test_memory_shown_by_others_is_not_resized() -> None:
    with Functionalize():
        x = aten.ones(2)
        row = x[0]
        with pytest.raises(RuntimeError, match="resize"):
            x.resize_(8)
        assert row.item() == 1
        assert aten.ones(2).add_(1).resize_(1).tolist() == [2]


def test_a_mode_is_entered_once() -> None:
    mode = Functionalize()
    with mode, pytest.raises(RuntimeError, match="entered already"):
        mode.__enter__()


def test_operators_without_a_functional_form_run_on_copies() -> None:
    values, indices = aten.zeros(3), aten.zeros(3, dtype=aten.int64)
    with Functionalize():
        aten.ops.aten._cummax_helper(aten.tensor([1.0, 3, 2]), values, indices, 0)
    assert (values.tolist(), indices.tolist()) == ([1, 3, 3], [0, 1, 1])


def test_a_recorded_function_runs_as_its_graph() -> None:
    scale = aten.tensor(2.0)

    def program(x: Any) -> dict[str, Any]:
        x[:, 0] *= scale
        return {"halves": x.split(1), "sum": x.sum()}

    recorded = record(functionalize(program), aten.ones(2, 3))
    assert recorded.constants == [scale]
    assert "slice_scatter" not in str(recorded)
    assert "select_scatter" in str(recorded)
    x = aten.full((2, 3), 5.0)
    results = recorded(x)
    assert results["sum"].item() == 40
    assert results["halves"][1].tolist() == [[10, 5, 5]]
    assert x.tolist() == [[10, 5, 5]] * 2


@pytest.mark.parametrize("to", ["core", "prims"])
def test_functionalized_and_taken_apart(to: str) -> None:
    def program(x: Any) -> Any:
        y = aten.nn.functional.layer_norm(x, (4,))
        y[0].relu_()
        return aten.nn.functional.gelu(y, approximate="tanh").softmax(-1)

    def taken_apart(x: Any) -> Any:
        with Decompose(to):
            return program(x)

    x = aten.randn(3, 4)
    watching = Watching()
    with watching:
        recorded = record(functionalize(taken_apart), x)
    aten.testing.assert_close(recorded(x), program(x))
    assert watching.written == []
    assert any(name.startswith("prims.") for name in recorded.graph.targets()) == (to == "prims")


@pytest.mark.parametrize("model", MODELS)
def test_programs_functionalized_give_and_write_the_same(model: str) -> None:
    plain, functional = (load(DATA / f"{model}.pt2") for _ in range(2))
    data = read_tensors(str(DATA / f"{model}.npz"))
    inputs = [data[name] for name in sorted(data) if name.startswith("in_")]
    expected, watching = plain.flat_call(inputs), Watching()
    with watching:
        given = functionalize(lambda *values: functional.flat_call(values))(*inputs)
    for one, two in zip(given, expected, strict=True):
        aten.testing.assert_close(one, two)
    for name, value in plain.state_dict.items():
        aten.testing.assert_close(functional.state_dict[name], value)
    assert watching.written == ["copy_"] * (2 if model == "static_kv_cache_decode" else 0)


def test_what_folds_rows_is_recorded() -> None:
    weight = aten.ones(4, 4)
    recorded = record(lambda x: aten.nn.functional.linear(x + 1, weight), aten.ones(1, 3, 4))
    assert len(recorded.constants) == 1


def test_operators_say_what_they_do_under_the_key() -> None:
    with Library("test_functionalize_key", "DEF") as library:
        library.define("twice_(Tensor(a!) x) -> Tensor(a!)")
        library.impl("twice_", lambda x: x.mul_(2), "CompositeExplicitAutograd")
        asked = []

        def rule(x: Any) -> Any:
            asked.append(tuple(x.shape))
            return x.add_(x)

        library.impl("twice_", rule, "Functionalize")
        twice = aten.ops.test_functionalize_key.twice_
        x = aten.ones(2, 2)
        watching = Watching()
        with watching, Functionalize():
            twice(x[0])
            # A mode that was entered later comes first.
            with Decompose("prims"):
                x.t()[0].add_(1)
        assert asked == [(2,)]
        assert x.tolist() == [[3, 2], [2, 1]]
        assert watching.written == ["copy_"]
        assert twice(x).tolist() == [[6, 4], [4, 2]]
        assert asked == [(2,)]
