"""`torch.compile(model, backend="aten")`: torch captures, and what runs is ours."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

import aten
from aten.adapters import torch_compile

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _backend() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(function: Any, **options: Any) -> Any:
    return torch.compile(function, backend=torch_compile.compile_graph, fullgraph=True, **options)


def test_torch_finds_the_backend_by_its_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["torch_dynamo_backends"]["aten"].partition(":")
    assert getattr(import_module(module), name) is torch_compile.compile_graph
    assert any("torch" in one for one in project["optional-dependencies"]["torch"])


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.SiLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(128, 10),
    )


def test_inference_of_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    call = aten.compiler.functions.CompiledFunction.__call__

    def counted(self: Any, *args: Any) -> Any:
        ran.append(len(args))
        return call(self, *args)

    monkeypatch.setattr(aten.compiler.functions.CompiledFunction, "__call__", counted)
    model = network().eval()
    fast = compiled(model)
    with torch.no_grad():
        for batch in (2, 2, 3, 5):
            x = torch.randn(batch, 3, 8, 8)
            torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)
    assert len(ran) == 4


def test_training_steps() -> None:
    model, other = network(), network()
    fast = compiled(other)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, other)]
    for _ in range(3):
        x, target = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))
        losses = []
        for run, optimizer in zip((model, fast), optimizers, strict=True):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(run(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-5)
    for one, mine in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, one, rtol=1e-4, atol=1e-5)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elements": (lambda x: (x + 1).relu() * x.sum(), (torch.randn(4, 5),)),
    "integers": (lambda x, i: x[i] + i.float().mean(), (torch.randn(4), torch.tensor([1, 3]))),
    "numbers": (lambda x, n: x * n + n, (torch.randn(4), 3)),
    "types": (lambda x: (x > 0, x.to(torch.float64), x.to(torch.bfloat16)), (torch.randn(4),)),
    "made": (lambda x: x + torch.arange(4, dtype=torch.float32).flip(0), (torch.randn(4),)),
    "written": (lambda x: x.mul_(2).add_(1).clone(), (torch.randn(3, 2),)),
    "views": (lambda x: x.t()[1:].reshape(-1), (torch.randn(4, 5),)),
    "given back": (lambda x: (x, x.view(-1)), (torch.randn(4, 5),)),
    "strided": (lambda x: x.cumsum(0) / 2, (torch.randn(8, 6)[::2, 1:],)),
    "nests": (lambda d: [d["x"] @ d["y"][0]], ({"x": torch.ones(2, 3), "y": [torch.ones(3)]},)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, given = FUNCTIONS[name]
    ours, theirs = copy.deepcopy(given), copy.deepcopy(given)
    torch.testing.assert_close(compiled(function)(*ours), function(*theirs), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours, theirs)


def test_dynamic_sizes_are_captured_once() -> None:
    fast = compiled(lambda x: (x * x.shape[0]).softmax(0), dynamic=True)
    for rows in (3, 4, 9, 30):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(fast(x), (x * rows).softmax(0))


def test_missing_operators_are_named() -> None:
    @torch.library.custom_op("torch_backend_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    with pytest.raises(Exception, match=r"does not have: torch_backend_test\.twice"):
        compiled(lambda x: twice(x))(torch.ones(2))
