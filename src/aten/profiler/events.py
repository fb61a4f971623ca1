"""Events of a profile: operators and users' blocks, with their times, as a tree for each thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from aten._core.dispatch.dispatcher import OpOverload
from aten.profiler.details import Details
from aten.profiler.flops import flops_of
from aten.profiler.units import format_time

if TYPE_CHECKING:
    from aten._core.dispatch.recording import Session
    from aten.profiler.averages import FunctionEventAvg

STEP = "ProfilerStep#"  # and a number: a block that is a step; all have one name


class Interval(NamedTuple):
    """Microseconds since the profile began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long it took.

        Example:

            >>> aten.profiler.events.Interval(2.0, 5.0).elapsed_us()
            3.0
        """
        return self.end - self.start


class Timed:
    """Times of an event, or of several, in words."""

    cpu_time_total: float
    self_cpu_time_total: float
    count: int

    @property
    def cpu_time(self) -> float:
        """Microseconds of one call, those of what it called included."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)


class FunctionEvent(Timed):
    """One call of an operator, or one run of a user's block.

    Times are microseconds, memory is bytes. `self_…` leaves out what happened in operators called
    from inside. `cpu_memory_usage` is what was taken less what was given back.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_ns: int,
        end_ns: int,
        *,
        trace_name: str = "",
        overload_name: str = "",
        parent: FunctionEvent | None = None,
        is_user_annotation: bool = False,
        allocated: int = 0,
        freed: int = 0,
        peak_bytes: int = 0,
        details: Details | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.trace_name = trace_name or name
        self.overload_name = overload_name
        self.thread = thread
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.time_range = Interval(start_ns / 1000, end_ns / 1000)
        self.count = 1
        self.is_user_annotation = is_user_annotation
        self.cpu_parent = parent
        self.cpu_children: list[FunctionEvent] = []
        self.self_allocated_bytes = allocated
        self.self_freed_bytes = freed
        self.peak_bytes = peak_bytes
        details = details or Details()
        self.args = details.args
        self.input_shapes = details.shapes
        self.input_dtypes = details.dtypes
        self.concrete_inputs = details.concrete
        self.stack = details.stack
        self.flops: int | None = None
        self.self_ns = end_ns - start_ns
        self.allocated_bytes = allocated  # those of what it calls are added when these are made
        self.freed_bytes = freed
        if parent is not None:
            parent.cpu_children.append(self)
            parent.self_ns -= self.elapsed_ns
        for one in self.ancestors() if allocated or freed else ():
            one.allocated_bytes += allocated
            one.freed_bytes += freed

    @property
    def key(self) -> str:
        return self.name

    @property
    def elapsed_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds from its beginning to its end."""
        return self.elapsed_ns / 1000

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds outside of the operators that it called."""
        return self.self_ns / 1000

    @property
    def cpu_memory_usage(self) -> int:
        return self.allocated_bytes - self.freed_bytes

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.self_allocated_bytes - self.self_freed_bytes

    def ancestors(self) -> Iterator[FunctionEvent]:
        """The events it is in, innermost first.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     product = aten.ones(1, 2) @ aten.ones(2, 1)
            >>> [event.name for event in prof.events()[-1].ancestors()]
            ['aten::matmul']
        """
        parent = self.cpu_parent
        while parent is not None:
            yield parent
            parent = parent.cpu_parent

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent {self.name} thread={self.thread} "
            f"cpu_time={self.cpu_time_total_str} self_cpu_time={self.self_cpu_time_total_str}>"
        )


class EventList(list[Any]):
    """Events in the order in which they began, thread by thread; or averages of them."""

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        duration_us: float | None = None,
        peak_bytes: int | None = None,
        outside: tuple[int, int, int] = (0, 0, 0),
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        self.duration_us = duration_us
        self.peak_bytes = peak_bytes
        self.outside = outside  # blocks taken or given back outside of events, bytes of both
        self.with_flops = with_flops

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events together.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     ones = aten.ones(2)
            >>> prof.events().self_cpu_time_total > 0
            True
        """
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One entry for all events of a name; see `profile.key_averages`.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     ones = [aten.ones(size) for size in (1, 2, 2)]
            >>> [(event.key, event.count) for event in prof.events().key_averages()]
            [('aten::ones', 3)]
        """
        from aten.profiler.averages import averages

        return averages(self, group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """Everything in one entry.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     ones = aten.ones(2) + 1
            >>> prof.key_averages().total_average().count
            2
        """
        from aten.profiler.averages import total

        return total(self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The entries as text. An operator with more than 5 % of the time is marked with `*`.

        Args:
            sort_by: what comes first has most of it: "cpu_time", "cpu_time_total",
                "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "peak_bytes",
                "flops", "count"; by default "self_cpu_time_total" for averages, and the order in
                which they began for events.
            row_limit: rows at most; all of them where it is negative.
            max_src_column_width: characters of a line of a stack.
            max_name_column_width: characters of a name.
            max_shapes_column_width: characters of input shapes.
            header: a line before the table.
            top_level_events_only: only events that were not called by others. For `events()`.
            time_unit: "s", "ms" or "us" for all times; by default each has the one that fits.

        Raises:
            ValueError: there is nothing of the name `sort_by`, or no unit `time_unit`.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     ones = aten.ones(2)
            >>> print(prof.key_averages().table().splitlines()[1].split()[0])
            Name
        """
        from aten.profiler.table import Widths, table

        widths = Widths(max_name_column_width, max_shapes_column_width, max_src_column_width)
        return table(self, sort_by, row_limit, widths, header, top_level_events_only, time_unit)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events for chrome://tracing and Perfetto; see `profile.export_chrome_trace`.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     ones = aten.ones(2)
            >>> prof.events().export_chrome_trace("/dev/null")
        """
        from aten.profiler.chrome import write_trace

        write_trace(path, self, (), {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each stack; see `profile.export_stacks`.

        Example:

            >>> with aten.profiler.profile(with_stack=True) as prof:
            ...     ones = aten.ones(2)
            >>> prof.events().export_stacks("/dev/null")
        """
        from aten.profiler.stacks import write_stacks

        write_stacks(path, self, metric)


