"""Automatic conversion on GPUs, of which there are none."""

from __future__ import annotations

from aten._core.base.dtypes import dtype
from aten.amp.autocasting import autocast as _autocast

__all__ = ["autocast"]


class autocast(_autocast):  # noqa: N801
    """A context that converts nothing, for there is no such device."""

    def __init__(
        self, enabled: bool = True, dtype: dtype | None = None, cache_enabled: bool = True
    ) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)
