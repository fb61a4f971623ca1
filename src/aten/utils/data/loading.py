"""Batches out of data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.random.generator import Generator
from aten._core.tensor.tensor import Tensor
from aten.construction import tensor
from aten.registry import ops
from aten.utils.data.datasets import IterableDataset, TensorDataset
from aten.utils.data.samplers import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "default_collate"]


def default_collate(batch: list[Any]) -> Any:
    """Samples as one: tensors stacked, numbers as tensors, tuples and dicts part by part.

    Raises TypeError for samples of other kinds.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return ops.aten.stack(batch)
    if isinstance(first, float):
        return tensor(batch, dtype=DTYPES["float64"])
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([one[key] for one in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        return [default_collate(list(column)) for column in zip(*batch, strict=True)]
    if hasattr(first, "__array__"):
        return default_collate([tensor(one) for one in batch])
    raise TypeError(
        f"default_collate: batch must contain tensors, numbers, dicts or lists; found {type(first)}"
    )


class DataLoader:
    """Goes through a data set in batches, in this process.

    Raises ValueError for settings that exclude each other, and for workers.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        *,
        generator: Generator | None = None,
    ) -> None:
        if num_workers:
            raise ValueError(f"DataLoader: num_workers must be 0, got {num_workers}")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: shuffle=True has a sampler of its own, and one was given")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.collate_fn = collate_fn
        self.sampler: Any = None
        self.batch_sampler: Any = None
        self.generator = generator
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams:
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError("DataLoader: an IterableDataset has an order of its own")
            return
        if sampler is None:
            random = RandomSampler(dataset, generator=generator)
            sampler = random if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __iter__(self) -> Iterator[Any]:
        # What a loader with workers would seed them with: the order after it is the same.
        ops.aten.empty((), dtype=DTYPES["int64"]).random_(generator=self.generator)
        if self._streams:
            return self._from_stream()
        if self.batch_sampler is None:
            return (self._alone(self.dataset[number]) for number in self.sampler)
        return (self._batch(numbers) for numbers in self.batch_sampler)

    def _alone(self, sample: Any) -> Any:
        return sample if self.collate_fn is None else self.collate_fn(sample)

    def _collate(self, samples: list[Any]) -> Any:
        return (self.collate_fn or default_collate)(samples)

    def _batch(self, numbers: list[int]) -> Any:
        # Rows of tensors are picked at once, not one by one and joined.
        if type(self.dataset) is TensorDataset and self.collate_fn is None:
            return list(self.dataset[tensor(numbers)])
        return self._collate([self.dataset[number] for number in numbers])

    def _from_stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self._alone, samples)
            return
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield self._collate(batch)

    def __len__(self) -> int:
        if self._streams:
            raise TypeError("DataLoader: an IterableDataset has no length")
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
