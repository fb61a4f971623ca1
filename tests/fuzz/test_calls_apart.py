"""Threads that share nothing they write to, without a sanitizer: they compute, and end.

In a process of its own, which is refused memory beyond a bound.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CALLS = 68


def test_threads_that_share_what_they_read() -> None:
    arguments = [sys.executable, "tools/thread_fuzz.py", "--apart", "--calls", str(CALLS)]
    run = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=300)
    counted = re.match(r"(\d+) succeeded, (\d+) refused", run.stdout)
    assert run.returncode == 0, run.stderr
    assert counted is not None, run.stdout
    assert int(counted[1]) > 0
    assert int(counted[1]) + int(counted[2]) == CALLS
