"""What training needs around networks: data."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from aten.refusals import refuse

__all__ = ["data"]


def __getattr__(name: str) -> Any:
    if name == "data":
        return import_module("aten.utils.data")
    return refuse(__name__, name)
