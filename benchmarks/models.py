"""Models at true size with random weights: torch eager, ONNX Runtime and OpenVINO beside aten.

    pip install 'aten[bench]' && python benchmarks/run.py models

Each model is built from transformers' definitions, exported once by torch into a folder
(`BENCHMARK_MODELS`, or one that goes with the process) as a .pt2 program and as an ONNX file,
and run by each library in a process of its own, two threads, float32, the idle ones stopped. All
answers must agree with torch's.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from timing import Case, Result, geometric_mean
from workers import WorkerError, working

ROUNDS = 9
SECONDS_PER_ROUND = 0.1
THREADS = 2
LIBRARIES = ("aten", "torch", "onnxruntime", "openvino")
# Of outputs, relative to their largest: float32 in other orders through a hundred layers.
TOLERANCE = 2e-3


def _vision(name: str, **settings: Any) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    def build() -> tuple[Any, tuple[Any, ...]]:
        import torch
        import transformers

        config = getattr(transformers, f"{name}Config")(**settings)
        model = getattr(transformers, f"{name}ForImageClassification")(config)
        return model, (torch.randn(1, 3, 224, 224),)

    return build


def _text(
    kind: str, tokens: int, config: str, **settings: Any
) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    def build() -> tuple[Any, tuple[Any, ...]]:
        import torch
        import transformers

        made = getattr(transformers, config)(attn_implementation="sdpa", **settings)
        if hasattr(made, "use_cache"):
            made.use_cache = False
        model = getattr(transformers, kind)(made)
        return model, (torch.randint(0, 1000, (1, tokens)),)

    return build


def _whisper() -> tuple[Any, tuple[Any, ...]]:
    import torch
    import transformers

    config = transformers.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536
    )
    return transformers.WhisperModel(config).encoder, (torch.randn(1, 80, 3000),)


_LLAMA = {
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
}
MODELS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "ResNet-18": _vision(
        "ResNet", depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic"
    ),
    "ResNet-50": _vision("ResNet"),
    "MobileNet-v2": _vision("MobileNetV2"),
    "EfficientNet-B0": _vision(
        "EfficientNet", width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280
    ),
    "ConvNeXt-T": _vision("ConvNext"),
    "ViT-B/16": _vision("ViT"),
    "Swin-T": _vision("Swin"),
    "BERT-base, 128 tokens": _text("BertModel", 128, "BertConfig"),
    "DistilBERT, 128 tokens": _text("DistilBertModel", 128, "DistilBertConfig"),
    "GPT-2, 64 tokens": _text("GPT2LMHeadModel", 64, "GPT2Config"),
    "Llama 130M, 64 tokens": _text("LlamaForCausalLM", 64, "LlamaConfig", **_LLAMA),
    "Llama 130M, 1 token": _text("LlamaForCausalLM", 1, "LlamaConfig", **_LLAMA),
    "CLIP text, 77 tokens": _text("CLIPTextModel", 77, "CLIPTextConfig"),
    "Whisper-tiny encoder": _whisper,
}


def cases() -> list[Case]:
    """One for each model, by name."""
    return [Case(name, "model") for name in MODELS]


def run() -> list[Result]:
    return measured(cases())


def measured(chosen: Iterable[Case]) -> list[Result]:
    """The models of these cases, and the means over them."""
    names = [case.name for case in chosen]
    kept = os.environ.get("BENCHMARK_MODELS")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(kept or made)
        folder.mkdir(exist_ok=True, parents=True)
        results: list[Result] = []
        beside: list[Result] = []
        for name in names:
            one, others = _one(name, folder / _stem(name))
            results.append(one)
            beside += others
    runtime = [one for one in beside if "ONNX" in one.name and not one.problem]
    openvino = [one for one in beside if "OpenVINO" in one.name and not one.problem]
    return [
        *results,
        *beside,
        geometric_mean("models: torch eager, mean", results, 2.2),
        geometric_mean("models: ONNX Runtime, mean", runtime, 0.85),
        geometric_mean("models: OpenVINO, mean", openvino, 0),
    ]


def _stem(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _one(name: str, stem: Path) -> tuple[Result, list[Result]]:
    """The model's times: beside torch's, and beside those of the other two."""
    result = Result(name, "ms", least_ratio=1.3)
    others = [
        Result(f"{name} ({title})", "ms", headline=False) for title in ("ONNX Runtime", "OpenVINO")
    ]
    try:
        if not stem.with_suffix(".onnx").exists():
            command = [sys.executable, __file__, name, str(stem)]
            subprocess.run(command, check=True, capture_output=True, text=True)
        problems, rounds = _rounds(stem)
    except subprocess.CalledProcessError as error:
        result.problem = (error.stderr.strip().splitlines() or ["export failed"])[-1]
    except WorkerError as error:
        result.problem = str(error)
    if result.problem:
        for one in others:
            one.problem = result.problem
        return result, others
    ours = [row["aten"] for row in rounds]
    for one, library in zip((result, *others), LIBRARIES[1:], strict=True):
        one.problem = problems.get(library, "")
        if one.problem:
            continue
        # What the row calls torch's time is that library's.
        theirs = [row[library] for row in rounds]
        one.aten, one.torch = 1e3 * statistics.median(ours), 1e3 * statistics.median(theirs)
        one.ratio = statistics.median(one / own for one, own in zip(theirs, ours, strict=True))
    return result, others


def _rounds(stem: Path) -> tuple[dict[str, str], list[dict[str, float]]]:
    """What is wrong with a library that is there to be compared, and seconds of calls by library.

    Raises WorkerError where aten or torch cannot run the model, or differ.
    """
    import numpy

    problems: dict[str, str] = {}
    with working("models", LIBRARIES) as workers:
        outputs = {}
        for worker in workers:
            try:
                worker.ask("load", str(stem))
                outputs[worker.library] = worker.ask("output")
            except WorkerError as error:
                if worker.library in LIBRARIES[:2]:
                    raise
                problems[worker.library] = str(error)
        expected = outputs["torch"]
        bound = TOLERANCE * float(numpy.abs(expected).max())
        for library, found in outputs.items():
            difference = float(numpy.abs(found - expected).max())
            if difference <= bound:
                continue
            problem = f"{library} differs from torch by {difference:g}"
            if library == "aten":
                raise WorkerError(problem)
            problems[library] = problem
        running = [worker for worker in workers if worker.library not in problems]
        return problems, [
            {worker.library: worker.ask("time") for worker in running} for _ in range(ROUNDS)
        ]


# In the process of a library

_loaded: list[tuple[Callable[[], Any], int]] = []


def answer(lib: Any, what: str, stem: str = "") -> Any:
    """What the measuring process asks for: to load a model, its first output, or a time."""
    if what == "load":
        warnings.simplefilter("ignore")
        call = {"aten": _program, "torch": _program, "onnxruntime": _session}.get(
            lib.__name__, _compiled
        )(lib, Path(stem))
        call()
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        _loaded[:] = [(call, max(1, int(SECONDS_PER_ROUND / once)))]
        return None
    call, number = _loaded[0]
    if what == "output":
        return call()
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def _inputs(stem: Path) -> dict[str, Any]:
    import numpy

    with numpy.load(stem.with_suffix(".npz")) as file:
        return dict(file)


def _program(lib: Any, stem: Path) -> Callable[[], Any]:
    """The exported program, run operator by operator."""
    import numpy

    lib.set_num_threads(THREADS)
    module = lib.export.load(str(stem.with_suffix(".pt2"))).module()
    given = [lib.from_numpy(one) for one in _inputs(stem).values()]

    def call() -> Any:
        with lib.inference_mode():
            return numpy.asarray(_first(module(*given)))

    return call


def _first(made: Any) -> Any:
    while not hasattr(made, "shape"):
        made = next(iter(made.values())) if isinstance(made, dict) else made[0]
    return made


def _session(lib: Any, stem: Path) -> Callable[[], Any]:
    options = lib.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    path = str(stem.with_suffix(".onnx"))
    session = lib.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    values = list(_inputs(stem).values())
    named = {one.name: value for one, value in zip(session.get_inputs(), values, strict=True)}
    return lambda: session.run(None, named)[0]


def _compiled(lib: Any, stem: Path) -> Callable[[], Any]:
    settings = {
        "INFERENCE_NUM_THREADS": THREADS,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    model = lib.Core().compile_model(str(stem.with_suffix(".onnx")), "CPU", settings)
    given = list(_inputs(stem).values())
    return lambda: model(given)[0]


# In a process that exports


def export(name: str, stem: Path) -> None:
    """Write a model's program, ONNX file and inputs."""
    import numpy
    import torch

    torch.manual_seed(0)
    model, inputs = MODELS[name]()

    class Alone(torch.nn.Module):
        """The model's first output."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: Any) -> Any:
            return _first(self.model(*given))

    alone = Alone().eval()
    for one in model.modules():
        if isinstance(one, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(one.running_var, 0.5, 1.5)
    numpy.savez(stem.with_suffix(".npz"), *(one.numpy() for one in inputs))
    with torch.no_grad():
        program = torch.export.export(alone, inputs)
        torch.export.save(program, str(stem.with_suffix(".pt2")))
        torch.onnx.export(alone, inputs, str(stem.with_suffix(".onnx")), dynamo=True, verbose=False)


if __name__ == "__main__":
    export(sys.argv[1], Path(sys.argv[2]))
