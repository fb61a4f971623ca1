"""Functions and modules that we script and torch scripts, from one source: they give the same."""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

import aten

SOURCE = Path(__file__).parent / "scripted_programs.txt"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, ModuleType]:
    """The source with one library, and with the other."""
    folder = tmp_path_factory.mktemp("programs")
    made = []
    for library in ("aten", "torch"):
        path = folder / f"programs_of_{library}.py"
        path.write_text(SOURCE.read_text().replace("LIBRARY", library))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made.append(module)
    return made[0], made[1]


def to_torch(value: Any) -> Any:
    return tree_map(
        lambda one: (
            torch.from_numpy(one.detach().numpy().copy()) if isinstance(one, aten.Tensor) else one
        ),
        value,
    )


def torch_scripted(target: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(target)


def same(ours: Any, theirs: Any) -> None:
    left, right = tree_leaves(to_torch(ours)), tree_leaves(theirs)
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other.detach())
        else:
            assert one == pytest.approx(other)


def saved(scripted: Any) -> Any:
    buffer = io.BytesIO()
    aten.jit.save(scripted, buffer)
    buffer.seek(0)
    return aten.jit.load(buffer)


X = aten.arange(6.0).view(2, 3) - 2
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("loops", (X + 3, 3)),
    ("loops", (X + 3, 7)),
    ("rows", (X,)),
    ("rows", (-X - 10,)),
    *(("early", (X, level)) for level in (2.0, 0.7, 0.1)),
    ("optional", (X,)),
    ("optional", (X, X * 2)),
    ("tuples", (X,)),
    ("tables", (X,)),
    ("comprehension", (X,)),
    ("numbers", (X, 7)),
    ("writes", (X,)),
]


@pytest.mark.parametrize(("name", "args"), CALLS, ids=lambda one: one if type(one) is str else "")
def test_functions(programs: tuple[ModuleType, ModuleType], name: str, args: Any) -> None:
    ours, theirs = (getattr(one, name) for one in programs)
    scripted = aten.jit.script(ours)
    expected = torch_scripted(theirs)(*to_torch(args))
    same(scripted(*args), expected)
    again = saved(scripted)
    assert again.code == scripted.code
    same(again(*args), expected)


def test_a_module_with_state(programs: tuple[ModuleType, ModuleType]) -> None:
    ours, theirs = programs[0].Net(3).eval(), programs[1].Net(3).eval()
    theirs.load_state_dict(to_torch(dict(ours.state_dict())))
    scripted = aten.jit.script(ours)
    expected = torch_scripted(theirs)
    copies: list[Callable[..., Any]] = [saved(scripted), aten.jit.freeze(saved(scripted))]
    copies.append(saved(copies[1]))
    for args in ((X,), (X, (aten.ones(3), 4))):
        wanted = expected(*to_torch(args))
        for one in (scripted, *copies):
            same(one(*args), wanted)
    assert sorted(scripted.state_dict()) == sorted(expected.state_dict())
    for one in (scripted, *copies):
        same(one.seen, expected.seen)
    assert "training" in scripted.code
    assert "training" not in copies[1].code


@pytest.mark.parametrize("name", ["gate", "lambda", "layers"])
def test_traces(programs: tuple[ModuleType, ModuleType], name: str) -> None:
    made: dict[str, Callable[[], Any]] = {
        "gate": lambda: programs[0].Gate(3).eval(),
        "lambda": lambda: lambda x: {"out": (x * 2).relu(), "more": [x.sum(0)]},
        "layers": lambda: aten.nn.Sequential(aten.nn.Linear(3, 4), aten.nn.LayerNorm(4)),
    }
    function = made[name]()
    traced = aten.jit.trace(function, X)
    for x in (X, aten.cat([X, X * 2])):
        same(traced(x), to_torch(function(x)))
    buffer = io.BytesIO()
    traced.save(buffer)
    buffer.seek(0)
    same(aten.jit.load(buffer)(X), to_torch(function(X)))
    buffer.seek(0)
    same(function(X), torch.export.load(buffer).module()(to_torch(X)))
