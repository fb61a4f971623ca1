"""Tensors and containers in the zip files that `torch.save` writes. Nothing in one is executed."""

from __future__ import annotations

from aten.checkpoints.files import load, save

__all__ = ["load", "save"]
