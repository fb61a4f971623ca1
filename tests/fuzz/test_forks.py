"""Forks at random moments while other threads compile, draw numbers, factorize and import.

The child computes, and compiles what nobody has compiled. More of them: `tools/fuzz.py --forks`.
"""

from __future__ import annotations

import forks_under_load


def test_children_of_busy_processes_compute():
    assert forks_under_load.run(12, seed=0) == {"right": 12, "wrong": 0, "hangs": 0}
