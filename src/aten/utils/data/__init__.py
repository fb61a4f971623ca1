"""Data sets, orders to go through them, and loaders that make batches, in this process."""

from __future__ import annotations

from typing import Any

from aten.refusals import refuse
from aten.utils.data.datasets import Dataset, IterableDataset, Subset, TensorDataset, random_split
from aten.utils.data.loading import DataLoader, default_collate
from aten.utils.data.samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "TensorDataset",
    "default_collate",
    "random_split",
]


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
