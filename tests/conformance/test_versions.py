"""How often a tensor has been written to: `_version`, as torch counts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import aten

Versions = list[tuple[int, ...]]


def views_share(lib: Any) -> Versions:
    x = lib.zeros(4)
    view, detached = x[1:], x.detach()
    seen = [x, view, detached, view.view(3), detached.as_strided((2,), (1,))]
    counts = []
    for write in (x, view, detached, seen[3], seen[4]):
        write.add_(1)
        counts.append(tuple(one._version for one in seen))
    return counts


def data_does_not(lib: Any) -> Versions:
    x = lib.zeros(4)
    x.add_(1)
    data = x.data
    inner, again = data[1:], data.data
    seen = [x, data, inner, again]
    counts = [tuple(one._version for one in seen)]
    for write in seen:
        write.mul_(2)
        counts.append(tuple(one._version for one in seen))
    return counts


def data_is_replaced(lib: Any) -> Versions:
    x, other = lib.zeros(3), lib.ones(2)
    x.add_(1)
    x.data = other
    counts = [(x._version, other._version)]
    x.add_(1)
    counts.append((x._version, other._version))
    return counts


def set_never_goes_back(lib: Any) -> Versions:
    x, other = lib.zeros(4), lib.zeros(3)
    view = x[1:]
    x.add_(1)
    seen = [x, view, other]
    counts = []
    steps: list[Callable[[], Any]] = [
        lambda: x.set_(other),
        lambda: x.add_(1),
        lambda: other.add_(1),
        lambda: view.add_(1),
        lambda: x.set_(),
        lambda: x.set_(lib.zeros(4).untyped_storage()),
        lambda: x.set_(view),
        lambda: view.add_(1),
        lambda: other[1:].add_(1),
    ]
    for step in steps:
        step()
        counts.append(tuple(one._version for one in seen))
    return counts


def a_storage_is_shown_by_another(lib: Any) -> Versions:
    x = lib.zeros(4)
    x.add_(1)
    other = lib.empty(0).set_(x.untyped_storage())
    counts = [(x._version, other._version)]
    other.add_(1)
    counts.append((x._version, other._version))
    x.add_(1)
    counts.append((x._version, other._version))
    return counts


def geometry_in_place(lib: Any) -> Versions:
    x = lib.zeros(2, 3)
    counts = []
    for step in (
        lambda: x.t_(),
        lambda: x.squeeze_(),
        lambda: x.unsqueeze_(0),
        lambda: x.transpose_(0, 1),
        lambda: x.resize_(7),
        lambda: x.resize_(7),
        lambda: x.resize_as_(lib.zeros(2)),
    ):
        step()
        counts.append((x._version,))
    return counts


def writes(lib: Any) -> Versions:
    x, places = lib.zeros(4, 4), lib.tensor([0, 1])
    counts = []
    for step in (
        lambda: x.copy_(lib.ones(4, 4)),
        lambda: lib.add(x, 1, out=x),
        lambda: x.__setitem__((0, 0), 5.0),
        lambda: x.__setitem__(0, lib.ones(4)),
        lambda: x.fill_(2),
        lambda: x.zero_(),
        lambda: x.index_add_(0, places, lib.ones(2, 4)),
        lambda: x.scatter_(0, lib.zeros(1, 4, dtype=lib.int64), 1.0),
        lambda: lib.mm(lib.ones(4, 4), lib.ones(4, 4), out=x),
        lambda: x.normal_(),
        lambda: x.clone().add_(1),
        lambda: x.t().mul_(2),
        lambda: x.diagonal().mul_(2),
    ):
        step()
        counts.append((x._version,))
    return counts


STORIES = [
    views_share,
    data_does_not,
    data_is_replaced,
    set_never_goes_back,
    a_storage_is_shown_by_another,
    geometry_in_place,
    writes,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_versions_are_torchs(story: Callable[[Any], Versions]) -> None:
    assert story(aten) == story(torch)


def test_deep_tensors_and_recycled_ones_count_from_zero() -> None:
    deep = aten.zeros(*[1] * 12)
    data = deep.data
    data.add_(1)
    assert (deep._version, data._version, data[0]._version) == (0, 1, 1)
    for _ in range(200):
        x = aten.zeros(3)
        apart = x.data
        apart.add_(1)
        del apart
        assert (x._version, x.view(3)._version) == (0, 0)
        del x
    assert aten.zeros(3)._version == 0


def test_a_failing_set_leaves_the_version() -> None:
    x = aten.zeros(3)
    with pytest.raises(RuntimeError):
        x.set_(aten.zeros(3, dtype=aten.float64))
    assert x._version == 0
