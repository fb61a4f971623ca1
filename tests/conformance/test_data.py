"""Data sets, samplers and loaders against torch; loaders with processes against themselves."""

from __future__ import annotations

import os
import time
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest
from comparison import torch

import aten


def squares(library, count=10):
    class Squares(library.utils.data.Dataset):
        """Numbers and their squares."""

        def __getitem__(self, index):
            return library.tensor(index), {"square": float(index**2), "name": str(index)}

        def __len__(self):
            return count

    return Squares()


def listed(found):
    if isinstance(found, (list, tuple)):
        return [listed(one) for one in found]
    if isinstance(found, dict):
        return {key: listed(value) for key, value in found.items()}
    return found.tolist() if hasattr(found, "tolist") else found


def batches(library, dataset, epochs=1, **settings):
    library.manual_seed(3)
    loader = library.utils.data.DataLoader(dataset, **settings)
    return [listed(one) for _ in range(epochs) for one in loader]


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True, "shuffle": True},
        {"batch_size": None},
    ],
)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_workers_change_nothing(settings, count):
    theirs = batches(torch, squares(torch), 2, **settings)
    assert batches(aten, squares(aten), 2, num_workers=count, **settings) == theirs


def test_persistent_workers():
    dataset = squares(aten)
    settings = {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 3}
    loader = aten.utils.data.DataLoader(dataset, batch_size=2, **settings)
    next(iter(loader))
    first = [listed(one) for one in loader]
    assert first == batches(aten, dataset, batch_size=2)
    processes = loader._workers.processes
    assert [listed(one) for one in loader] == first
    assert loader._workers.processes is processes
    loader._workers.close()


