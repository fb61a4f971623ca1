"""Events summed up by name, and where asked by shapes, callers or overload."""

from __future__ import annotations

from typing import Any

from aten.profiler.events import EventList, FunctionEvent, Timed

OUTSIDE = "[memory]"


class FunctionEventAvg(Timed):
    """The events of one name: `count` of them, with their times in microseconds and bytes summed.

    Totals count an event once where it is inside of another of the same entry. `peak_bytes` is the
    most of a single one.
    """

    def __init__(self, key: str = "", is_user_annotation: bool = False) -> None:
        self.key = key
        self.is_user_annotation = is_user_annotation
        self.overload_name = ""
        self.count = 0
        self.total_ns = 0
        self.self_ns = 0
        self.allocated_bytes = 0
        self.self_allocated_bytes = 0
        self.freed_bytes = 0
        self.self_freed_bytes = 0
        self.peak_bytes = 0
        self.flops = 0
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []

    def add(self, event: FunctionEvent, is_outermost: bool = True) -> FunctionEventAvg:
        """Adds an event; `is_outermost`: it is not inside of another of this entry.

        Example:

            >>> entry = aten.profiler.FunctionEventAvg("aten::ones")
            >>> with aten.profiler.profile() as prof:
            ...     ones = aten.ones(2)
            >>> entry.add(prof.events()[0]).count
            1
        """
        self.count += 1
        self.self_ns += event.self_ns
        self.self_allocated_bytes += event.self_allocated_bytes
        self.self_freed_bytes += event.self_freed_bytes
        self.peak_bytes = max(self.peak_bytes, event.peak_bytes)
        if is_outermost:
            self.total_ns += event.elapsed_ns
            self.allocated_bytes += event.allocated_bytes
            self.freed_bytes += event.freed_bytes
            self.flops += event.flops or 0
        return self

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.total_ns / 1000

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.self_ns / 1000

    @property
    def cpu_memory_usage(self) -> int:
        return self.allocated_bytes - self.freed_bytes

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.self_allocated_bytes - self.self_freed_bytes

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count}>"
        )


def averages(
    events: EventList, by_shape: bool = False, frames: int = 0, by_overload: bool = False
) -> EventList:
    """One entry for each name, in the order in which the names came; see `profile.key_averages`."""

    def group(event: FunctionEvent) -> tuple[Any, ...]:
        shapes = str(event.input_shapes) if by_shape else ""
        overload = event.overload_name if by_overload else ""
        return event.key, overload, event.is_user_annotation, shapes, *event.stack[:frames]

    found: dict[tuple[Any, ...], FunctionEventAvg] = {}
    groups = {id(event): group(event) for event in events}
    for event in events:
        named = groups[id(event)]
        entry = found.get(named)
        if entry is None:
            key = f"{event.key}.{event.overload_name}" if named[1] else event.key
            entry = found[named] = FunctionEventAvg(key, event.is_user_annotation)
            entry.overload_name = named[1]
            entry.input_shapes = event.input_shapes if by_shape else []
            entry.stack = event.stack[:frames]
        entry.add(event, all(groups.get(id(one)) != named for one in event.ancestors()))
    entries = list(found.values())
    if any(events.outside):
        entries.append(_outside(*events.outside))
    return EventList(
        entries,
        duration_us=events.duration_us,
        peak_bytes=events.peak_bytes,
        with_flops=events.with_flops,
    )


def _outside(count: int, allocated: int, freed: int) -> FunctionEventAvg:
    """What was taken and given back outside of all events."""
    entry = FunctionEventAvg(OUTSIDE)
    entry.count = count
    entry.self_allocated_bytes = entry.allocated_bytes = allocated
    entry.self_freed_bytes = entry.freed_bytes = freed
    return entry


def total(entries: EventList) -> FunctionEventAvg:
    """All events, or averages, in one entry, whose total is that of their own times."""
    entry = FunctionEventAvg("Total")
    for one in entries:
        entry.count += one.count
        entry.self_ns += one.self_ns
        entry.self_allocated_bytes += one.self_allocated_bytes
        entry.self_freed_bytes += one.self_freed_bytes
        entry.peak_bytes = max(entry.peak_bytes, one.peak_bytes)
    entry.total_ns = entry.self_ns
    entry.allocated_bytes = entry.self_allocated_bytes
    entry.freed_bytes = entry.self_freed_bytes
    return entry
