"""Optimizers and schedules of learning rates. All parameters of a group take one call a step."""

from __future__ import annotations

from typing import Any

from aten.names.refusals import refuse
from aten.optim import lr_scheduler as lr_scheduler
from aten.optim import swa_utils as swa_utils
from aten.optim.fused import SGD, Adagrad, Adam, AdamW
from aten.optim.listed import Adadelta, Adamax, NAdam, RAdam, RMSprop
from aten.optim.matrices import Adafactor, Muon
from aten.optim.optimizer import Optimizer
from aten.optim.quasi_newton import LBFGS
from aten.optim.signs import ASGD, Rprop
from aten.optim.sparse import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
