"""Comparing tensors in tests."""

from __future__ import annotations

from typing import Any

from aten.names.naming import show_as_own
from aten.names.refusals import refuse
from aten.testing.comparison import assert_close
from aten.testing.making import make_tensor

__all__ = ["assert_close", "make_tensor"]

show_as_own(__name__, globals())


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
