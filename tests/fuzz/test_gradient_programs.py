"""Random programs of operators, views and writes in place: values and gradients as torch's."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import aten

PROGRAMS = 300
STEPS = 8


def _values(source: random.Random, *sizes: int) -> list[Any]:
    if not sizes:
        return round(source.uniform(-2, 2), 3)
    return [_values(source, *sizes[1:]) for _ in range(sizes[0])]


def program(library: Any, seed: int) -> tuple[list[Any], list[Any], list[str]]:
    """The leaves, the tensors that are left, and what was done."""
    source = random.Random(seed)
    leaves = [
        library.tensor(_values(source, 3, 4), dtype=library.float64, requires_grad=True)
        for _ in range(2)
    ]
    plain = library.tensor(_values(source, 3, 4), dtype=library.float64)
    alive = [*leaves, plain.clone()]
    done = []
    for _ in range(STEPS):
        step = source.choice(STEPS_OF)
        done.append(step.__name__)
        made = step(library, source, alive)
        if made is not None:
            alive.append(made)
    return leaves, alive, done


def pointwise(library: Any, source: random.Random, alive: list[Any]) -> Any:
    one = source.choice(alive)
    name = source.choice(["tanh", "sin", "exp", "sigmoid", "relu", "neg", "square"])
    return getattr(library, name)(one) * 0.5


def joined(library: Any, source: random.Random, alive: list[Any]) -> Any:
    one, other = source.choice(alive), source.choice(alive)
    if one.shape != other.shape:
        one, other = one.sum(), other
    return one * other if source.random() < 0.5 else one - other


def folded(library: Any, source: random.Random, alive: list[Any]) -> Any:
    one = source.choice(alive)
    return one - one.mean(-1, keepdim=True) if one.dim() else one * 2


def viewed(library: Any, source: random.Random, alive: list[Any]) -> Any:
    # A view made before its base has a graph does not learn of one that a write brings.
    candidates = [one for one in alive[2:] if one.requires_grad]
    if not candidates:
        return None
    one = source.choice(candidates)
    if one.dim() == 0:
        return one.view(1)
    choice = source.randrange(5)
    if choice == 0:
        return one[source.randrange(one.shape[0])]
    if choice == 1:
        return one.transpose(0, -1)
    if choice == 2:
        return one[..., ::2]
    if choice == 3:
        return one.unsqueeze(0)
    return one.expand(2, *one.shape)


def written(library: Any, source: random.Random, alive: list[Any]) -> None:
    target = source.choice(alive[2:])
    other = source.choice(alive)
    choice = source.randrange(6)
    if choice == 0:
        target.mul_(1.5)
    elif choice == 1:
        target.add_(other.sum() * 0.1)
    elif choice == 2:
        target.copy_(other.mean())
    elif choice == 3:
        target.tanh_()
    elif choice == 4 and target.dim():
        target[0] = other.sum() * 0.2
    elif target.shape == other.shape:
        target.sub_(other)


STEPS_OF = [pointwise, joined, folded, viewed, viewed, written, written]


def outcome(library: Any, seed: int) -> Any:
    """Values and gradients, or the type of what is raised."""
    try:
        leaves, alive, _ = program(library, seed)
    except RuntimeError:
        return "refused on the way"
    total = sum(one.sin().sum() for one in alive[2:])
    values = [one.detach().tolist() for one in alive]
    if not total.requires_grad:
        return values, None
    try:
        gradients = library.autograd.grad(total, leaves, allow_unused=True)
    except RuntimeError:
        return values, "refused on the way back"
    return values, [None if one is None else one.tolist() for one in gradients]


def close(given: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return len(given) == len(expected) and all(map(close, given, expected))
    if isinstance(expected, float):
        return given == pytest.approx(expected, rel=1e-9, abs=1e-9)
    return bool(given == expected)


@pytest.mark.parametrize("part", range(4))
def test_programs_have_torchs_gradients(part):
    walked = 0
    for seed in range(part, PROGRAMS, 4):
        expected, given = outcome(torch, seed), outcome(aten, seed)
        if isinstance(expected, str) or isinstance(given, str):
            assert given == expected, f"program {seed}"
            continue
        assert close(given[0], expected[0]), f"values of program {seed}"
        if isinstance(expected[1], list):
            walked += 1
            assert isinstance(given[1], list), f"program {seed}: {given[1]}"
            for mine, theirs in zip(given[1], expected[1], strict=True):
                assert (mine is None) == (theirs is None), f"program {seed}"
                assert theirs is None or close(mine, theirs), f"gradients of program {seed}"
        else:
            assert given[1] == expected[1], f"program {seed}"
    assert walked > PROGRAMS // 16
