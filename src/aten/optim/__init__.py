"""Optimizers and schedules of learning rates. All parameters of a group take one call a step."""

from __future__ import annotations

from typing import Any

from aten.optim import lr_scheduler
from aten.optim.fused import SGD, Adagrad, Adam, AdamW
from aten.optim.listed import NAdam, RMSprop
from aten.optim.optimizer import Optimizer
from aten.refusals import refuse

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "NAdam",
    "Optimizer",
    "RMSprop",
    "lr_scheduler",
]


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
