"""Whole programs against what torch computed when it saved them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from program_files import DATA, DIGITS

from aten.cli import main
from aten.export import ExportedProgram, load
from aten.graph.tensor_files import read_tensors

MODELS = ("bert", "clip", "gpt2", "llama", "resnet18", "static_kv_cache_decode", "unet")


def run(program: ExportedProgram, data: dict[str, Any]) -> list[Any]:
    inputs = [data[name] for name in sorted(data) if name.startswith("in_")]
    return program.flat_call(inputs)


@pytest.mark.parametrize("name", ["digits_cnn.pt2", "digits_cnn_core.pt2"])
def test_digits(name: str) -> None:
    data = read_tensors(str(DIGITS / "digits_test.npz"))
    [output] = load(DIGITS / name).flat_call([data["x"]])
    probabilities = output.numpy()
    np.testing.assert_allclose(probabilities, data["expected"].numpy(), rtol=0, atol=1e-5)
    assert int((probabilities.argmax(-1) == data["labels"].numpy()).sum()) == 351


@pytest.mark.parametrize("name", ["digits_cnn.pt2", "digits_cnn_core.pt2"])
def test_digits_from_the_command_line(name: str, capsys: Any) -> None:
    arguments = [str(DIGITS / name), "--input", str(DIGITS / "digits_test.npz"), "--profile"]
    assert main(["run", *arguments]) == 0
    out = capsys.readouterr().out
    assert "351 of 360 right (97.5 %)" in out
    assert "largest difference to expected" in out
    assert "* more than 5 % of the time" in out
    assert "aten::convolution" in out


@pytest.mark.parametrize("batch", [1, 7, 4096])
def test_any_batch_in_range(batch: int, capsys: Any) -> None:
    arguments = ["digits_cnn.pt2", "--random", "--batch", str(batch)]
    assert main(["run", *arguments]) == 0
    assert f"output  softmax  float32[{batch}, 10]" in capsys.readouterr().out


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ir", ["", ".core"])
def test_models(model: str, ir: str) -> None:
    program = load(DATA / f"{model}{ir}.pt2")
    data = read_tensors(str(DATA / f"{model}.npz"))
    for position, output in enumerate(run(program, data)):
        expected = data[f"out_{position}"].numpy()
        np.testing.assert_allclose(output.numpy(), expected, rtol=1e-4, atol=1e-5)