def events_of(sessions: Sequence[Session], with_flops: bool) -> EventList:
    """What sessions recorded; times count from the beginning of the first."""
    found: list[FunctionEvent] = []
    numbers = {thread: place for place, thread in enumerate(threads_of(sessions), 1)}
    for session in sessions:
        for thread, name, contents in session.contents():
            found += _events_of_thread(
                contents, numbers[thread, name], len(found), sessions[0].begin, with_flops
            )
    if with_flops:
        _count_flops_of_composites(found)
    outside = [log.memory_outside() for session in sessions for log in session.logs]
    return EventList(
        found,
        duration_us=sum(session.end - session.begin for session in sessions) / 1000,
        peak_bytes=max(one.peak for one in sessions) if sessions[0].memory else None,
        outside=(
            sum(blocks for blocks, _, _ in outside),
            sum(allocated for _, allocated, _ in outside),
            sum(freed for _, _, freed in outside),
        ),
        with_flops=with_flops,
    )


def threads_of(sessions: Sequence[Session]) -> list[tuple[int, str]]:
    """The system's number and the name of each thread, in the order in which events count them."""
    return [*{(log.thread, log.name): None for session in sessions for log in session.logs}]


def _events_of_thread(
    contents: Iterable[tuple[Any, ...]], thread: int, first: int, base: int, with_flops: bool
) -> list[FunctionEvent]:
    """What a thread did in a session; `first` is the number of its first event."""
    found: list[FunctionEvent] = []
    for subject, begin, end, parent, allocated, freed, most, known in contents:
        is_operator = isinstance(subject, OpOverload)
        details = Details(known)
        name = f"{subject.namespace}::{subject.name}" if is_operator else subject
        event = FunctionEvent(
            first + len(found),
            "ProfilerStep*" if not is_operator and name.startswith(STEP) else name,
            thread,
            begin - base,
            end - base,
            trace_name=name,
            overload_name=subject.overload if is_operator else "",
            parent=found[parent] if parent >= 0 else None,
            is_user_annotation=not is_operator,
            allocated=allocated,
            freed=freed,
            peak_bytes=most,
            details=details,
        )
        if with_flops and is_operator:
            event.flops = flops_of(subject, details)
        found.append(event)
    return found


def _count_flops_of_composites(events: list[FunctionEvent]) -> None:
    """An event that no formula is about does what the events in it do."""
    for event in reversed(events):
        if event.flops is None:
            event.flops = sum(child.flops or 0 for child in event.cpu_children)
