"""Data sets: samples by number, or one after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from aten._core.random.generator import Generator
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class Dataset:
    """Samples by number. Subclasses write `__getitem__` and `__len__`."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Dataset: a subclass needs __getitem__")


class IterableDataset(Dataset):
    """Samples one after another. Subclasses write `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("IterableDataset: a subclass needs __iter__")


class TensorDataset(Dataset):
    """Rows of tensors of one length. Raises AssertionError where lengths differ."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(one.size(0) != tensors[0].size(0) for one in tensors):
            raise AssertionError("TensorDataset: the tensors must have as many rows")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(one[index] for one in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class ConcatDataset(Dataset):
    """Data sets one after another. Raises AssertionError for none, and for streams."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets or any(isinstance(one, IterableDataset) for one in self.datasets):
            raise AssertionError("ConcatDataset: expected data sets with numbers, one at least")
        self.cumulative_sizes = list(accumulate(len(one) for one in self.datasets))

    def __getitem__(self, index: int) -> Any:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"ConcatDataset: {index} is not among {count} samples")
        index %= count
        place = bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][index - before]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset):
    """Streams one after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for one in self.datasets:
            yield from one


class StackDataset(Dataset):
    """Samples of several data sets side by side: tuples, or dicts of those given by name.

    Raises ValueError where lengths differ, and for both or none.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) is bool(kwargs):
            raise ValueError("StackDataset: give data sets in their order, or by name")
        self.datasets: Any = kwargs or args
        listed = list(kwargs.values()) if kwargs else list(args)
        if len({len(one) for one in listed}) != 1:
            raise ValueError("StackDataset: the data sets must be of one length")
        self._length = len(listed[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: one[index] for name, one in self.datasets.items()}
        return tuple(one[index] for one in self.datasets)

    def __len__(self) -> int:
        return self._length


class Subset(Dataset):
    """The samples of another data set at some numbers."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: int | list[int]) -> Any:
        """The sample of a number, or of each of a list."""
        if isinstance(index, list):
            return self.dataset[[self.indices[one] for one in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """Parts of given lengths, or shares of 1, in random order.

    Raises ValueError where the lengths are not the data set's together.
    """
    count = len(dataset)
    sizes = [int(one) for one in lengths]
    if sum(lengths) <= 1 + 1e-9 and any(isinstance(one, float) for one in lengths):
        sizes = [int(count * one) for one in lengths]
        for extra in range(count - sum(sizes)):
            sizes[extra % len(sizes)] += 1
    if sum(sizes) != count:
        raise ValueError("random_split: lengths must add up to that of the data set")
    order = ops.aten.randperm(count, generator=generator).tolist()
    ends = accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
