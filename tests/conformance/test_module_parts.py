"""Statistics that are not kept, lazy layers of other types, containers and hooks, beside torch."""

from __future__ import annotations

from typing import Any

import pytest
from comparison import same


@pytest.mark.parametrize("momentum", [0.1, None])
def test_statistics_that_are_not_kept_any_more(momentum: float | None) -> None:
    def seen(lib: Any) -> Any:
        norm = lib.nn.BatchNorm1d(2, momentum=momentum)
        norm(lib.ones(2, 2))
        norm.track_running_stats = False
        norm(lib.ones(2, 2) * 3)
        return norm.num_batches_tracked.item(), norm.running_mean.tolist()

    same(seen)


@pytest.mark.parametrize("name", ["LazyBatchNorm1d", "LazyInstanceNorm1d"])
def test_lazy_norms_of_another_type(name: str) -> None:
    def seen(lib: Any) -> Any:
        norm = getattr(lib.nn, name)(affine=True, track_running_stats=True).double()
        result = norm(lib.ones(2, 3, 4).double())
        return [str(one.dtype)[-7:] for one in (result, norm.weight, norm.running_mean)]

    same(seen)


@pytest.mark.parametrize("index", [0, 1, 3, -1, -3, 4, -5])
def test_inserting_into_sequences(index: int) -> None:
    def seen(lib: Any) -> Any:
        layers = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Tanh(), lib.nn.GELU())
        assert layers.insert(index, lib.nn.SELU()) is layers
        return [type(one).__name__ for one in layers], list(layers._modules)

    same(seen)


def test_hooks_after_loading() -> None:
    def cleared(lib: Any) -> Any:
        layer = lib.nn.Linear(2, 2)
        layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        return list(layer.load_state_dict({"bias": lib.ones(2)}).missing_keys), layer.bias.tolist()

    def added(lib: Any) -> Any:
        layer = lib.nn.Linear(2, 2)
        layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.append("z"))
        return layer.load_state_dict(layer.state_dict())

    def returned(lib: Any) -> Any:
        layer = lib.nn.Linear(2, 2)
        layer.register_load_state_dict_post_hook(lambda module, keys: keys)
        return layer.load_state_dict(layer.state_dict())

    def order(lib: Any) -> Any:
        layers, found = lib.nn.Sequential(lib.nn.Linear(2, 2)), []
        layers.register_load_state_dict_post_hook(lambda *given: found.append("outer"))
        layers[0].register_load_state_dict_post_hook(lambda *given: found.append("inner"))
        layers.load_state_dict({}, strict=False)
        return found

    for program in (cleared, added, returned, order):
        same(program)


def test_parameters_by_key() -> None:
    def seen(lib: Any) -> Any:
        one = lib.nn.ParameterDict({"b": lib.ones(3), "a": lib.nn.Parameter(lib.ones(2)), "c": 3})
        found = [list(one), list(reversed(one)), one.get("no", 1), one.setdefault("c", 5)]
        other = one.copy()
        found += [other.pop("c"), other.popitem()[0], list(other), "a" in other]
        other["z"] = lib.ones(1)
        found += [list(one | other), list(one.fromkeys(["u", "v"], 2).keys())]
        one |= other
        found += [list(one), list(one.state_dict())]
        one.clear()
        return [*found, len(one)]

    same(seen)
    same(lambda lib: lib.nn.ParameterDict(3))


def test_parameters_in_lists() -> None:
    def joined(lib: Any) -> int:
        one = lib.nn.ParameterList([lib.ones(2)])
        one += [lib.ones(1), lib.ones(3)]
        return len(one)

    same(joined)
    same(lambda lib: lib.nn.ParameterList([lib.ones(2)]).extend(lib.ones(2)))
    same(lambda lib: lib.nn.ParameterList([lib.ones(2)])(1))
