"""A profile as text: an entry in each row, what takes much of the time marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from aten.profiler.averages import FunctionEventAvg
from aten.profiler.events import EventList
from aten.profiler.units import format_amount, format_bytes, format_time, plain

MARKED_SHARE = 5.0  # percent of the time from which on an operator is marked
_GAP = "  "
_SORTS = (
    *("cpu_time", "cpu_time_total", "self_cpu_time_total"),
    *("cpu_memory_usage", "self_cpu_memory_usage", "peak_bytes", "flops", "count"),
)


class Widths(NamedTuple):
    """Characters at most of names, shapes and lines of stacks."""

    name: int
    shapes: int
    source: int


class _Column(NamedTuple):
    title: str
    cell: Callable[[Any], str]
    is_text: bool = False


def table(
    entries: EventList,
    sort_by: str | None,
    row_limit: int,
    widths: Widths,
    header: str | None,
    top_level_only: bool,
    time_unit: str | None,
) -> str:
    """See `EventList.table`."""
    chosen = _sorted(entries, sort_by)
    if top_level_only:
        chosen = [one for one in chosen if getattr(one, "cpu_parent", None) is None]
    whole = sum(one.self_cpu_time_total for one in entries)
    shown = chosen if row_limit < 0 else chosen[:row_limit]
    columns = _columns(entries, widths, whole, time_unit)
    rows = [[column.title for column in columns]]
    rows += [[column.cell(one) for column in columns] for one in shown]
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = _GAP.join("-" * size for size in sizes)
    lines = [_line(row, columns, sizes) for row in rows]
    more = [f"({len(chosen) - len(shown)} more)"] if len(chosen) > len(shown) else []
    parts = [[header] if header else [], [rule, lines[0], rule], lines[1:], more, [rule]]
    parts.append(_footer(entries, whole, time_unit))
    return "\n".join(line for part in parts for line in part)


def is_marked(entry: Any, whole: float) -> bool:
    """Whether an operator's own time is more than 5 % of `whole`, the time of all.

    Example:

        >>> with aten.profiler.profile() as prof:
        ...     ones = aten.ones(2)
        >>> aten.profiler.table.is_marked(prof.events()[0], prof.events().self_cpu_time_total)
        True
    """
    return _percent(entry.self_cpu_time_total, whole) > MARKED_SHARE


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _sorted(entries: EventList, sort_by: str | None) -> list[Any]:
    if sort_by is None:
        if not all(isinstance(one, FunctionEventAvg) for one in entries):
            return list(entries)
        sort_by = "self_cpu_time_total"
    if sort_by not in _SORTS:
        raise ValueError(f"sort_by must be one of {', '.join(_SORTS)}, not {sort_by!r}")
    name = sort_by
    return sorted(entries, key=lambda one: (-(getattr(one, name) or 0), one.key))


def _line(row: list[str], columns: list[_Column], sizes: list[int]) -> str:
    cells = [
        cell.ljust(size) if column.is_text else cell.rjust(size)
        for cell, column, size in zip(row, columns, sizes, strict=True)
    ]
    return _GAP.join(cells).rstrip()


def _columns(entries: EventList, widths: Widths, whole: float, unit: str | None) -> list[_Column]:
    """The columns that have something to show."""

    def share(part: float) -> str:
        return f"{_percent(part, whole):.2f}%"

    columns = [
        _Column(" ", lambda one: "*" if is_marked(one, whole) else " ", True),
        _Column("Name", lambda one: _cut(one.key, widths.name), True),
        _Column("Self CPU %", lambda one: share(one.self_cpu_time_total)),
        _Column("Self CPU", lambda one: format_time(one.self_cpu_time_total, unit)),
        _Column("CPU total %", lambda one: share(one.cpu_time_total)),
        _Column("CPU total", lambda one: format_time(one.cpu_time_total, unit)),
        _Column("CPU time avg", lambda one: format_time(one.cpu_time, unit)),
        _Column("# of Calls", lambda one: str(one.count)),
    ]
    if entries.peak_bytes is not None:
        columns += [
            _Column("CPU Mem", lambda one: format_bytes(one.cpu_memory_usage)),
            _Column("Self CPU Mem", lambda one: format_bytes(one.self_cpu_memory_usage)),
            _Column("Allocated", lambda one: format_bytes(one.allocated_bytes)),
            _Column("Freed", lambda one: format_bytes(one.freed_bytes)),
            _Column("Peak", lambda one: format_bytes(one.peak_bytes)),
        ]
    if entries.with_flops:
        columns += [
            _Column("FLOPs", lambda one: format_amount(one.flops, "FLOP") if one.flops else "--"),
            _Column("Rate", _rate),
        ]
    if any(one.input_shapes for one in entries):
        columns.append(
            _Column("Input Shapes", lambda one: _cut(str(one.input_shapes), widths.shapes), True)
        )
    if any(one.stack for one in entries):
        columns.append(_Column("Source Location", lambda one: _source(one, widths.source), True))
    return columns


def _rate(entry: Any) -> str:
    if not entry.flops or not entry.cpu_time_total:
        return "--"
    return format_amount(1e6 * entry.flops / entry.cpu_time_total, "FLOP/s")


def _cut(text: str, width: int) -> str:
    text = plain(text)
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def _source(entry: Any, width: int) -> str:
    """The innermost of the user's lines, its end where it is too long."""
    line = plain(entry.stack[0]) if entry.stack else ""
    return line if len(line) <= width else "..." + line[len(line) - max(width - 3, 0) :]


def _footer(entries: EventList, whole: float, unit: str | None) -> list[str]:
    lines = [f"Self CPU time total: {format_time(whole, unit)}"]
    if entries.duration_us is not None:
        lines.append(f"Profile's duration: {format_time(entries.duration_us, unit)}")
    if entries.peak_bytes is not None:
        lines.append(f"Peak of memory: {format_bytes(entries.peak_bytes)}")
    if any(is_marked(one, whole) for one in entries):
        lines.append(f"* more than {MARKED_SHARE:g} % of the time")
    return lines
