"""Where the time and the memory of a program go: its operators, timed, nested and counted.

    with aten.profiler.profile() as prof:
        model(inputs)
    print(prof.key_averages().table())

Spelled as torch spells it. See docs/profiler.md.
"""

from __future__ import annotations

from typing import Any

from aten.names.refusals import refuse
from aten.profiler.annotation import record_function
from aten.profiler.averages import FunctionEventAvg
from aten.profiler.events import EventList, FunctionEvent
from aten.profiler.planning import Plan, plan_of, plan_program
from aten.profiler.profiling import (
    ProfilerActivity,
    profile,
    supported_activities,
    tensorboard_trace_handler,
)
from aten.profiler.schedules import ProfilerAction, schedule

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Plan",
    "ProfilerAction",
    "ProfilerActivity",
    "plan_of",
    "plan_program",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
