"""Models as people write them, small: one dynamic program, run here in every form as by torch."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import architectures
import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

import aten
from aten.export import ExportedProgram, load, save

# Float32 in other orders through some layers, of results about one.
CLOSE = {"rtol": 1e-4, "atol": 2e-5}
# How many boxes are left depends on the data.
DATA_DEPENDENT = ("Detector",)

# Millions of parameters as the models were published, without what depends on the classes.
PARAMETERS = {
    "ResNet-18": 11.18,
    "ResNet-50": 23.51,
    "MobileNet-v2": 2.22,
    "MobileNet-v3": 5.48,
    "EfficientNet-B0": 4.01,
    "ConvNeXt-T": 27.8,
    "ViT-B/16": 85.8,
    "Swin-T": 27.5,
    "CLIP image": 86.2,
    "CLIP text, 77 tokens": 63.4,
    "BERT-base, 128 tokens": 109.5,
    "DistilBERT, 128 tokens": 66.4,
    "GPT-2, 64 tokens": 124.4,
    "T5-small": 60.5,
    "Whisper-tiny": 37.8,
    "UNet": 31.0,
}


class Case(NamedTuple):
    """A model's program, and torch's results for each of two batches."""

    name: str
    program: ExportedProgram
    expected: list[tuple[tuple[Any, ...], Any]]


@pytest.fixture(scope="module", params=list(architectures.ARCHITECTURES))
def case(request: pytest.FixtureRequest) -> Case:
    name = request.param
    expected = []
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of libraries that are none of ours
        model = architectures.built(name, "small")
        file = io.BytesIO()
        torch.export.save(architectures.exported(name, "small"), file)
        for batch in architectures.ARCHITECTURES[name].batches:
            given = architectures.given(name, "small", batch)
            expected.append((given, model(*given)))
    file.seek(0)
    return Case(name, load(file), expected)


def check(case: Case, called: Callable[..., Any]) -> None:
    for given, expected in case.expected:
        ours = tree_map(lambda one: aten.from_numpy(one.numpy()), given)
        with aten.inference_mode():
            found = tree_leaves(called(*ours))
        wanted = tree_leaves(expected)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(torch.from_numpy(one.numpy().copy()), other, **CLOSE)


def test_eager(case: Case) -> None:
    check(case, case.program.module())


def test_compiled(case: Case) -> None:
    if case.name in DATA_DEPENDENT:
        compiled = aten.compile(case.program.module())
        check(case, compiled)
        assert "run eagerly" in aten.compiler.explain(compiled)
        return
    compiled = aten.compile(case.program.module(), fullgraph=True)
    check(case, compiled)
    assert "program 2" in aten.compiler.explain(compiled)


def test_core_aten_eager_and_compiled(case: Case) -> None:
    core = case.program.run_decompositions()
    assert core.dialect == "ATEN"
    check(case, core.module())
    whole = case.name not in DATA_DEPENDENT
    check(case, aten.compile(core.module(), fullgraph=whole, dynamic=whole or None))


def test_torch_reads_what_we_write(case: Case) -> None:
    file = io.BytesIO()
    save(case.program, file)
    file.seek(0)
    module = torch.export.load(file).module()
    for given, expected in case.expected:
        with torch.no_grad():
            torch.testing.assert_close(module(*given), expected, **CLOSE)


@pytest.mark.parametrize("name", PARAMETERS)
def test_true_sizes_are_those_of_the_published_models(name: str) -> None:
    with torch.device("meta"):
        model = architectures.built(name, "true")
    millions = sum(one.numel() for one in model.parameters()) / 1e6
    assert millions == pytest.approx(PARAMETERS[name], rel=5e-3)
