"""Random little programs of views and writes: functionalized they give and write the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import aten
from aten.transforms import DispatchMode, Functionalize, functionalize
from aten.transforms.view_steps import overlaps_itself

PROGRAMS = 400
STEPS = 10
Pool = list[Any]


def _dim(draw: random.Random, x: Any) -> int:
    return draw.randrange(-x.dim(), x.dim())


def _view(draw: random.Random, x: Any) -> Callable[[Any], Any]:
    """A view that fits a tensor of these sizes; of some, one that is refused."""
    kind = draw.randrange(15)
    if x.dim() == 0:
        kinds: list[Callable[[Any], Any]] = [
            lambda one: one.view(1),
            lambda one: one.unsqueeze(0),
            lambda one: one.expand(2, 1),
            lambda one: one.detach(),
        ]
        return draw.choice(kinds)
    dim, other = _dim(draw, x), _dim(draw, x)
    size = x.shape[dim]
    place, step = draw.randrange(max(size, 1)), draw.choice((1, 1, 2))
    length = draw.randrange(1, size + 1) if size else 0
    sizes = list(x.shape)
    strided = (max(x.shape[dim] // 2, 1),), (draw.randrange(1, 4),), draw.randrange(3)
    views: list[Callable[[Any], Any]] = [
        lambda one: one.select(dim, place),
        lambda one: one[place % max(one.shape[0], 1) :: step],
        lambda one: aten.ops.aten.slice(one, dim, place, place + length, step),
        lambda one: one.transpose(dim, other),
        lambda one: one.permute(*reversed(range(one.dim()))),
        lambda one: one.unsqueeze(dim),
        lambda one: one.squeeze(),
        lambda one: one.view(-1),
        lambda one: one.reshape(-1),
        lambda one: one.diagonal(0, dim, other),
        lambda one: one.as_strided(*strided),
        lambda one: one.unfold(dim, max(length, 1), max(length, 1)),
        lambda one: one.expand(2, *sizes),
        lambda one: one.split(max(length, 1), dim)[-1],
        lambda one: one.view(aten.int32).view(aten.int64),
    ]
    return views[kind]


def _write(draw: random.Random, x: Any, pool: Pool) -> Callable[[Any, Pool], Any]:
    source = draw.randrange(len(pool))
    number = draw.randrange(1, 4)
    writes: list[Callable[[Any, Pool], Any]] = [
        lambda one, all_: one.add_(number),
        lambda one, all_: one.mul_(all_[source].clone()),
        lambda one, all_: one.copy_(all_[source].clone()),
        lambda one, all_: one.fill_(number),
        lambda one, all_: one.zero_(),
        lambda one, all_: one.clamp_(min=number),
        lambda one, all_: one.masked_fill_(one > 1, number),
        lambda one, all_: one.__setitem__(0, number),
        lambda one, all_: one.__setitem__(one > 2, number),
        lambda one, all_: aten.add(one, number, out=one),
        lambda one, all_: aten.sub(one.contiguous(), number, out=aten.empty(0, dtype=one.dtype)),
        lambda one, all_: aten.cumsum(one, 0, out=one),
        lambda one, all_: aten.sum(one, out=aten.empty(0)),
        lambda one, all_: one.index_fill_(0, aten.tensor([0]), number),
        lambda one, all_: one.t_(),
        lambda one, all_: one.unsqueeze_(0),
        lambda one, all_: one.squeeze_(),
        lambda one, all_: one.index_add_(0, aten.tensor([0]), all_[source].clone()),
        lambda one, all_: one.sort(out=(one, aten.empty(0, dtype=aten.int64)))[0],
        lambda one, all_: aten._foreach_mul_([one], number),
        lambda one, all_: one.neg_(),
    ]
    return draw.choice(writes)


def _compute(draw: random.Random, pool: Pool) -> Callable[[Any, Pool], Any]:
    source = draw.randrange(len(pool))
    made: list[Callable[[Any, Pool], Any]] = [
        lambda one, all_: one + all_[source],
        lambda one, all_: one.clone(),
        lambda one, all_: one.contiguous(),
        lambda one, all_: one.sum(),
        lambda one, all_: aten.cat([one.reshape(-1), all_[source].reshape(-1)]),
        lambda one, all_: aten.zeros(2, 3),
        lambda one, all_: aten.full((3,), one.sum().item()),
    ]
    return draw.choice(made)


def inputs_of(seed: int) -> Pool:
    """Tensors from outside, with gaps, permuted, and sharing memory, as the seed says."""
    draw = random.Random(seed)
    base = aten.arange(24, dtype=aten.int64)
    made = [base.clone().view(4, 6)]
    made.append(
        base.clone().view(2, 3, 4).permute(2, 0, 1) if draw.random() < 0.5 else base.clone()
    )
    if draw.random() < 0.5:
        made.append(base.clone().view(4, 6)[1:, ::2])
    if draw.random() < 0.4:
        whole = base.clone()
        made += [whole[3:15].view(3, 4), whole]
    return made


def program_of(seed: int) -> Callable[[Pool, list[int]], Pool]:
    """A program of views, writes and calculations; what is refused is left out, as it runs."""

    def program(inputs: Pool, refused: list[int]) -> Pool:
        draw = random.Random(seed + 1)
        pool = list(inputs)
        for step in range(STEPS):
            target = draw.randrange(len(pool))
            x, chance = pool[target], draw.random()
            if chance < 0.4:
                call: Any = _view(draw, x)
                arguments: tuple[Any, ...] = (x,)
            elif chance < 0.8 and not overlaps_itself(x):
                call, arguments = _write(draw, x, pool), (x, pool)
            else:
                call, arguments = _compute(draw, pool), (x, pool)
            try:
                made = call(*arguments)
            except (RuntimeError, IndexError, TypeError):
                refused.append(step)
                continue
            if isinstance(made, aten.Tensor) and made.numel() <= 500:
                pool.append(made)
        return pool

    return program


class _Watching(DispatchMode):
    """Refuses writes, but `copy_` to what it is told of at the end."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(argument.is_write for argument in op._schema.arguments):
            self.written.append(op.qualified_name)
        return op(*args, **kwargs)


def _same(given: Any, expected: Any) -> bool:
    return given.shape == expected.shape and given.tolist() == expected.tolist()


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int) -> None:
    for seed in range(part, PROGRAMS, 4):
        compare(seed)


def compare(seed: int) -> None:
    """Run eagerly, under the mode, and as a function: the same refused, returned and written."""
    program = program_of(seed)
    inputs, refused = [inputs_of(seed) for _ in range(3)], [list[int]() for _ in range(3)]
    expected = program(inputs[0], refused[0])
    with Functionalize():
        under_mode = program(inputs[1], refused[1])
    watching = _Watching()
    with watching:
        as_function = functionalize(program)(inputs[2], refused[2])
    assert set(watching.written) <= {"aten::copy_"}, seed
    assert refused[1:] == [refused[0]] * 2, seed
    for given, wanted in (
        (inputs[1], inputs[0]),
        (inputs[2], inputs[0]),
        (under_mode, expected),
        (as_function, expected),
    ):
        for one, two in zip(given, wanted, strict=True):
            assert _same(one, two), (seed, one, two)
