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
IMAGES, ROUNDS = 360, 21


def run() -> list[Result]:
    title = f"digits_cnn.atenc: from prompt to first output, {IMAGES} images"
    result = Result(title, "ms", limit=60)
    if is_editable():
        result.problem = "aten is installed in editable mode, which checks for changes at import"
        return [result]
    with tempfile.TemporaryDirectory() as folder:
        model, images = (str(Path(folder) / name) for name in ("digits.atenc", "x.npy"))
        _write_images(images)
        command = [sys.executable, "-m", "aten.cli"]
        given = ["compile", str(DIGITS), "-o", model, "--batch", str(IMAGES)]
        subprocess.run([*command, *given], check=True, capture_output=True)
        kinds = {
            "bare interpreter": [sys.executable, "-c", "pass"],
            "import aten": [sys.executable, "-c", "import aten"],
            title: [*command, "run", model, "--input", images],
        }
        seconds: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(ROUNDS):
            for name, one in kinds.items():
                started = perf_counter()
                subprocess.run(one, cwd=folder, check=True, capture_output=True)
                seconds[name].append(perf_counter() - started)
    medians = {name: 1e3 * statistics.median(column) for name, column in seconds.items()}
    result.aten = medians.pop(title)
    others = [
        Result(f"{name}: a whole process", "ms", one, headline=False)
        for name, one in medians.items()
    ]
    return [result, *others]


def _write_images(path: str) -> None:
    """Images of zeros, as NumPy writes them."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({IMAGES}, 1, 8, 8), }}"
    header = header.ljust(117) + "\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    Path(path).write_bytes(start + bytes(IMAGES * 64 * 4))
