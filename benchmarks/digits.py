"""The main job: the digits programs, right answers and time, beside torch running the same file."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from timing import Case, Result, measure

FOLDER = Path(__file__).resolve().parents[1] / "src/aten/examples/digits"
IMAGES, RIGHT = 360, 351
PROCESS_ROUNDS = 5
_TORCH_PROCESS = """
import sys, numpy, torch
program = torch.export.load(sys.argv[1]).module()
data = numpy.load(sys.argv[2])
with torch.no_grad():
    scores = program(torch.from_numpy(data["x"]))
print((scores.argmax(1).numpy() == data["labels"]).sum())
"""


def answers(name: str) -> list[Result]:
    """How many digits are wrong beyond torch's own, and how far probabilities are from torch's."""
    import numpy

    import aten

    data = numpy.load(FOLDER / "digits_test.npz")
    program = aten.export.load(FOLDER / name)
    (scores,) = program.flat_call([aten.from_numpy(data["x"])])
    found = numpy.asarray(scores)
    right = int((found.argmax(1) == data["labels"]).sum())
    return [
        Result(f"{name}: digits wrong, of {IMAGES}", "", IMAGES - right, IMAGES - RIGHT, limit=9),
        Result(
            f"{name}: largest difference of probabilities",
            "",
            float(abs(found - data["expected"]).max()),
            limit=1e-5,
        ),
    ]


_SETUP = """
import numpy
program = lib.export.load({path!r}).module()
x = lib.from_numpy(numpy.load({data!r})["x"])
"""


def whole_processes(ahead: bool = False) -> Result:
    """Seconds from the shell's prompt to the answers: `aten run`, and a script that uses torch.

    With `ahead` of a file that `aten compile` made, whose machine code is not looked for elsewhere.
    """
    files = [str(FOLDER / "digits_cnn.pt2"), str(FOLDER / "digits_test.npz")]
    theirs = [sys.executable, "-c", _TORCH_PROCESS, *files]
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "digits_cnn.atenc") if ahead else files[0]
        command = [sys.executable, "-m", "aten.cli"]
        if ahead:
            given = ["compile", files[0], "-o", model, "--batch", str(IMAGES)]
            subprocess.run([*command, *given], check=True)
        ours = [*command, "run", model, "--input", files[1]]
        for _ in range(PROCESS_ROUNDS):
            pair = []
            for command in (ours, theirs):
                started = perf_counter()
                subprocess.run(command, cwd=folder, capture_output=True, check=True)
                pair.append(perf_counter() - started)
            pairs.append(pair)
    name = "digits_cnn.atenc" if ahead else "digits_cnn.pt2"
    result = Result(f"{name}: from prompt to answers", "s", least_ratio=5)
    result.aten, result.torch = (statistics.median(column) for column in zip(*pairs, strict=True))
    result.ratio = statistics.median(theirs / ours for ours, theirs in pairs)
    return result


def run() -> list[Result]:
    results = []
    for name in ("digits_cnn.pt2", "digits_cnn_core.pt2"):
        results += answers(name)
        setup = _SETUP.format(path=str(FOLDER / name), data=str(FOLDER / "digits_test.npz"))
        title = f"{name}: {IMAGES} images"
        results += measure([Case(title, "program(x)", {}, setup, unit="ms", least_ratio=None)])
    return [*results, whole_processes(), whole_processes(ahead=True)]
