"""Entries of torch's operator database, each looked at in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any


def entry_name(entry: Any) -> str:
    """The entry's name, with that of its variant."""
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def run_apart(
    entries: list[Any],
    options: argparse.Namespace,
    outcome: Callable[[Any, argparse.Namespace], Any],
) -> Iterator[tuple[str, Any]]:
    """Names and outcomes, which JSON can hold; "crashed" or "hung" where there is none.

    `options.jobs` processes run at a time, each for `options.seconds`.
    """
    waiting = list(reversed(entries))
    running: dict[int, tuple[Any, int, float, bytearray]] = {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            entry = waiting.pop()
            reading, writing = os.pipe()
            process = os.fork()
            if not process:
                os.close(reading)
                with os.fdopen(writing, "w") as pipe:
                    json.dump(outcome(entry, options), pipe)
                os._exit(0)
            os.close(writing)
            running[reading] = (entry, process, time.monotonic() + options.seconds, bytearray())
        for pipe in select.select(list(running), [], [], 1.0)[0]:
            entry, process, _, printed = running[pipe]
            part = os.read(pipe, 1 << 16)
            printed += part
            if part:
                continue
            del running[pipe]
            os.close(pipe)
            os.waitpid(process, 0)
            yield entry_name(entry), json.loads(printed) if printed else "crashed"
        for pipe, (entry, process, deadline, _) in list(running.items()):
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                os.close(pipe)
                del running[pipe]
                yield entry_name(entry), "hung"
