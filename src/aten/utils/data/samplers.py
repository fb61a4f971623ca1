"""Orders in which to go through a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.random.generator import Generator
from aten.construction import as_tensor
from aten.registry import ops

__all__ = [
    "BatchSampler",
    "DistributedSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_DRAWN_AT_ONCE = 32


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


def _own_generator() -> Generator:
    """A generator seeded by the default one."""
    made = Generator()
    made.manual_seed(int(ops.aten.empty((), dtype=DTYPES["int64"]).random_().item()))
    return made


class RandomSampler(Sampler):
    """A permutation, another one each time; without a generator seeded by the default one.

    With `num_samples` as many numbers, of several permutations if need be; with `replacement`
    each drawn by itself.
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement must be a bool, got {replacement!r}")
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"RandomSampler: num_samples must be at least 1, got {num_samples!r}")
        if num_samples is None and len(data_source) == 0:
            raise ValueError("RandomSampler: there is nothing to draw from")
        self.data_source, self.generator = data_source, generator
        self.replacement, self._num_samples = replacement, num_samples

    @property
    def num_samples(self) -> int:
        """How many numbers there are."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or _own_generator()
        count, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            # As many at a time as torch draws: the numbers are torch's.
            for first in range(0, wanted, _DRAWN_AT_ONCE):
                size = min(_DRAWN_AT_ONCE, wanted - first)
                yield from ops.aten.randint(count, (size,), generator=generator).tolist()
            return
        while wanted > 0 and count > 0:
            order = ops.aten.randperm(count, generator=generator).tolist()
            yield from order[:wanted]
            wanted -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some numbers, in another order each time."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = ops.aten.randperm(len(self.indices), generator=self.generator)
        return (self.indices[place] for place in order.tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` numbers, each as often as its weight says.

    Raises ValueError for weights that are no row, and for counts below 1.
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"WeightedRandomSampler: num_samples must be at least 1, got {num_samples!r}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler: replacement must be a bool, got {replacement!r}"
            )
        self.weights = as_tensor(weights, dtype=DTYPES["float64"])
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights must be a row, got {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = ops.aten.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


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


class DistributedSampler(Sampler):
    """Every `num_replicas`-th number from `rank` on, so that several processes share a data set.

    Each has as many numbers: some come twice, or with `drop_last` none and the last ones are left
    out. With `shuffle` the order is that of `seed` and the epoch, which `set_epoch` says. There are
    no groups of processes here to ask: both numbers must be given, else ValueError is raised.

    Example:

        >>> list(aten.utils.data.DistributedSampler(range(5), 2, 1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError(
                "DistributedSampler: num_replicas and rank must be given: no group of processes "
                "has been initialized"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: rank must be between 0 and {num_replicas - 1}, not {rank}"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        spare = 0 if drop_last else num_replicas - 1
        self.num_samples = (len(dataset) + spare) // num_replicas
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = ops.aten.randperm(len(order), generator=generator).tolist()
        while order and len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch it is, so that each has another order, the same one everywhere."""
        self.epoch = epoch
