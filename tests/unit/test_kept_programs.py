"""Programs that another process has captured, looked at in a process of their own.

What a process has registered and set before decides whether a program is kept at all.
"""

import subprocess
import sys
from pathlib import Path

CHECKS = Path(__file__).with_name("kept_program_checks.py")


def test_programs_of_another_process():
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", CHECKS]
    asked = subprocess.run(command, check=False, capture_output=True, text=True, cwd=CHECKS.parent)
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert " passed" in asked.stdout.splitlines()[-1]
    assert "skipped" not in asked.stdout
