"""The strides of what advanced indexing gives: None, dimensions of one element and of none."""

import math
import random

import pytest
from comparison import compare

torch = pytest.importorskip("torch")

SLICES = [slice(None), slice(0, 1), slice(1, None), slice(None, None, 2)]
FORMS = [(), (1,), (2,), (2, 1), (1, 2), (1, 1), (2, 2)]


def _index(choose, sizes):
    """Parts of an index for dimensions of these sizes; tensors are (dtype, members, turned)."""
    parts = []
    for size in sizes:
        if choose.random() < 0.15:
            break
        while choose.random() < 0.15:
            parts.append(None)
        kind = choose.choice(["slice", "slice", "int", "list", "tensor", "mask"])
        if kind == "slice":
            parts.append(choose.choice(SLICES))
        elif kind == "int":
            parts.append(choose.randrange(size))
        elif kind == "list":
            parts.append([choose.randrange(size) for _ in range(2)])
        elif kind == "mask":
            parts.append(("bool", [choose.random() < 0.6 for _ in range(size)], (size,), False))
        else:
            form = choose.choice(FORMS)
            members = [choose.randrange(size) for _ in range(math.prod(form))]
            parts.append(("int64", members, form, choose.random() < 0.3))
    return parts


def _made(library, part):
    if not isinstance(part, tuple):
        return part
    dtype, members, form, turned = part
    made = library.tensor(members, dtype=getattr(library, dtype)).reshape(form)
    return made.reshape(form[::-1]).permute(*range(made.ndim)[::-1]) if turned else made


@pytest.mark.parametrize("seed", range(40))
def test_strides(seed):
    choose = random.Random(seed)
    for _ in range(50):
        shape = [choose.choice([1, 1, 2, 3, 3, 4]) for _ in range(choose.randint(1, 5))]
        order = choose.sample(range(len(shape)), len(shape))
        parts = _index(choose, [shape[dim] for dim in order])

        def indexed(library, shape=shape, order=order, parts=parts):
            base = library.arange(math.prod(shape)).reshape(shape).permute(order)
            return base[tuple(_made(library, part) for part in parts)]

        compare(indexed)


@pytest.mark.parametrize("seed", range(20))
def test_views_keep_strides_of_dimensions_of_one_element(seed):
    choose = random.Random(seed)
    for _ in range(50):
        shape = [choose.choice([0, 1, 1, 1, 2, 3]) for _ in range(choose.randint(0, 4))]
        order = choose.sample(range(len(shape)), len(shape))
        sizes = [*shape, *[1] * choose.randint(0, 2)]
        choose.shuffle(sizes)

        def shown(library, shape=shape, order=order, sizes=sizes):
            base = library.arange(math.prod(shape)).reshape(shape).permute(order)
            return base.reshape(sizes), base.flatten(), base.view(sizes)

        compare(shown)


def test_views_of_what_was_indexed():
    compare(lambda t: t.arange(27).reshape(3, 3, 3).permute(1, 0, 2)[None, [0, -3]].view(-1))


@pytest.mark.parametrize("dim", range(3))
def test_more_indices_than_a_walk_has_room_for(dim):
    """The order is then that of the first ones."""
    rank = 18

    def indexed(t):
        base = t.arange(1 << 18).reshape((2,) * rank)
        return base[tuple([t.tensor([1, 0])] * (rank - dim))]

    compare(indexed)
