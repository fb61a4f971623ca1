"""Who called what, as paths from the outermost: for flame graphs, ours and other tools'."""

from __future__ import annotations

from aten.profiler.events import EventList, FunctionEvent
from aten.profiler.units import plain

METRICS = ("self_cpu_time_total",)


def path_of(event: FunctionEvent) -> list[str]:
    """The events that an event is in, and itself, each after the lines of Python that led there.

    Outermost first. Lines that led to an event outside already are not said again.
    """
    path: list[str] = []
    before: list[str] = []
    for one in (*reversed([*event.ancestors()]), event):
        lines = one.stack[::-1]
        pairs = enumerate(zip(before, lines, strict=False))
        known = next((place for place, (left, right) in pairs if left != right), None)
        if known is None:
            known = min(len(before), len(lines))
        path += [*lines[known:], one.name]
        before = lines or before
    return path


def write_stacks(path: str, events: EventList, metric: str) -> None:
    """See `profile.export_stacks`."""
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    totals: dict[str, float] = {}
    for event in events:
        line = ";".join(_entry(one) for one in path_of(event))
        totals[line] = totals.get(line, 0.0) + getattr(event, metric)
    with open(path, "w", encoding="utf-8") as file:
        for line, value in totals.items():
            if int(value) > 0:
                file.write(f"{line} {int(value)}\n")


def _entry(text: str) -> str:
    """Without what separates entries, and entries from numbers."""
    return plain(text).translate({ord(" "): "_", ord(";"): "_"})
