"""The pictures of `docs/how-it-works.md`, drawn from what the package does.

    python tools/pictures.py [--check]

Without `--check` they are written; with it, the status says whether they are up to date.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from html import escape
from pathlib import Path

import aten
from aten.backends.cpu.explanation import example_programs
from aten.registry import operator

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/pictures"
LINE = 18
WIDTH = 8.2  # of a character


class Picture:
    """Boxes of text, and arrows between them."""

    def __init__(self, width: int, title: str) -> None:
        self.width = width
        self.title = title
        self.height = 0
        self.parts: list[str] = []

    def box(
        self, x: int, y: int, lines: list[str], heading: str = "", fill: str = "#eef3fa"
    ) -> int:
        """A box with its upper left corner at (x, y). Returns the y of its lower edge."""
        wide = int(max(len(line) for line in [heading, *lines]) * WIDTH) + 24
        high = (len(lines) + bool(heading)) * LINE + 14
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="6" fill="{fill}" '
            'stroke="#7f93ad"/>'
        )
        below = y + LINE
        if heading:
            self.parts.append(self._text(x + 12, below, heading, ' font-weight="bold"'))
            below += LINE
        for line in lines:
            self.parts.append(self._text(x + 12, below, line))
            below += LINE
        self.height = max(self.height, y + high)
        self.width = max(self.width, x + wide + 10)
        return y + high

    def arrow(self, x: int, top: int, bottom: int, label: str = "") -> None:
        """An arrow down."""
        self.parts.append(
            f'<path d="M{x} {top} V{bottom - 2}" stroke="#44546a" fill="none" '
            'marker-end="url(#head)"/>'
        )
        if label:
            self.parts.append(self._text(x + 12, (top + bottom) // 2 + 5, label))

    def _text(self, x: int, y: int, text: str, style: str = "") -> str:
        return f'<text x="{x}" y="{y}" xml:space="preserve"{style}>{escape(text)}</text>'

    def svg(self) -> str:
        """The whole file."""
        head = (
            '<defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="#44546a"/>'
            "</marker></defs>"
        )
        size = f'viewBox="0 0 {self.width} {self.height + 10}" width="{self.width}"'
        style = 'font-family="monospace" font-size="13" fill="#1d2733"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {style}>',
                f"<title>{escape(self.title)}</title>",
                head,
                f'<rect width="{self.width}" height="{self.height + 10}" fill="#ffffff"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )


def house() -> str:
    """The floors that `tools/check_floors.py` holds the package to, the highest on top."""
    floors = runpy.run_path(str(ROOT / "tools/check_floors.py"))["FLOORS"]
    picture = Picture(720, "The floors of the package: a file imports from floors below only")
    below = 10
    for number in range(len(floors), 0, -1):
        floor = floors[number - 1]
        names = [name for name in floor if name.rpartition(".")[0] not in floor]
        names = [name for name in names if not name.startswith("_generated")]
        rows = [", ".join(names[start : start + 8]) for start in range(0, len(names), 8)]
        below = picture.box(10, below, rows, f"floor {number}") + 8
    return picture.svg()


def call() -> str:
    """What `aten.softmax(x, 0)` goes through, as `aten.trace_dispatch` tells it."""
    lines: list[str] = []
    x = aten.tensor([1.0, 2.0, 3.0])
    with aten.trace_dispatch(lines):
        aten.softmax(x, 0)
    picture = Picture(560, "The path of aten.softmax(x, 0) through the dispatcher")
    below = picture.box(10, 10, ["aten.softmax(x, 0)"], fill="#fdf3df")
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 2
        name, key, *rest = line.split("  ") if depth == 0 else line.strip().split("  ")
        picture.arrow(30 + 30 * depth, below, below + 28)
        below = picture.box(10 + 30 * depth, below + 28, rest, f"{name}, key {key}")
    return picture.svg()


def stages() -> str:
    """What becomes of one operator's function on the way to machine code."""
    name = "hardshrink"
    graph, programs = example_programs(name)
    source = _source_of(name)
    picture = Picture(640, f"From the function of {name} to loops")
    below = picture.box(10, 10, source, "the function in ops/", fill="#fdf3df")
    for heading, lines, label in (
        ("Prims graph", str(graph).splitlines(), "called with graph values"),
        ("Loop IR", str(programs[0]).splitlines(), "laid out as loops"),
    ):
        picture.arrow(30, below, below + 34, label)
        below = picture.box(10, below + 34, lines, heading)
    picture.arrow(30, below, below + 34, "LLVM, then a cache on the disk")
    picture.box(10, below + 34, ["machine code for this processor"])
    return picture.svg()


def _source_of(name: str) -> list[str]:
    import inspect

    from aten.ops.definition import load_function

    function = load_function(operator(name).entry.function)
    return inspect.getsource(function).splitlines()


def memory() -> str:
    """One block of memory, and tensors that are windows on it."""
    x = aten.arange(6).view(2, 3)
    views = {
        "x = aten.arange(6).view(2, 3)": x,
        "x.t()": x.t(),
        "x[:, 1]": x[:, 1],
        "x[1].expand(2, 3)": x[1].expand(2, 3),
    }
    picture = Picture(560, "Views: sizes, strides and an offset into one block of memory")
    below = picture.box(10, 10, ["  ".join(map(str, x.flatten().tolist()))], "memory", "#fdf3df")
    for text, view in views.items():
        what = f"sizes {tuple(view.shape)}  strides {view.stride()}  from {view.storage_offset()}"
        rows = str(view.tolist()).replace("], [", "]\n [").splitlines()
        below = picture.box(10, below + 10, [what, *rows], text)
    return picture.svg()


PICTURES = {"house": house, "call": call, "stages": stages, "memory": memory}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name stale files")
    options = parser.parse_args()
    stale = 0
    for name, draw in PICTURES.items():
        path, svg = FOLDER / f"{name}.svg", draw()
        if path.exists() and path.read_text() == svg:
            continue
        stale = 1
        print(f"{path.relative_to(ROOT)} is stale" if options.check else f"wrote {path.name}")
        if not options.check:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(svg)
    return stale if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
