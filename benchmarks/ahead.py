"""From the shell's prompt to the first output of a program compiled ahead of time.

Whole processes, one kind after the other in each round; what counts is the median. The bare
interpreter and the import of the package are beside the program, because it has to wait for both.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from import_time import is_editable
from timing import Result

DIGITS = Path(__file__).resolve().parents[1] / "src/aten/examples/digits/digits_cnn.pt2"
# The file is compiled for so many images, and has to serve others as well.
IMAGES, OTHERS, ROUNDS = 360, 77, 21
_LIBRARY = """
import sys
from aten.compiler import ahead
from aten.graph.tensor_files import read_tensors
print(ahead.load(sys.argv[1]).flat_call([*read_tensors(sys.argv[2]).values()])[0].shape)
"""


def run() -> list[Result]:
    start = "digits_cnn.atenc: from prompt to first output"
    result = Result(f"{start}, {IMAGES} images", "ms", limit=60)
    other = Result(f"{start}, {OTHERS} images, which it was not compiled for", "ms", limit=60)
    library = Result(f"{start}, {IMAGES} images, in a script", "ms", limit=60, headline=False)
    if is_editable():
        result.problem = "aten is installed in editable mode, which checks for changes at import"
        return [result]
    with tempfile.TemporaryDirectory() as folder:
        model, images, others = (str(Path(folder) / one) for one in ("m.atenc", "x.npy", "y.npy"))
        _write_images(images, IMAGES)
        _write_images(others, OTHERS)
        command = [sys.executable, "-m", "aten.cli"]
        given = ["compile", str(DIGITS), "-o", model, "--batch", str(IMAGES)]
        subprocess.run([*command, *given], check=True, capture_output=True)
        kinds = {
            "bare interpreter: a whole process": [sys.executable, "-c", "pass"],
            "import aten: a whole process": [sys.executable, "-c", "import aten"],
            result.name: [*command, "run", model, "--input", images],
            other.name: [*command, "run", model, "--input", others],
            library.name: [sys.executable, "-c", _LIBRARY, model, images],
        }
        seconds: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(ROUNDS):
            for name, one in kinds.items():
                started = perf_counter()
                subprocess.run(one, cwd=folder, check=True, capture_output=True)
                seconds[name].append(perf_counter() - started)
    medians = {name: 1e3 * statistics.median(column) for name, column in seconds.items()}
    for one in (result, other, library):
        one.aten = medians.pop(one.name)
    beside = [Result(name, "ms", one, headline=False) for name, one in medians.items()]
    return [result, other, library, *beside]


def _write_images(path: str, count: int) -> None:
    """Images of zeros, as NumPy writes them."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 1, 8, 8), }}"
    header = header.ljust(117) + "\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    Path(path).write_bytes(start + bytes(count * 64 * 4))
