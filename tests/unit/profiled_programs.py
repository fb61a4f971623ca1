"""What tests of the profiler record, and how they look at it."""

from __future__ import annotations

import aten
from aten.profiler import profile

X = aten.arange(12.0).reshape(3, 4)
WEIGHT = aten.arange(8.0).reshape(2, 4)
BIAS = aten.ones(2)


def tree(events):
    """(name, names inside) of each event that is in no other one."""

    def branch(event):
        return event.name, [branch(child) for child in event.cpu_children]

    return [branch(event) for event in events if event.cpu_parent is None]


def names(events):
    return [event.name for event in events]


def recorded(function, **options):
    with profile(**options) as prof:
        function()
    return prof


def check_nesting(events):
    """Each event lies within its parent, beside its siblings, and its own time is what is left."""
    for event in events:
        assert event.start_ns <= event.end_ns
        at = event.start_ns
        for child in event.cpu_children:
            assert at <= child.start_ns
            assert child.end_ns <= event.end_ns
            assert child.thread == event.thread
            assert child.cpu_parent is event
            at = child.end_ns
        inside = sum(child.elapsed_ns for child in event.cpu_children)
        assert event.self_ns == event.elapsed_ns - inside
        assert event.self_ns >= 0
