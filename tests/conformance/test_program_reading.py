"""Programs as we read them, computed by torch's operators: what reading got wrong would show.

Our reader, signature and interpreter run; only the operators are torch's. So every program can be
checked, whatever operators are there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.export import InputKind, OutputKind, load
from aten.graph.interpreter import Interpreter
from aten.graph.operators import PYTHON_FUNCTIONS

DATA = Path(__file__).parent.parent / "data" / "programs"
DIGITS = Path(__file__).parents[2] / "src" / "aten" / "examples" / "digits"
MODELS = sorted(
    path.name for path in DATA.glob("*.pt2") if not path.name.startswith(("control_flow", "kinds"))
)


def to_torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.from_numpy(value.numpy())
    if isinstance(value, (dtype, layout, memory_format)):
        return getattr(torch, value.name)
    if isinstance(value, device):
        return torch.device(str(value))
    return value


def torch_operator(target: str) -> Callable[..., Any]:
    namespace, name, overload = target.split(".")
    if namespace != "aten":
        return PYTHON_FUNCTIONS[target]
    function = getattr(getattr(torch.ops.aten, name), overload)

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(to_torch, args), **{k: to_torch(v) for k, v in kwargs.items()})

    return call


def find(target: str) -> Callable[..., Any]:
    is_python = target.partition(".")[0] != "aten" or target.startswith("aten.sym_")
    return PYTHON_FUNCTIONS[target] if is_python else torch_operator(target)


def run(path: Path, inputs: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """User outputs, and the mutated state or inputs by name."""
    program = load(path)
    graph = program.graph
    given = iter(inputs)
    arguments = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            arguments.append(next(given))
            continue
        state = {**program.constants, **program.state_dict}
        arguments.append(to_torch(state[spec.target or ""]))
    functions = {target: find(target) for target in graph.targets()}
    with torch.no_grad():
        results = Interpreter(graph, functions).run(arguments)
    specs = program.graph_signature.output_specs
    pairs = list(zip(results, specs, strict=True))
    user = [result for result, spec in pairs if spec.kind is OutputKind.USER_OUTPUT]
    mutated = {spec.target or "": result for result, spec in pairs if spec.target is not None}
    return user, mutated


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    data = np.load(DATA / f"{name.partition('.')[0]}.npz")
    names = sorted(key for key in data.files if key.startswith("in_"))
    outputs, _ = run(DATA / name, [torch.from_numpy(data[key]) for key in names])
    assert outputs
    for position, output in enumerate(outputs):
        np.testing.assert_allclose(output.numpy(), data[f"out_{position}"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["digits_cnn.pt2", "digits_cnn_core.pt2"])
@pytest.mark.parametrize("count", [1, 360])
def test_digits(name: str, count: int) -> None:
    data = np.load(DIGITS / "digits_test.npz")
    [output], _ = run(DIGITS / name, [torch.from_numpy(data["x"][:count])])
    np.testing.assert_allclose(output.numpy(), data["expected"][:count], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["kinds.pt2", "kinds.core.pt2"])
def test_every_kind_of_argument_and_result(name: str) -> None:
    inputs = [torch.randn(12, 4), torch.randn(9, 3), 2, None]
    module = torch.export.load(DATA / name).module()
    x = inputs[0].clone()
    expected = module(x, {"a": inputs[1]}, factor=2, mode=None)
    outputs, mutated = run(DATA / name, inputs)
    half, zeros, joined, total, more, nothing, three = outputs
    assert (more, nothing, three) == expected[2:] == (13, None, 3)
    wanted = [*expected[0].values(), *expected[1]]
    for output, reference in zip((half, zeros, joined, total), wanted, strict=True):
        torch.testing.assert_close(output, reference)
    if mutated:
        torch.testing.assert_close(mutated["x"], x)
        torch.testing.assert_close(mutated["count"], torch.ones(3))


def test_control_flow() -> None:
    inputs = [torch.randn(10, 4), torch.tensor([0.0, 1, 0, 2, 3, 0])]
    expected = torch.export.load(DATA / "control_flow.pt2").module()(*inputs)
    outputs, _ = run(DATA / "control_flow.pt2", inputs)
    for output, reference in zip(outputs, expected, strict=True):
        torch.testing.assert_close(output, reference)
