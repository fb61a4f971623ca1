"""Batches out of data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from copy import copy
from itertools import islice, repeat
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.random.generator import Generator
from aten._core.tensor.tensor import Tensor
from aten.construction import tensor
from aten.registry import ops
from aten.utils.data.datasets import IterableDataset, TensorDataset
from aten.utils.data.samplers import BatchSampler, RandomSampler, SequentialSampler
from aten.utils.data.workers import Ended, Workers

__all__ = ["DataLoader", "default_collate", "default_convert"]


def default_collate(batch: list[Any]) -> Any:
    """Samples as one: tensors stacked, numbers as tensors, tuples and dicts part by part.

    Mappings, tuples with names and lists keep their class; other tuples become lists. Raises
    TypeError for samples of other kinds, RuntimeError for sequences of several lengths.
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
        return _mapping_like(
            first, {key: default_collate([one[key] for one in batch]) for key in first}
        )
    if isinstance(first, (tuple, list)):
        if any(len(one) != len(first) for one in batch):
            raise RuntimeError(
                "default_collate: each element in list of batch should be of equal size"
            )
        columns = [default_collate(list(column)) for column in zip(*batch, strict=True)]
        return _sequence_like(first, columns)
    if hasattr(first, "__array__"):
        return default_collate([tensor(one) for one in batch])
    raise TypeError(
        f"default_collate: batch must contain tensors, numbers, dicts or lists; found {type(first)}"
    )


def default_convert(data: Any) -> Any:
    """Arrays and their numbers as tensors, wherever they are in dicts, lists and tuples.

    Tuples without names become lists.
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, (tuple, list)):
        return _sequence_like(data, [default_convert(value) for value in data])
    return tensor(data) if hasattr(data, "__array__") else data


def _mapping_like(pattern: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """`values` in a mapping of the pattern's class, where that can be made."""
    try:
        if not isinstance(pattern, MutableMapping):
            return type(pattern)(values)  # type: ignore[call-arg]
        made = copy(pattern)
        made.update(values)
    except TypeError:
        return values
    return made


def _sequence_like(pattern: Sequence[Any], values: list[Any]) -> Any:
    """`values` in a sequence of the pattern's class, where that can be made; tuples are lists."""
    if type(pattern) is tuple:
        return values
    if hasattr(pattern, "_fields"):
        return type(pattern)(*values)
    try:
        return type(pattern)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _alone(sample: Any, collate: Callable[[Any], Any] | None) -> Any:
    return sample if collate is None else collate(sample)


class _Stream:
    """Batches of a stream, or its samples, one at each call."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None,
        drop_last: bool,
        collate: Callable[[Any], Any] | None,
    ) -> None:
        self.samples = iter(dataset)
        self.batch_size, self.drop_last, self.collate = batch_size, drop_last, collate

    def fetch(self, order: None) -> Any:
        """The next one. Raises Ended where there is none."""
        if self.batch_size is None:
            for sample in self.samples:
                return _alone(sample, self.collate)
            raise Ended
        batch = list(islice(self.samples, self.batch_size))
        if not batch or (self.drop_last and len(batch) < self.batch_size):
            raise Ended
        return (self.collate or default_collate)(batch)


def _until_ended(fetch: Callable[[None], Any]) -> Iterator[Any]:
    with suppress(Ended):
        while True:
            yield fetch(None)


class DataLoader:
    """Goes through a data set in batches, in this process or in `num_workers` others.

    Batches come in the same order for any number of workers. Each worker has a copy of the data
    set, and a seed of its own; of a data set that is a stream, each gives what its copy has, which
    `get_worker_info` lets it choose. `prefetch_factor` batches are made ahead by each. A batch that
    takes longer than `timeout` seconds is a RuntimeError, if that is not 0; so is a worker that
    ends. Raises ValueError for settings that exclude each other.
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
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if num_workers < 0 or timeout < 0:
            raise ValueError(
                f"DataLoader: num_workers and timeout must not be negative, got {num_workers} and "
                f"{timeout}"
            )
        if not num_workers and (prefetch_factor is not None or persistent_workers):
            raise ValueError("DataLoader: prefetch_factor and persistent_workers need num_workers")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError(f"DataLoader: prefetch_factor must be at least 1: {prefetch_factor}")
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self._workers: Workers | None = None
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
        if batch_sampler is not None and (
            batch_size != 1 or shuffle or sampler is not None or drop_last
        ):
            raise ValueError(
                "DataLoader: batch_sampler makes the batches; batch_size, shuffle, sampler and "
                "drop_last do not go with it"
            )
        if sampler is None:
            random = RandomSampler(dataset, generator=generator)
            sampler = random if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __iter__(self) -> Iterator[Any]:
        # Drawn without workers, too: the order after it is the same.
        seed = ops.aten.empty((), dtype=DTYPES["int64"]).random_(generator=self.generator)
        if self.num_workers:
            return self._from_workers(int(seed))
        fetch = self._fetcher(self.dataset)
        if self._streams:
            return _until_ended(fetch)
        return map(fetch, self._orders())

    def _orders(self) -> Any:
        """What is asked of a fetcher: numbers of samples, by batch if there are batches."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _from_workers(self, seed: int) -> Iterator[Any]:
        workers = self._workers
        if workers is None:
            settings = (self.worker_init_fn, self.multiprocessing_context, self.timeout)
            workers = Workers(self.dataset, self._fetcher, self.num_workers, *settings)
        if self.persistent_workers:
            self._workers = workers
        orders = repeat(None) if self._streams else self._orders()
        try:
            yield from workers.run(orders, seed, self.prefetch_factor or 2)
        except RuntimeError:
            self._workers = None
            raise
        finally:
            if self._workers is None:
                workers.close()

    def _fetcher(self, dataset: Any) -> Callable[[Any], Any]:
        """What gives the batch, or the sample, of an order."""
        if self._streams:
            return _Stream(dataset, self.batch_size, self.drop_last, self.collate_fn).fetch
        if self.batch_sampler is None:
            return lambda number: _alone(dataset[number], self.collate_fn)
        # Rows of tensors are picked at once, not one by one and joined.
        if type(dataset) is TensorDataset and self.collate_fn is None:
            return lambda numbers: list(dataset[tensor(numbers)])
        collate = self.collate_fn or default_collate
        return lambda numbers: collate([dataset[number] for number in numbers])

    def __len__(self) -> int:
        if self._streams:
            raise TypeError("DataLoader: an IterableDataset has no length")
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
