"""Processes that fetch batches: each has a pipe, and answers what it is asked in order."""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import random
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from aten.random import manual_seed

__all__ = ["WorkerInfo", "Workers", "get_worker_info"]

_PATIENCE = 1  # seconds that a worker has to end by itself


class WorkerInfo(NamedTuple):
    """Which worker this process is, of how many, its seed, and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What a worker of a `DataLoader` is told of itself; None in other processes."""
    return _info


class _Plan(NamedTuple):
    """What all workers of a loader do."""

    dataset: Any
    fetcher: Callable[[Any], Callable[[Any], Any]]
    prepare: Callable[[int], Any] | None
    workers: int


class _Failure(NamedTuple):
    """An exception of a worker, in words."""

    kind: type[BaseException]
    text: str


class _End(NamedTuple):
    """A worker's stream has no more batches."""


class Ended(Exception):  # noqa: N818
    """What a fetcher raises where its stream ends."""


def _work(number: int, plan: _Plan, own: Connection, others: list[Connection]) -> None:
    """A worker's life: until its pipe is closed."""
    # Copies of the ends of other pipes would keep those open.
    for one in others:
        one.close()
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(own, tasks), daemon=True).start()
    fetch: Callable[[Any], Any] = _nothing
    while (task := tasks.get()) is not None:
        kind, given = task
        found: Any
        try:
            if kind == "start":
                fetch = _started(number, plan, given + number)
                continue
            found = fetch(given)
        except Ended:
            found = _End()
        except KeyboardInterrupt:
            return
        except Exception as error:
            found = _described(error, number)
            if kind == "start":
                fetch = partial(_always, found)
                continue
        if not _sent(own, found, number):
            return


def _started(number: int, plan: _Plan, seed: int) -> Callable[[Any], Any]:
    """An epoch's beginning, and a worker's, if it is the first."""
    global _info
    first = _info is None
    manual_seed(seed)
    random.seed(seed)
    _info = WorkerInfo(number, plan.workers, seed, plan.dataset)
    if first and plan.prepare is not None:
        plan.prepare(number)
    return plan.fetcher(plan.dataset)


def _nothing(order: Any) -> Any:
    raise RuntimeError("DataLoader: a worker was asked before it was started")


def _always(failure: _Failure, order: Any) -> _Failure:
    return failure


def _described(error: Exception, number: int) -> _Failure:
    kind = type(error).__name__
    text = f"{kind} in worker {number} of a DataLoader:\n{traceback.format_exc()}"
    return _Failure(type(error), text)


def _sent(own: Connection, found: Any, number: int) -> bool:
    """Whether somebody is there to take it. What cannot be sent is a failure."""
    try:
        own.send(found)
    except (BrokenPipeError, ConnectionResetError):
        return False
    except Exception as error:
        # The type of an exception may be what cannot be sent; its words can.
        own.send(_Failure(RuntimeError, _described(error, number).text))
    return True


def _listen(own: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    """Take tasks from the pipe at once, so that who sends one never waits for a result."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            tasks.put(own.recv())
    tasks.put(None)


class Workers:
    """Processes of a loader; `run` goes through an epoch."""

    def __init__(
        self,
        dataset: Any,
        fetcher: Callable[[Any], Callable[[Any], Any]],
        count: int,
        prepare: Callable[[int], Any] | None,
        context: Any,
        timeout: float,
    ) -> None:
        self.timeout = timeout or None
        self.pending: deque[int] = deque()
        plan = _Plan(dataset, fetcher, prepare, count)
        made: Any = context or "fork"
        made = multiprocessing.get_context(made) if isinstance(made, str) else made
        self.pipes: list[Connection] = []
        self.processes: list[Any] = []
        for number in range(count):
            own, theirs = made.Pipe()
            self.pipes.append(own)
            others = list(self.pipes) if made.get_start_method() == "fork" else []
            process = made.Process(target=_work, args=(number, plan, theirs, others), daemon=True)
            process.start()
            theirs.close()
            self.processes.append(process)

    def run(self, tasks: Iterable[Any], seed: int, ahead: int) -> Iterator[Any]:
        """The results of tasks, in their order; `ahead` are given to each worker at a time."""
        # What an epoch that was left early did not take.
        for number in self.pending:
            self._receive(number)
        self.pending.clear()
        for number in range(len(self.pipes)):
            self._send(number, ("start", seed))
        given = iter(tasks)
        active = list(range(len(self.pipes)))
        turn = 0

        def ask() -> None:
            nonlocal turn
            if not active:
                return
            for task in given:
                number = active[turn % len(active)]
                self._send(number, ("fetch", task))
                self.pending.append(number)
                turn = (turn + 1) % len(active)
                return

        for _ in range(ahead * len(self.pipes)):
            ask()
        while self.pending:
            number = self.pending.popleft()
            if number not in active:
                self._receive(number)
                continue
            found = self._receive(number)
            if isinstance(found, _End):
                place = active.index(number)
                active.remove(number)
                turn -= place < turn
                ask()
                continue
            ask()
            if isinstance(found, _Failure):
                raise _exception(found)
            yield found

    def _send(self, number: int, task: Any) -> None:
        try:
            self.pipes[number].send(task)
        except (BrokenPipeError, OSError):
            raise self._gone(number) from None

    def _receive(self, number: int) -> Any:
        pipe = self.pipes[number]
        try:
            if self.timeout is not None and not pipe.poll(self.timeout):
                raise RuntimeError(
                    f"DataLoader: worker {number} gave no batch for {self.timeout} seconds"
                )
            return pipe.recv()
        except (EOFError, ConnectionResetError):
            raise self._gone(number) from None

    def _gone(self, number: int) -> RuntimeError:
        self.processes[number].join(_PATIENCE)
        code = self.processes[number].exitcode
        return RuntimeError(
            f"DataLoader: worker {number} ended unexpectedly, with exit code {code}"
        )

    def close(self) -> None:
        """Let all of them end."""
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(_PATIENCE)
            if process.is_alive():
                process.terminate()
                process.join()


def _exception(failure: _Failure) -> BaseException:
    """The exception of a worker, of its own type where that takes a text."""
    try:
        return failure.kind(failure.text)
    except Exception:
        return RuntimeError(failure.text)
