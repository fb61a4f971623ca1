"""Orders in which to go through a data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.random.generator import Generator
from aten.registry import ops

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """Numbers of samples, in an order. Subclasses write `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """From first to last."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A permutation, another one each time; without a generator seeded by the default one."""

    def __init__(self, data_source: Any, generator: Generator | None = None) -> None:
        self.data_source, self.generator = data_source, generator

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(int(ops.aten.empty((), dtype=DTYPES["int64"]).random_().item()))
        order = ops.aten.randperm(len(self.data_source), generator=generator)
        return iter(order.tolist())

    def __len__(self) -> int:
        return len(self.data_source)


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers, the last one shorter unless `drop_last`."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"BatchSampler: batch_size must be an int of at least 1, got {batch_size!r}"
            )
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch = []
        for number in self.sampler:
            batch.append(number)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + bool(rest and not self.drop_last)
