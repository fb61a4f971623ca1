"""Traces in the event format of chrome://tracing, which Perfetto reads, too.

Source of the format: "Trace Event Format", the Chromium project. Times are microseconds.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aten.profiler.events import EventList, FunctionEvent

_THREADS_NAMED = "thread_name"


def write_trace(
    path: str,
    events: EventList,
    memory: Iterable[tuple[float, int, int]],
    metadata: dict[str, Any],
    threads: Sequence[tuple[int, str]] = (),
) -> None:
    """Writes a trace, compressed where the path ends in `.gz`.

    Args:
        path: where to.
        events: what happened.
        memory: (microseconds, bytes, total) of each block taken or given back.
        metadata: what else to keep, by name: whatever JSON can say.
        threads: the system's number and the name of each thread.
    """
    text = json.dumps(trace(events, memory, metadata, threads))
    if os.fspath(path).endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as compressed:
            compressed.write(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def trace(
    events: EventList,
    memory: Iterable[tuple[float, int, int]],
    metadata: dict[str, Any],
    threads: Sequence[tuple[int, str]] = (),
) -> dict[str, Any]:
    """The whole trace, as JSON has it."""
    process = os.getpid()
    numbers = {place: thread for place, (thread, _) in enumerate(threads, 1)}
    found = list(_names(process, threads))
    found += [_event(one, process, numbers.get(one.thread, one.thread)) for one in events]
    found += [_memory(process, *change) for change in memory]
    return {"schemaVersion": 1, "displayTimeUnit": "ns", **metadata, "traceEvents": found}


def _names(process: int, threads: Sequence[tuple[int, str]]) -> Iterator[dict[str, Any]]:
    named = {"ph": "M", "pid": process, "ts": 0}
    yield {**named, "name": "process_name", "tid": 0, "args": {"name": "aten"}}
    for place, (thread, name) in enumerate(threads):
        yield {**named, "name": _THREADS_NAMED, "tid": thread, "args": {"name": name}}
        yield {
            **named,
            "name": "thread_sort_index",
            "tid": thread,
            "args": {"sort_index": place},
        }


def _event(event: FunctionEvent, process: int, thread: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
        "name": event.trace_name,
        "pid": process,
        "tid": thread,
        "ts": event.start_ns / 1000,
        "dur": event.elapsed_ns / 1000,
        "args": _arguments(event),
    }


def _arguments(event: FunctionEvent) -> dict[str, Any]:
    """What is known of an event, without what nobody asked for."""
    given = {
        "External id": event.id,
        "Overload": event.overload_name,
        "Input Dims": event.input_shapes,
        "Input type": event.input_dtypes,
        "Concrete Inputs": [str(one) for one in event.concrete_inputs],
        "Call stack": ";\n".join(event.stack),
        "Allocated bytes": event.allocated_bytes,
        "Freed bytes": event.freed_bytes,
        "FLOPs": event.flops,
        "Arguments": event.args,
    }
    return {name: value for name, value in given.items() if value or name == "External id"}


def _memory(process: int, time: float, change: int, total: int) -> dict[str, Any]:
    return {
        "ph": "C",
        "cat": "memory",
        "name": "memory",
        "pid": process,
        "tid": 0,
        "ts": time,
        "args": {"Total Allocated": total},
    }
