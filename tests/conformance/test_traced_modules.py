"""Traced functions at other sizes, and traced modules as modules, in both libraries."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import aten


def traced(lib: Any, target: Any, *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lib.jit.trace(target, args)


def image(lib: Any, x: Any) -> Any:
    pooled = lib.nn.functional.max_pool2d(x, 2)
    larger = lib.nn.functional.interpolate(pooled, size=x.shape[2:])
    return larger.reshape(x.shape[0], -1)


PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "number": (lambda lib, x: x * 2 + x.shape[0], [(3,)], [(5,)]),
    "view": (lambda lib, x: x.view(x.size(0), -1) * x.shape[1], [(1, 3, 4)], [(5, 2, 2)]),
    "square": (lambda lib, x: x * x.shape[1], [(4, 4)], [(4, 6)]),
    "equal": (lambda lib, x, y: (x + y) * y.shape[1], [(3, 4), (3, 4)], [(2, 7), (2, 7)]),
    "matrix": (lambda lib, x, y: (x @ y) * x.shape[1], [(3, 4), (4, 2)], [(2, 7), (7, 3)]),
    "branch": (lambda lib, x: x * 2 if x.shape[0] > 2 else x * 3, [(3,)], [(5,)]),
    "image": (image, [(1, 3, 8, 8)], [(2, 3, 12, 6)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_made_of_sizes_follow_them(name: str) -> None:
    function, example, given = PROGRAMS[name]

    def run(lib: Any) -> Any:
        def tensors(shapes: list[tuple[int, ...]]) -> list[Any]:
            return [lib.arange(float(torch.Size(one).numel())).view(one) / 8 for one in shapes]

        made = traced(lib, lambda *args: function(lib, *args), *tensors(example))
        return made(*tensors(given)).tolist()

    assert run(aten) == run(torch)


def test_traced_modules_are_modules() -> None:
    def seen(lib: Any) -> list[Any]:
        layers = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2)).eval()
        made = traced(lib, layers, lib.ones(1, 2))
        x = lib.ones(1, 2).double()
        found: list[Any] = [str(made.double()(x).dtype).split(".")[-1]]
        found.append([str(one.dtype).split(".")[-1] for one in layers.parameters()])
        made.load_state_dict({name: one * 0 + 7 for name, one in made.state_dict().items()})
        found.append([round(value, 6) for value in made(x)[0].tolist()])
        getattr(made, "0").weight = lib.nn.Parameter(lib.zeros(2, 2).double())
        found += [made(x).tolist(), copy.deepcopy(made)(x).tolist()]
        layers[0].bias = lib.nn.Parameter(lib.zeros(2).double())
        found += [made(x).tolist(), [name for name, _ in made.named_modules()]]
        found += [sorted(made.state_dict()), [name for name, _ in made.named_parameters()]]
        return found

    assert seen(aten) == seen(torch)