def stream(library):
    class Stream(library.utils.data.IterableDataset):
        """Ten numbers; of two workers, the first has seven."""

        def __iter__(self):
            info = library.utils.data.get_worker_info()
            if info is None:
                return iter(range(10))
            assert info.num_workers == 2
            assert info.dataset is self
            return iter(range(7) if info.id == 0 else range(7, 10))

    return Stream()


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize(
    "settings", [{"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}]
)
def test_streams(settings, count):
    theirs = batches(torch, stream(torch), num_workers=count, **settings)
    assert batches(aten, stream(aten), num_workers=count, **settings) == theirs


def test_big_batches_and_many_numbers():
    """Neither way of a pipe waits for the other."""
    rows = aten.arange(200_000.0).reshape(100_000, 2)
    dataset = aten.utils.data.TensorDataset(rows)
    found = aten.utils.data.DataLoader(dataset, batch_size=25_000, num_workers=1)
    assert aten.equal(aten.cat([one for (one,) in found]), rows)


class Seeds(aten.utils.data.Dataset):
    """What each worker draws."""

    def __getitem__(self, index):
        return aten.rand(()), aten.utils.data.get_worker_info().seed

    def __len__(self):
        return 4


def test_seeds():
    found = [batches(aten, Seeds(), num_workers=2) for _ in range(2)]
    assert found[0] == found[1]
    assert len({one[0][0] for one in found[0]}) == 4
    assert found[0][1][1][0] == found[0][0][1][0] + 1
    assert aten.utils.data.get_worker_info() is None


class Failing(aten.utils.data.Dataset):
    """Fails at 3, in a way."""

    def __init__(self, fail):
        self.fail = fail

    def __getitem__(self, index):
        if index == 3:
            self.fail()
        return index

    def __len__(self):
        return 6


def refuse():
    raise KeyError("three")


@pytest.mark.parametrize(
    ("fail", "kind", "text"),
    [
        (refuse, KeyError, "three"),
        (lambda: os._exit(7), RuntimeError, "exit code 7"),
        (lambda: os.kill(os.getpid(), 9), RuntimeError, "exit code -9"),
        (lambda: time.sleep(60), RuntimeError, "seconds"),
    ],
)
def test_workers_that_fail(fail, kind, text):
    loader = aten.utils.data.DataLoader(Failing(fail), num_workers=2, timeout=1)
    with pytest.raises(kind, match=text):
        list(loader)


def test_what_cannot_be_sent():
    loader = aten.utils.data.DataLoader([1], num_workers=1, collate_fn=lambda given: lambda: given)
    with pytest.raises(RuntimeError, match="pickle"):
        list(loader)
    wrong = aten.utils.data.DataLoader([1], num_workers=1, worker_init_fn=lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(wrong)


def test_workers_are_prepared():
    seen = []
    loader = aten.utils.data.DataLoader(
        Failing(lambda: None),
        num_workers=1,
        worker_init_fn=seen.append,
        collate_fn=lambda given: (given, list(seen)),
    )
    assert list(loader)[5] == ([5], [0])
    assert seen == []


def test_samplers():
    def orders(library):
        data = library.utils.data
        library.manual_seed(5)
        for sampler in (
            data.RandomSampler(range(7)),
            data.RandomSampler(range(7), num_samples=17),
            data.RandomSampler(range(7), replacement=True, num_samples=70),
            data.SubsetRandomSampler([3, 1, 4, 1, 5]),
            data.WeightedRandomSampler([0.1, 3, 0, 2], 9),
            data.WeightedRandomSampler([0.1, 3, 0, 2], 2, replacement=False),
        ):
            yield list(sampler), len(sampler)
        given = library.Generator().manual_seed(2)
        yield list(data.RandomSampler(range(9), generator=given))

    assert list(orders(aten)) == list(orders(torch))


def test_data_sets():
    def samples(library):
        data = library.utils.data
        first, second = squares(library, 3), squares(library, 2)
        joined = data.ConcatDataset([first, second])
        yield [listed(joined[index]) for index in (0, 2, 3, 4, -1, -5)], len(joined)
        yield listed(data.StackDataset(first, first)[1])
        yield listed(data.StackDataset(a=first, b=first)[1])
        yield list(data.ChainDataset([stream(library), stream(library)]))
        for wrong in ((first, second), ()):
            with pytest.raises((ValueError, IndexError)):
                data.StackDataset(*wrong)
        with pytest.raises(AssertionError):
            data.ConcatDataset([])

    assert list(samples(aten)) == list(samples(torch))


@pytest.mark.parametrize(
    "settings",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"shuffle": True, "sampler": range(3)},
    ],
)
def test_wrong_settings(settings):
    for library in (aten, torch):
        with pytest.raises(ValueError):
            library.utils.data.DataLoader(squares(library), **settings)


class _Pair(NamedTuple):
    first: float
    second: int


@pytest.mark.parametrize(
    "samples",
    [
        [_Pair(1.0, 2), _Pair(3.0, 4)],
        [OrderedDict(b=1, a=2.0), OrderedDict(b=3, a=4.0)],
        [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
        [defaultdict(list, a=1), defaultdict(list, a=2)],
        [(1, [2.0, "x"]), (3, [4.0, "y"])],
        [[1, 2], [3]],
    ],
    ids=["names", "ordered", "proxy", "default", "nested", "lengths"],
)
def test_collated_samples_keep_their_classes(samples):
    found = []
    for library in (aten, torch):
        try:
            made = library.utils.data.default_collate(samples)
        except RuntimeError:
            found.append("refused")
            continue
        kept = library.utils.data.default_convert(samples[0])
        values = list(made.values()) if isinstance(made, Mapping) else list(made)
        plain = [one.tolist() if hasattr(one, "tolist") else repr(one) for one in values]
        plain = [str(one).replace("aten.", "torch.") for one in plain]
        found.append((type(made), plain[:1], type(kept)))
    assert found[0] == found[1]


def test_a_subset_takes_lists_of_numbers():
    found = []
    for library in (aten, torch):
        whole = library.utils.data.TensorDataset(library.arange(10))
        part = library.utils.data.Subset(whole, [7, 3, 5])
        found.append([one.tolist() for one in part[[0, 2]]])
    assert found[0] == found[1]
