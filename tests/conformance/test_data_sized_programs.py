"""Programs whose sizes data choose: torch loads what we save, and computes what it computes itself.

Each function is written once, for either library.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch

import aten
from aten.export import Dim, ExportedProgram, export, load

ROWS = Dim("rows", max=40)
SOME = [[3, -1, 2], [1, 3, -2], [-1, 2, 0], [2, 1, 1]]
INPUTS = {
    "some": SOME,
    "none": [[0] * 3] * 4,
    "one": [[0] * 3, [0, 5, 0], [0] * 3, [0] * 3],
    "all": [[2, 1, 2]] * 4,
}
MORE = {"longer": SOME + SOME, "shorter": [[1, 0, 2], [0, 0, 0]]}


def writes(m: Any, x: Any) -> Any:
    y = x.clone()
    y[x > 1] = 7
    y[x > 0] += x[x > 0]
    return y


def follows(m: Any, x: Any) -> Any:
    rows = x[x[:, 0] > 0]
    weight = m.arange(12).reshape(3, 4).to(x.dtype)
    return (
        m.cat([rows, x]),
        rows @ weight,
        rows.t().reshape(-1),
        rows.unsqueeze(1) * x,
        rows.sum(0),
        m.zeros(rows.shape[0] + 2 * x.shape[0]),
        m.arange(rows.shape[0]),
        rows.shape[0],
    )


def layers(m: Any, x: Any) -> Any:
    f = m.nn.functional
    places = x.nonzero()
    table = m.arange(20).reshape(10, 2).to(x.dtype)
    rows = x[x.sum(1) > 0]
    return (
        f.embedding(places[:, 1], table),
        f.linear(rows, m.arange(6).reshape(2, 3).to(x.dtype)),
        f.relu(rows).clamp(max=2),
        rows.repeat(2, 1).narrow(1, 0, 2),
    )


def repeats(m: Any, x: Any) -> Any:
    counts = (x[:, 0] > 0).to(m.int64) * 2
    return x.repeat_interleave(counts, dim=0), m.repeat_interleave(counts)


def uniques(m: Any, x: Any) -> Any:
    return (
        *m.unique(x, return_inverse=True, return_counts=True),
        *m.unique(x, dim=0, return_inverse=True, return_counts=True),
        *m.unique_consecutive(x, return_inverse=True, return_counts=True),
    )


def counted(m: Any, x: Any) -> Any:
    numbers = x.clamp(min=0).to(m.int64).flatten()
    return m.bincount(numbers), m.bincount(numbers, minlength=7), m.bincount(numbers, numbers * 0.5)


ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "nonzero of all kinds": lambda m, x: (
        x.nonzero(),
        m.argwhere(x),
        *x.nonzero(as_tuple=True),
        *m.where(x > 0),
        m.nonzero(x).flatten(),
    ),
    "masks": lambda m, x: (
        x[x > 0],
        x[x[:, 0] > 0],
        x[:, x[0] > 0],
        x[x[:, 0] > 0, 1],
        x.t()[x.t() > 1],
        m.masked_select(x, x[:, :1] > 0),
    ),
    "masks without dimensions": lambda m, x: (x[x.sum() > 5], x[0, x.sum() > 5], x[:, x[0, 0] > 0]),
    "one mask for two": lambda m, x: x[x > 0] * (x + 1)[x > 0] + m.masked_select(x, x > 0),
    "a mask of what was chosen": lambda m, x: x[x > 0][x[x > 0] > 1],
    "writes": writes,
    "what follows": follows,
    "layers": layers,
    "repeats": repeats,
    "unique": uniques,
    "bincount": counted,
    "padded": lambda m, x: m.cat([x[x > 0], m.zeros(x.numel() - x[x > 0].shape[0])]),
}
DTYPES = ("float32", "float64", "int64", "int32", "uint8", "float16", "bfloat16")
UNORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "nonzero": lambda m, x: (x.nonzero(), m.argwhere(x), x.flatten().nonzero()),
    "masks": lambda m, x: (x[x != 0], m.masked_select(x, x != 0), x[(x != 0)[:, 1]]),
    "joined": lambda m, x: m.cat([x[x != 0], x.flatten()]),
}
CASES = [
    *((name, dtype) for name in ORDERED for dtype in DTYPES[:3]),
    *(("masks", dtype) for dtype in DTYPES[3:]),
    *(("nonzero of all kinds", dtype) for dtype in DTYPES[3:]),
]


def to_torch(value: Any) -> Any:
    return (
        torch.utils.dlpack.from_dlpack(value.detach()) if isinstance(value, aten.Tensor) else value
    )


def flat(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def same(found: Any, expected: Any, where: str) -> None:
    assert len(flat(found)) == len(flat(expected))
    for one, other in zip(flat(found), flat(expected), strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, msg=lambda text: f"{where}: {text}")
        else:
            assert one == other


def written(program: ExportedProgram) -> bytes:
    buffer = io.BytesIO()
    program.save(buffer)
    return buffer.getvalue()


def check(function: Any, program: ExportedProgram, dtype: str, inputs: dict[str, Any]) -> None:
    """The program, read by us and by torch, beside the function in torch."""
    data = written(program)
    ours, theirs = load(io.BytesIO(data)), torch.export.load(io.BytesIO(data))
    symbols = {str(name) for name in theirs.range_constraints}
    assert symbols == set(program.range_constraints)
    assert any(name.startswith("u") for name in symbols)
    modules = ours.module(), theirs.module()
    for name, rows in inputs.items():
        given = torch.tensor(rows).to(getattr(torch, dtype))
        expected = function(torch, given.clone())
        x = aten.tensor(rows).to(getattr(aten, dtype))
        same([to_torch(one) for one in flat(modules[0](x))], expected, f"ours, {name}")
        same(modules[1](given.clone()), expected, f"torch, {name}")


@pytest.mark.parametrize("shapes", [None, ({0: ROWS},)], ids=["fixed", "rows"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_example(name: str, dtype: str, shapes: Any) -> None:
    function = ORDERED[name]
    x = aten.tensor(SOME).to(getattr(aten, dtype))
    program = export(lambda x: function(aten, x), (x,), dynamic_shapes=shapes)
    check(function, program, dtype, INPUTS | MORE if shapes else INPUTS)


@pytest.mark.parametrize("dtype", ["bool", "complex64", "float64"])
@pytest.mark.parametrize("name", UNORDERED)
def test_elements_without_an_order(name: str, dtype: str) -> None:
    function = UNORDERED[name]
    x = aten.tensor(SOME).to(getattr(aten, dtype))
    check(function, export(lambda x: function(aten, x), (x,)), dtype, INPUTS)


@pytest.mark.parametrize("name", ORDERED)
def test_core_programs(name: str) -> None:
    function = ORDERED[name]
    program = export(
        lambda x: function(aten, x), (aten.tensor(SOME).float(),), dynamic_shapes=({0: ROWS},)
    )
    check(function, program.run_decompositions(), "float32", INPUTS | MORE)


@pytest.mark.filterwarnings("ignore:`isinstance.treespec:FutureWarning")
def test_torch_takes_our_programs_apart() -> None:
    """It traces them again, with symbols for sizes."""
    program = export(lambda x: follows(aten, x), (aten.tensor(SOME).float(),))
    theirs = torch.export.load(io.BytesIO(written(program))).run_decompositions()
    for rows in INPUTS.values():
        x = torch.tensor(rows).float()
        same(theirs.module()(x), follows(torch, x), "taken apart")


def test_programs_of_torch_are_taken_apart() -> None:
    class Chooses(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.nonzero().sum(0), x[x > 0].softmax(0), *uniques(torch, x)

    buffer = io.BytesIO()
    torch.export.save(torch.export.export(Chooses(), (torch.tensor(SOME).float(),)), buffer)
    core = load(io.BytesIO(buffer.getvalue())).run_decompositions()
    theirs = torch.export.load(io.BytesIO(written(core))).module()
    for rows in INPUTS.values():
        x = torch.tensor(rows).float()
        same(theirs(x), Chooses()(x), "torch")
        found = core.module()(aten.tensor(rows).float())
        same([to_torch(one) for one in found], Chooses()(x), "ours")


def test_checks_are_made_by_torch() -> None:
    def mean(m: Any, x: Any) -> Any:
        return x[x > 0].mean() if x[x > 0].numel() else m.zeros(())

    program = export(lambda x: mean(aten, x), (aten.tensor(SOME).float(),))
    theirs = torch.export.load(io.BytesIO(written(program))).module()
    for name in ("some", "one", "all"):
        x = torch.tensor(INPUTS[name]).float()
        same(theirs(x), mean(torch, x), name)
    with pytest.raises(RuntimeError, match=r"u0 \(nonzero\) is below 1"):
        theirs(torch.zeros(4, 3))
