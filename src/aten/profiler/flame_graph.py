"""Flame graphs: who called what, with a width for the time, as one SVG without scripts.

Boxes stand on what called them. Calls of one name in one place share a box, wider the more time
they took; the text under the pointer says how much. Source of the idea: Brendan Gregg, "The Flame
Graph", Communications of the ACM 59 (2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from aten.profiler.events import FunctionEvent
from aten.profiler.stacks import path_of
from aten.profiler.units import format_time, plain

_WIDTH = 1200
_MARGIN = 10
_ROW = 18
_TITLE = 40
_CHARACTER = 6.6  # the width of one, at the font's size of 11
_LEAST_SHOWN = 0.2  # narrower boxes are left out


class Box:
    """A place in the graph: what is there, the time of it and of all above it in nanoseconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self.self_ns = 0
        self.total_ns = 0
        self.above: dict[str, Box] = {}

    def at(self, name: str) -> Box:
        """The box of this name on this one."""
        return self.above.setdefault(name, Box(name))

    def depth(self) -> int:
        """Boxes on each other, at most, with this one."""
        level, count = [self], 0
        while level:
            level = [one for box in level for one in box.above.values()]
            count += 1
        return count


def boxes(events: Iterable[FunctionEvent], threads: Sequence[tuple[int, str]]) -> Box:
    """The graph of events; with a row for threads where there are several."""
    root = Box("all")
    for event in events:
        path = [plain(name) for name in path_of(event)]
        if len(threads) > 1:
            path.insert(0, plain(threads[event.thread - 1][1]))
        visited = [root]
        for name in path:
            visited.append(visited[-1].at(name))
        for box in visited:
            box.total_ns += event.self_ns
        visited[-1].self_ns += event.self_ns
        visited[-1].calls += 1
    return root


def flame_graph(
    events: Iterable[FunctionEvent],
    threads: Sequence[tuple[int, str]] = (),
    title: str = "Flame graph",
) -> str:
    """The graph of events as SVG."""
    root = boxes(events, threads)
    depth = root.depth()
    height = _TITLE + depth * _ROW + _MARGIN
    drawn = "\n".join(_drawn(root, depth))
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" \
viewBox="0 0 {_WIDTH} {height}" font-family="ui-monospace, monospace" font-size="11">
<rect width="100%" height="100%" fill="#fdfdfb"/>
<text x="{_WIDTH / 2:.1f}" y="24" text-anchor="middle" font-size="15">{escape(plain(title))}</text>
{drawn}
</svg>
"""


def _drawn(root: Box, depth: int) -> Iterator[str]:
    """The boxes, each before those on it."""
    whole = root.total_ns or 1
    scale = (_WIDTH - 2 * _MARGIN) / whole
    waiting = [(root, float(_MARGIN), 0)]
    while waiting:
        box, left, level = waiting.pop()
        width = box.total_ns * scale
        if width < _LEAST_SHOWN and box is not root:
            continue
        top = _TITLE + (depth - 1 - level) * _ROW
        yield _box(box, left, top, width, whole)
        for one in sorted(box.above.values(), key=lambda one: one.name):
            waiting.append((one, left, level + 1))
            left += one.total_ns * scale


def _box(box: Box, left: float, top: int, width: float, whole: int) -> str:
    share = 100 * box.total_ns / whole
    own = format_time(box.self_ns / 1000)
    calls = f", {box.calls} calls" if box.calls else ""
    said = f"{box.name}: {format_time(box.total_ns / 1000)} ({share:.2f} %), itself {own}{calls}"
    room = int((width - 6) / _CHARACTER)
    text = box.name if len(box.name) <= room else box.name[: room - 2] + ".." if room > 3 else ""
    label = f'<text x="{left + 3:.2f}" y="{top + 13}">{escape(text)}</text>' if text else ""
    return (
        f"<g><title>{escape(said)}</title>"
        f'<rect x="{left:.2f}" y="{top}" width="{width:.2f}" height="{_ROW - 1}" rx="1" '
        f"fill={quoteattr(_color(box.name))}/>{label}</g>"
    )


def _color(name: str) -> str:
    """A warm color that belongs to the name."""
    code = crc32(name.encode())
    return f"rgb({205 + code % 50},{90 + (code >> 8) % 130},{(code >> 16) % 70})"
