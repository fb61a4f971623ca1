"""Automatic conversion to half types, which is not there yet for the CPU."""

from aten.settings import autocast, is_autocast_available

__all__ = ["autocast", "is_autocast_available"]
