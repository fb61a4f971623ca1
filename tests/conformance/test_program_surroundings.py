"""Programs of modules that assign buffers and switch gradients and autocast, in both libraries."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import aten


def through_file(program: Any, saved_by: Any, read_by: Any) -> Any:
    file = io.BytesIO()
    saved_by.export.save(program, file)
    file.seek(0)
    return read_by.export.load(file)


def counter(lib: Any) -> Any:
    class Counter(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("first", lib.ones(2))
            self.register_buffer("second", lib.zeros(2), persistent=False)

        def forward(self, x: Any) -> Any:
            before = self.first
            self.first = self.first + x.sum(0)
            self.first, self.second = self.second, self.first
            self.first = self.first + before
            return x * self.first, before

    return Counter()


def test_assigned_buffers_are_mutations() -> None:
    n = aten.export.Dim("n")
    program = aten.export.export(counter(aten), (aten.ones(3, 2),), dynamic_shapes=({0: n},))
    written = {one.target for one in program.graph_signature.output_specs if one.target}
    assert written == {"first", "second"}
    read = through_file(program, aten, torch).module()
    ours, theirs = program.module(), counter(torch)
    for call in range(3):
        rows = [[float(call), 1.0]] * (call + 2)
        expected = [one.tolist() for one in theirs(torch.tensor(rows))]
        assert [one.tolist() for one in ours(aten.tensor(rows))] == expected
        assert [one.tolist() for one in read(torch.tensor(rows))] == expected


def test_assignments_a_program_cannot_hold() -> None:
    class Leaving(aten.nn.Module):
        def __init__(self, leave: Any) -> None:
            super().__init__()
            self.register_buffer("b", aten.zeros(2))
            self.p = aten.nn.Parameter(aten.ones(2))
            self.kept = aten.ones(2)
            self.leave = leave

        def forward(self, x: Any) -> Any:
            self.leave(self, x)
            return x * 2

    def attribute(module: Any, x: Any) -> None:
        module.kept = x + 1

    def other_shape(module: Any, x: Any) -> None:
        module.b = x.sum()

    def parameter(module: Any, x: Any) -> None:
        module.p = aten.nn.Parameter(x + 1)

    for leave, match in ((attribute, "kept"), (other_shape, "buffer b"), (parameter, "meter p")):
        module = Leaving(leave)
        before = module.kept, module.b, module.p
        with pytest.raises(aten.export.CaptureError, match=match):
            aten.export.export(module, (aten.ones(2),))
        after = module.kept, module.b, module.p
        assert all(one is other for one, other in zip(before, after, strict=True))


def partly_frozen(lib: Any) -> Any:
    class PartlyFrozen(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.p = lib.nn.Parameter(lib.ones(2))
            self.register_buffer("mean", lib.zeros(2))

        def forward(self, x: Any) -> Any:
            with lib.no_grad():
                y = self.p * 3
                place = y.argmax()
                self.mean.mul_(0.5).add_(x.sum())
                with lib.enable_grad():
                    z = self.p * 5
            first, second = (y * self.p).split(1)
            return y * x + self.p * x + z + place + first * second + self.mean

    return PartlyFrozen()


def half_region(lib: Any) -> Any:
    class HalfRegion(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.p = lib.nn.Parameter(lib.full((2, 2), 1 / 3))

        def forward(self, x: Any) -> Any:
            with lib.autocast("cpu", dtype=lib.bfloat16):
                y = x @ self.p
                with lib.autocast("cpu", enabled=False):
                    y = y + x @ self.p
            return y * (x @ self.p)

    return HalfRegion()


@pytest.mark.parametrize(
    ("make", "rows"), [(partly_frozen, [1.0, 2.0]), (half_region, [[1.0, 2.0]])]
)
@pytest.mark.parametrize("parted", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_gradients_through_regions(make: Any, rows: Any, parted: bool) -> None:
    def gradients(lib: Any, module: Any) -> list[Any]:
        for one in module.parameters():
            one.requires_grad_(True).grad = None
        x = lib.tensor(rows, requires_grad=True)
        result = module(x)
        result.sum().backward()
        found = [result, x.grad, *(one.grad for one in module.parameters())]
        return [one.detach().tolist() for one in found]

    expected = gradients(torch, make(torch))
    program = aten.export.export(make(aten), (aten.tensor(rows),))
    if parted:
        program = program.run_decompositions()
    assert gradients(torch, through_file(program, aten, torch).module()) == expected
    assert gradients(aten, program.module()) == expected
    if not parted:
        theirs = torch.export.export(make(torch), (torch.tensor(rows),))
        assert gradients(aten, through_file(theirs, torch, aten).module()) == expected
        again = through_file(theirs, torch, aten).run_decompositions()
        assert gradients(aten, again.module()) == expected
