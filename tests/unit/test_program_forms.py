"""Programs on other devices, and a sample of what `tools/program_forms.py` compares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program_files import DATA, DIGITS

import aten
from aten.cli import main
from aten.export import load
from aten.graph.tensor_files import read_tensors

TOOL = Path(__file__).parents[2] / "tools" / "program_forms.py"
SAMPLE = [
    ("static_kv_cache_decode", "cpu", ()),
    ("llama", "reference", ("plain", "functional")),
    ("static_kv_cache_decode", "npu", ("plain", "prims", "functional core")),
    ("resnet18", "npu", ("plain",)),
]


@pytest.mark.parametrize(("name", "device", "forms"), SAMPLE)
def test_a_program_gives_what_torch_gave(name: str, device: str, forms: tuple[str, ...]) -> None:
    """In a process of its own: the example backend is there once, and stays."""
    chosen = ["--forms", *forms] if forms else []
    done = subprocess.run(
        [sys.executable, "-W", "error", TOOL, name, "--devices", device, *chosen],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all agree\n")


def test_a_module_moves_with_its_program() -> None:
    data = read_tensors(str(DIGITS / "digits_test.npz"))
    x = data["x"][:4]
    module = load(DIGITS / "digits_cnn.pt2").module()
    expected = module(x)
    assert module.to("reference") is module
    given = module(x.to("reference"))
    assert given.device.type == "reference"
    assert {one.device.type for one in module.parameters()} == {"reference"}
    aten.testing.assert_close(given.to("cpu"), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(aten.export.InputError, match="runs on reference"):
        module(x)


def test_a_program_is_loaded_to_a_device() -> None:
    program = load(DATA / "llama.pt2", device="meta")
    assert all(one.is_meta for one in program.parameters())
    tokens = read_tensors(str(DATA / "llama.npz"))["in_0"]
    [output] = program.flat_call([tokens.to("meta")])
    assert output.is_meta
    assert "device(type='cpu')" not in str(program.graph)


def test_a_program_runs_on_a_device_from_the_command_line(capsys: Any) -> None:
    arguments = ["digits_cnn.pt2", "--random", "--batch", "3", "--device", "reference"]
    assert main(["run", *arguments]) == 0
    assert "output  softmax  float32[3, 10]" in capsys.readouterr().out
