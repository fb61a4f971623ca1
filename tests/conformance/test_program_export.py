"""Programs that we export and save: torch loads them, and they compute what the module computes."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from exported_programs import Case, cases
from torch.utils._pytree import tree_leaves, tree_map, tree_unflatten

import aten
from aten.export import ExportedProgram, export, load, save

NAMES = list(cases())
NAMESPACES = ("aten.", "operator.", "higher_order.")


def to_torch(value: Any) -> Any:
    def moved(one: Any) -> Any:
        return (
            torch.from_numpy(one.detach().numpy().copy()) if isinstance(one, aten.Tensor) else one
        )

    return tree_map(moved, value)


def same(ours: Any, theirs: Any) -> None:
    left, right = tree_leaves(to_torch(ours)), tree_leaves(theirs)
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        else:
            assert one == other


def written(program: ExportedProgram) -> bytes:
    buffer = io.BytesIO()
    save(program, buffer)
    return buffer.getvalue()


def check(case: Case, program: ExportedProgram, args: tuple[Any, ...]) -> None:
    """The module, the program read by us, and the program read by torch, with their writes."""
    data = written(program)
    theirs = torch.export.load(io.BytesIO(data))
    given = [copy.deepcopy(args) for _ in range(2)]
    for_torch = to_torch(args)
    module = copy.deepcopy(case.module)
    expected = module(*given[0])
    read = load(io.BytesIO(data))
    same(read.module()(*given[1]), to_torch(expected))
    same(expected, theirs.module()(*for_torch))
    same(given[0], to_torch(given[1]))
    same(given[0], for_torch)
    for name, buffer in module.named_buffers():
        same(buffer, to_torch(dict(read.named_buffers())[name]))


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str) -> None:
    case = cases()[name]
    program = export(case.module, case.args)
    check(case, program, case.args)
    assert all(target.startswith(NAMESPACES) for target in program.graph.targets())


@pytest.mark.parametrize("to", ["as captured", "core"])
@pytest.mark.parametrize("name", [name for name, one in cases().items() if one.others])
def test_other_sizes_in_one_program(name: str, to: str) -> None:
    case = cases()[name]
    program = export(case.module, case.args, dynamic_shapes=case.dynamic_shapes)
    if to == "core":
        program = program.run_decompositions()
        assert program.dialect == "ATEN"
    assert case.others is not None
    check(case, program, case.others)
    check(case, program, case.args)


MODELS = Path(__file__).parent.parent / "data" / "programs"


@pytest.mark.parametrize("name", ["resnet18", "bert", "static_kv_cache_decode", "unet", "llama"])
def test_programs_of_torch_taken_apart(name: str) -> None:
    """torch wrote the program; what we make of it, torch runs as the one it wrote."""
    path = MODELS / f"{name}.pt2"
    program, theirs = load(path), torch.export.load(path)
    core = program.run_decompositions()
    ours = torch.export.load(io.BytesIO(written(core)))
    drawn = torch.Generator().manual_seed(0)
    leaves = []
    for _, record in program.input_metadata:
        shape, dtype = [int(size) for size in record.shape], getattr(torch, record.dtype.name)
        floating = dtype.is_floating_point
        one = torch.rand(shape, generator=drawn) if floating else torch.ones(shape)
        leaves.append(one.to(dtype))
    results = []
    for each in (ours, theirs):
        args, kwargs = tree_unflatten([one.clone() for one in leaves], theirs.call_spec.in_spec)
        with torch.no_grad():
            results.append(each.module()(*args, **kwargs))
    same([aten.from_numpy(one.detach().numpy()) for one in tree_leaves(results[0])], results[1])


@pytest.mark.parametrize("name", ["image", "language", "training", "groups", "bilinear"])
def test_core_programs_have_torch_s_core_operators(name: str) -> None:
    case = cases()[name]
    core = export(case.module, case.args).run_decompositions()
    for target in core.graph.targets():
        if target.startswith("operator."):
            continue
        namespace, base, overload = target.split(".")
        op = getattr(getattr(getattr(torch.ops, namespace), base), overload)
        assert torch.Tag.core in op.tags or op.is_view, target
