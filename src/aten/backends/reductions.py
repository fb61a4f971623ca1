"""Plans for reductions."""

from __future__ import annotations
from typing import Any


def plan_reduction(backend: Any, definition: Any, arguments: list[Any]) -> Any:
    raise NotImplementedError
