"""Programs that we write, read and run by torch: what torch wrote, read by us and written again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import aten
from aten.export import ExportedProgram, load, save

DATA = Path(__file__).parent.parent / "data" / "programs"
DIGITS = Path(__file__).parents[2] / "src" / "aten" / "examples" / "digits"
FILES = [*sorted(DATA.glob("*.pt2")), *sorted(DIGITS.glob("*.pt2"))]


def written(program: ExportedProgram) -> io.BytesIO:
    buffer = io.BytesIO()
    save(program, buffer)
    buffer.seek(0)
    return buffer


def torch_program(program: ExportedProgram) -> Any:
    return torch.export.load(written(program))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_torch_reads_what_it_wrote(path: Path) -> None:
    """The same code, signature, limits and state as in the file that torch wrote."""
    ours, theirs = torch_program(load(path)), torch.export.load(path)
    assert ours.graph_module.code == theirs.graph_module.code
    assert str(ours.graph_signature) == str(theirs.graph_signature)
    assert ours.range_constraints == theirs.range_constraints
    assert ours.call_spec == theirs.call_spec
    assert ours.dialect == theirs.dialect
    assert [entry.fqn for entry in ours.module_call_graph] == [
        entry.fqn for entry in theirs.module_call_graph
    ]
    for mine, other in ((ours.state_dict, theirs.state_dict), (ours.constants, theirs.constants)):
        assert list(mine) == list(other)
        for name, expected in other.items():
            assert type(mine[name]) is type(expected)
            assert mine[name].stride() == expected.stride()
            torch.testing.assert_close(mine[name], expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_reading_again_gives_the_same(path: Path) -> None:
    program = load(path)
    again = load(written(program))
    assert str(again) == str(program)
    assert again.guards == program.guards
    assert again.call_spec == program.call_spec
    assert written(again).getvalue() == written(program).getvalue()


def test_dynamic_sizes_stay_dynamic() -> None:
    program = torch_program(load(DIGITS / "digits_cnn.pt2"))
    expected = torch.export.load(DIGITS / "digits_cnn.pt2")
    for batch in (1, 3, 17):
        x = torch.randn(batch, 1, 8, 8)
        torch.testing.assert_close(program.module()(x), expected.module()(x), rtol=0, atol=0)


def test_outputs_of_a_model() -> None:
    inputs = [torch.from_numpy(one) for one in np.load(DATA / "resnet18.npz").values()]
    path = DATA / "resnet18.pt2"
    given = [one for one in inputs if one.dim() == 4][:1]
    ours, theirs = torch_program(load(path)).module(), torch.export.load(path).module()
    torch.testing.assert_close(ours(*given), theirs(*given), rtol=0, atol=0)


class Sharing(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.second.weight = self.first.weight
        whole = torch.arange(12.0)
        self.register_buffer("whole", whole)
        self.register_buffer("even", whole[::2])
        self.register_buffer("odd", whole[1::2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.even.add_(1)
        return self.second(self.first(x)).sum() + self.even.sum() + self.odd.sum()


def test_shared_memory_is_written_once_and_stays_shared(tmp_path: Path) -> None:
    exported = torch.export.export(Sharing(), (torch.randn(2, 4),))
    torch.export.save(exported, tmp_path / "sharing.pt2")
    ours = torch_program(load(tmp_path / "sharing.pt2"))
    state = ours.state_dict
    shared = [state[name].untyped_storage().data_ptr() for name in ("even", "odd")]
    assert shared[0] == shared[1]
    assert state["first.weight"].data_ptr() == state["second.weight"].data_ptr()
    x = torch.randn(2, 4)
    torch.testing.assert_close(ours.module()(x), exported.module()(x))


@pytest.mark.parametrize(
    "name",
    [
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool", "uint8"),
        *("int8", "int16", "int32", "int64", "uint16", "uint32", "float8_e4m3fn", "float8_e5m2"),
    ],
)
def test_weights_of_every_type_and_layout(name: str) -> None:
    dtype = getattr(aten, name)
    whole = aten.arange(24).to(dtype).view(4, 6)

    class Held(aten.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("part", whole[1:3, ::2])
            self.register_buffer("turned", whole.t())
            self.register_buffer("repeated", whole[:1, :1].expand(3, 2))
            self.register_buffer("empty", whole[:0])
            self.register_buffer("scalar", whole[2, 3])

        def forward(self, x: aten.Tensor) -> tuple[aten.Tensor, ...]:
            held = (self.part, self.turned, self.repeated, self.empty, self.scalar)
            return tuple(one.clone() for one in held)

    program = aten.export.export(Held(), (aten.ones(1),))
    theirs = torch_program(program)
    for key, expected in program.state_dict.items():
        given = theirs.state_dict[key]
        assert given.stride() == expected.stride()
        assert given.dtype is getattr(torch, name)
        assert (
            given.float().tolist() == expected.float().tolist()
            if not dtype.is_complex
            else (given.tolist() == expected.tolist())
        )
    assert len(theirs.module()(torch.ones(1))) == 5


def test_a_failed_write_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "digits.pt2"
    program = load(DIGITS / "digits_cnn.pt2")
    save(program, path)
    before = path.read_bytes()
    program.constants["object"] = object()  # type: ignore[assignment]
    with pytest.raises(aten.export.FormatError, match="object"):
        save(program, path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["digits.pt2"]
