"""`profile`: records what a program does, and shows it."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from aten._core.dispatch.recording import Session
from aten.profiler.annotation import record_function
from aten.profiler.details import callers
from aten.profiler.events import STEP, EventList, events_of, threads_of
from aten.profiler.schedules import ProfilerAction, Schedule, always


class ProfilerActivity(Enum):
    """What is recorded: operators on the CPU; the others are torch's, for devices not here.

    Example:

        >>> aten.profiler.ProfilerActivity.CPU.name
        'CPU'
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded.

    Example:

        >>> aten.profiler.supported_activities()
        {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


_RECORDING = frozenset(
    {ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE}
)
_KEPT = frozenset({ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE})


class profile:  # noqa: N801 (torch's name)
    """Records every operator that is called while it is on, by all threads.

    A context manager; or `start()` and `stop()`. Operators called by operators are inside of them.
    Results are the same as without. Off, it costs nothing: no call meets anything of it.

    Args:
        activities: `ProfilerActivity.CPU`, which is the default; others are warned of.
        schedule: says for each step what happens, see `aten.profiler.schedule`; by default
            everything is recorded. With one, `step()` goes to the next step.
        on_trace_ready: called with the profile when a cycle of the schedule ends, and at the end.
        record_shapes: keep the shapes and types of operands, and the values of other arguments.
        profile_memory: keep what operators allocate and free, in bytes of the allocator's blocks.
        with_stack: keep the lines of Python that led to each call.
        with_flops: keep floating-point operations; implies `record_shapes`.
        with_modules: nothing, as in torch for programs that are not scripted.
        acc_events: keep the events of all cycles, not of the last alone.
        split_composites: what an operator is made of is called and recorded, as in torch:
            `aten::linear` has an `aten::addmm` inside. False: ordinary calls of such operators are
            done in one step where they are without a profile, so that small ones are timed right.

    Raises:
        RuntimeError: on entering or `start()`, where a profile is active already.

    Example:

        >>> with aten.profiler.profile(record_shapes=True) as prof:
        ...     product = aten.ones(2, 3) @ aten.ones(3, 4)
        >>> [(event.key, event.count) for event in prof.key_averages()]
        [('aten::ones', 2), ('aten::matmul', 1), ('aten::mm', 1)]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
        split_composites: bool = True,
    ) -> None:
        _check(activities)
        self.schedule = schedule or always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes or with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.split_composites = split_composites
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._session: Session | None = None  # the one that records
        self._done: list[Session] = []  # of which events are shown
        self._events: EventList | None = None
        self._metadata: dict[str, Any] = {}
        self._step: record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begins with the first step of the schedule.

        Raises:
            RuntimeError: a profile is active already.

        Example:

            >>> prof = aten.profiler.profile()
            >>> prof.start()
            >>> ones = aten.ones(2)
            >>> prof.stop()
            >>> len(prof.events())
            1
        """
        if self._session is not None:
            raise RuntimeError("this profile has been started already")
        action = self.schedule(self.step_num)
        if action in _RECORDING:
            self._begin()
        self.current_action = action
        self._open_step()

    def stop(self) -> None:
        """Ends the profile, and says so to `on_trace_ready` where something was recorded.

        Example: see `start`.

            >>> aten.profiler.profile().stop()
        """
        action, self.current_action = self.current_action, ProfilerAction.NONE
        self._close_step()
        self._end(action in _KEPT)
        if action in _KEPT:
            self._ready()

    def step(self) -> None:
        """Says that the next step of the program, and of the schedule, begins.

        Example:

            >>> plan = aten.profiler.schedule(wait=1, warmup=0, active=1, repeat=1)
            >>> with aten.profiler.profile(schedule=plan) as prof:
            ...     for _ in range(3):
            ...         ones = aten.ones(2)
            ...         prof.step()
            >>> [event.name for event in prof.events()]
            ['ProfilerStep*', 'aten::ones']
        """
        self._close_step()
        earlier = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(earlier, self.current_action)
        self._open_step()

    def _change(self, earlier: ProfilerAction, later: ProfilerAction) -> None:
        """What has to be done between two steps."""
        ends = earlier is ProfilerAction.RECORD_AND_SAVE
        if earlier is ProfilerAction.RECORD and later not in _KEPT:
            warnings.warn(
                f"Incorrect schedule: RECORD followed by {later.name}", UserWarning, stacklevel=3
            )
            ends = True
        if ends or later is ProfilerAction.NONE:
            self._end(ends)
        if ends:
            self._ready()
        if later in _RECORDING and self._session is None:
            self._begin()
        elif earlier is ProfilerAction.WARMUP and later in _KEPT and self._session is not None:
            self._session.forget()

    def _begin(self) -> None:
        session = Session(
            self.record_shapes,
            self.with_flops,
            callers if self.with_stack else None,
            self.profile_memory,
            self.split_composites,
        )
        session.start()
        self._session = session

    def _end(self, is_kept: bool) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        session.stop()
        if is_kept:
            self._done = [*self._done, session] if self.acc_events else [session]
            self._events = None

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _open_step(self) -> None:
        if self.record_steps and self._session is not None:
            self._step = record_function(f"{STEP}{self.step_num}")
            self._step.__enter__()

    def _close_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def events(self) -> EventList:
        """Every call and every block that was recorded, thread by thread, as they began.

        Raises:
            RuntimeError: nothing has been recorded yet: the profile has not ended.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     sum = aten.ones(2) + 1
            >>> [event.name for event in prof.events()]
            ['aten::ones', 'aten::add']
        """
        if not self._done:
            raise RuntimeError(
                "the profile has nothing to show: stop it, or leave its block, first"
            )
        if self._events is None:
            self._events = events_of(self._done, self.with_flops)
        return self._events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed up: one entry for each name.

        Args:
            group_by_input_shape: one for each name and shapes of operands, with `record_shapes`.
            group_by_stack_n: one for each name and so many lines of callers, with `with_stack`.
            group_by_overload_name: one for each overload: `aten::add.Tensor`.

        Raises:
            RuntimeError: nothing has been recorded yet.

        Example:

            >>> with aten.profiler.profile(record_shapes=True) as prof:
            ...     results = [aten.ones(size).exp() for size in (2, 3)]
            >>> averages = prof.key_averages(group_by_input_shape=True)
            >>> [event.input_shapes for event in averages if event.key == "aten::exp"]
            [[[2]], [[3]]]
        """
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str) -> None:
        """Writes what happened when, for chrome://tracing and ui.perfetto.dev.

        Args:
            path: a `.json` file; `.json.gz` is compressed.

        Raises:
            RuntimeError: nothing has been recorded yet.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     ones = aten.ones(2)
            >>> prof.export_chrome_trace("/dev/null")
        """
        from aten.profiler.chrome import write_trace

        events = self.events()
        changes = [
            ((time - self._done[0].begin) / 1000, change, total)
            for session in self._done
            for time, change, total in session.memory_changes()
        ]
        write_trace(path, events, changes, self._metadata, threads_of(self._done))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each path to an operator, `caller;…;aten::add 12`, in microseconds.

        Other tools make flame graphs of it. With `with_stack` it begins with lines of Python.

        Raises:
            RuntimeError: nothing has been recorded yet.
            ValueError: there is no such metric; "self_cpu_time_total" is one.

        Example:

            >>> with aten.profiler.profile(with_stack=True) as prof:
            ...     ones = aten.ones(2)
            >>> prof.export_stacks("/dev/null")
        """
        self.events().export_stacks(path, metric)

    def export_flame_graph(self, path: str, title: str = "Flame graph") -> None:
        """Writes who called what, as wide as it took time, as an SVG picture.

        With `with_stack` operators stand on the lines of Python that led to them.

        Raises:
            RuntimeError: nothing has been recorded yet.

        Example:

            >>> with aten.profiler.profile() as prof:
            ...     ones = aten.ones(2)
            >>> prof.export_flame_graph("/dev/null")
        """
        from aten.profiler.flame_graph import flame_graph

        text = flame_graph(self.events(), threads_of(self._done), title)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def add_metadata(self, key: str, value: str) -> None:
        """Keeps a text in the trace.

        Example:

            >>> aten.profiler.profile().add_metadata("model", "digits")
        """
        self._metadata[key] = str(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keeps a value in the trace that is given as JSON; ValueError where it is none.

        Example:

            >>> aten.profiler.profile().add_metadata_json("sizes", "[1, 2]")
        """
        self._metadata[key] = json.loads(value)


def _check(activities: Iterable[ProfilerActivity] | None) -> None:
    """Warns of what is not here; ValueError where nothing is left, or it is no activity."""
    wanted = set(activities or ())
    if not wanted:
        return
    for one in wanted:
        if not isinstance(one, ProfilerActivity):
            raise ValueError(f"profile: {one!r} is no ProfilerActivity")
    for one in sorted(wanted - supported_activities(), key=lambda one: one.value):
        warnings.warn(f"profile: there is no {one.name} here to record", UserWarning, stacklevel=3)
    if not wanted & supported_activities():
        raise ValueError("profile: no valid activities were given; ProfilerActivity.CPU is one")


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For `on_trace_ready`: writes each trace into a folder, `WORKER.TIME.pt.trace.json`.

    Args:
        dir_name: the folder; it is made where it is not there.
        worker_name: by default the machine's name and the process's number.
        use_gzip: compress.

    Example:

        >>> handler = aten.profiler.tensorboard_trace_handler("traces", worker_name="one")
        >>> callable(handler)
        True
    """

    def handle(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handle
