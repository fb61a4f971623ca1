"""A process for each library, of which one runs at a time: the others are stopped, threads and all.

The threads of each library go on spinning for milliseconds after a call, on the processors that the
next one is then timed on; a stopped process has none.

    python benchmarks/workers.py MODULE LIBRARY    # pickled questions in, pickled answers out
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


class WorkerError(Exception):
    """What went wrong in the other process, in one line."""


class Worker:
    """A process that answers questions with a module's function `answer(library, *question)`, with
    `variables` in its environment."""

    def __init__(
        self, module: str, library: str, variables: Mapping[str, str] = NO_VARIABLES
    ) -> None:
        self.library = library
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), module, library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **variables},
        )
        self._answer()
        self.process.send_signal(signal.SIGSTOP)

    def ask(self, *question: Any) -> Any:
        """Wake the process, put a question, and stop it again. Raises WorkerError."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            pickle.dump(question, self.process.stdin)
            self.process.stdin.flush()
            return self._answer()
        except (BrokenPipeError, EOFError) as error:
            raise WorkerError(f"the process of {self.library} has ended") from error
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        worked, answer = pickle.load(self.process.stdout)
        if not worked:
            raise WorkerError(answer)
        return answer

    def end(self) -> None:
        """Let the process go."""
        self.process.kill()
        self.process.wait()


@contextmanager
def working(module: str, libraries: Sequence[str]) -> Iterator[list[Worker]]:
    """Workers for several libraries, which end with the block."""
    workers: list[Worker] = []
    try:
        for library in libraries:
            workers.append(Worker(module, library))
        yield workers
    finally:
        for worker in workers:
            worker.end()


def end_with_parent() -> None:
    """Let the kernel end this process when the one that asks is gone, be it stopped or at work."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def serve(module: str, library: str) -> None:
    """Answer questions until nobody asks any more."""
    end_with_parent()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a library prints is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asked = importlib.import_module(module)
    lib = importlib.import_module(library)
    pickle.dump((True, "ready"), answers)
    answers.flush()
    while True:
        try:
            question = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = (True, asked.answer(lib, *question))
        except Exception as error:
            answer = (False, f"{type(error).__name__}: {error}".splitlines()[0])
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
