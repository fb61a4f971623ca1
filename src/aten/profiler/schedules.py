"""When a profile records: what each of a program's steps is for."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias


class ProfilerAction(Enum):
    """What happens in a step of the program.

    Example:

        >>> aten.profiler.ProfilerAction.RECORD.name
        'RECORD'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


Schedule: TypeAlias = Callable[[int], ProfilerAction]


def always(_step: int) -> ProfilerAction:
    """Every step is recorded, and nothing is saved before the end."""
    return ProfilerAction.RECORD


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Schedule:
    """What to do in which step: cycles of `wait` steps off, `warmup` dropped, `active` recorded.

    Args:
        wait: steps without a profile, each of them costs nothing.
        warmup: steps that are recorded and dropped; operators find their kernels meanwhile.
        active: steps that are recorded; after the last of them the profile is ready.
        repeat: how many cycles; 0: without end.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0: the first cycle does not wait.

    Raises:
        ValueError: a number is negative, or nothing would be recorded.

    Example:

        >>> plan = aten.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    given = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
    for name, count in given.items():
        if count < 0:
            raise ValueError(f"schedule: '{name}' must not be negative, but it is {count}")
    if active < 1:
        raise ValueError(f"schedule: 'active' must be at least 1, but it is {active}")

    def plan(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"a step's number must not be negative, but it is {step}")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if repeat and cycle >= repeat:
            return ProfilerAction.NONE
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        if place < wait + warmup + active - 1:
            return ProfilerAction.RECORD
        return ProfilerAction.RECORD_AND_SAVE

    return plan
