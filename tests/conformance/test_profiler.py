"""Events beside torch's profiler: the same operators inside of the same ones, as often.

Kernels of torch call operators to make, fill, convert and view what they work on, and ours do that
themselves or with others; such calls inside of another operator are left out on both sides. What is
left is the same, or stands in `OTHERWISE` with the reason.
"""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import aten

# Left out where they are inside of another operator.
INNER = frozenset(
    f"aten::{name}"
    for name in (
        *("empty", "empty_like", "empty_strided", "new_empty", "resize_", "uniform_"),
        *("fill_", "zero_", "copy_", "to", "_to_copy", "scalar_tensor", "resolve_conj"),
        *("as_strided", "view", "_unsafe_view", "reshape", "expand", "transpose", "slice"),
        *("narrow", "contiguous", "clone", "clamp_min", "item", "_local_scalar_dense"),
        *("addmv_", "result_type", "arange"),
    )
)


def tree(events):
    """(name, names inside) of each event that is in no other one, without INNER ones."""

    def branches(found, inside):
        kept = []
        for event in sorted(found, key=lambda event: event.time_range.start):
            inner = branches(event.cpu_children, True)
            kept += inner if inside and event.name in INNER else [(event.name, inner)]
        return kept

    return branches([event for event in events if event.cpu_parent is None], False)


def both(program, **options):
    """The profiles of a program, which makes its operands and what it computes of them."""
    with torch.no_grad():
        made = program(torch, torch.nn.functional)
        made()
        with profile(activities=[ProfilerActivity.CPU], **options) as theirs:
            made()
    made = program(aten, aten.nn.functional)
    with aten.profiler.profile(**options) as ours:
        made()
    return ours, theirs


def mlp(lib, functional):
    x, first, second, bias = lib.ones(8, 6), lib.ones(5, 6), lib.ones(3, 5), lib.ones(5)

    def run():
        hidden = functional.relu(functional.linear(x, first, bias))
        hidden = functional.layer_norm(hidden + 1, [5])
        scores = functional.linear(functional.dropout(hidden, 0.5, True), second)
        return functional.log_softmax(scores.reshape(2, 4, 3), -1).exp().sum(2)

    return run


def unary(function):
    def program(lib, functional):
        x = lib.ones(3, 4)
        return lambda: function(x, lib, functional)

    return program


def losses(lib, functional):
    x, target = lib.ones(3, 4), lib.ones(3, dtype=lib.int64)
    return lambda: functional.cross_entropy(x, target)


def products(lib, functional):
    x, y, z = lib.ones(2, 3, 4), lib.ones(2, 4, 5), lib.ones(4, 6)
    return lambda: (x @ y, x @ z, x[0] @ z, x[0] @ z[:, 0], lib.bmm(x, y), lib.mm(x[0], z))


def image(lib, functional):
    x = lib.ones(1, 2, 6, 6)
    return lambda: functional.max_pool2d(x, 2)


def attention(lib, functional):
    x = lib.ones(1, 2, 4, 8)
    return lambda: functional.scaled_dot_product_attention(x, x, x)


SAME = {
    "attention": attention,
    "mlp": mlp,
    "losses": losses,
    "products": products,
    "pooling": image,
    "operators": unary(lambda x, lib, _: (x + x, x - 1, 2 * x, x / x, -x, x**2, x > 0, x == x)),
    "in place": unary(lambda x, lib, _: x.add_(1).mul_(2).clamp_(0, 3).sqrt_()),
    "views": unary(
        lambda x, lib, _: x.view(12).reshape(2, 6).t().unsqueeze(0).squeeze().permute(1, 0)
    ),
    "indices": unary(lambda x, lib, _: (x[1], x[0:2, 1], x[None], x[..., 0], x[:, :-1])),
    "copies": unary(lambda x, lib, _: (x.clone(), x.t().contiguous(), x.double(), x.flatten())),
    "joining": unary(lambda x, lib, _: (lib.cat([x, x]), x.chunk(2), x.split(1), x.unbind())),
    "activations": unary(
        lambda x, lib, f: (f.relu(x), f.gelu(x), f.silu(x), x.sigmoid(), x.tanh(), f.softmax(x, 1))
    ),
    "making": unary(
        lambda x, lib, _: (lib.ones(3), lib.zeros_like(x), lib.full((2,), 3.0), lib.rand(3))
    ),
    "ranks": unary(lambda x, lib, _: (x.topk(2), x.sort(), x.argmax(1), x.cumsum(0), x.sum())),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_operators_inside_of_the_same(name):
    ours, theirs = both(SAME[name])
    assert tree(ours.events()) == tree(theirs.events())


@pytest.mark.parametrize("name", SAME)
def test_the_same_counts(name):
    ours, theirs = both(SAME[name])

    def counts(prof):
        return Counter({one.key: one.count for one in prof.key_averages() if one.key not in INNER})

    assert counts(ours) == counts(theirs)


def convolution(lib, functional):
    x, weight = lib.ones(1, 2, 6, 6), lib.ones(3, 2, 3, 3)
    return lambda: functional.conv2d(x, weight)


def batch_norm(lib, functional):
    x, mean, variance = lib.ones(2, 3, 4), lib.zeros(3), lib.ones(3)
    return lambda: functional.batch_norm(x, mean, variance)


def contraction(lib, functional):
    x, y = lib.ones(2, 3), lib.ones(3, 4)
    return lambda: lib.einsum("ij,jk->ik", x, y)


def embedding(lib, functional):
    places, weight = lib.ones(2, dtype=lib.int64), lib.ones(3, 2)
    return lambda: functional.embedding(places, weight)


def group_norm(lib, functional):
    x = lib.ones(2, 4, 3)
    return lambda: functional.group_norm(x, 2)


# What our operators call otherwise on purpose, and why.
OTHERWISE = {
    "convolution is one kernel for all of them": (
        convolution,
        [("aten::conv2d", [("aten::convolution", [])])],
    ),
    "batch norm with statistics is one multiplication and addition": (
        batch_norm,
        [
            (
                "aten::batch_norm",
                [
                    (
                        "aten::native_batch_norm",
                        [
                            *[(f"aten::{name}", []) for name in ("add", "rsqrt", "neg", "mul")],
                            ("aten::addcmul", []),
                        ],
                    )
                ],
            )
        ],
    ),
    "two matrices are multiplied as they are": (
        contraction,
        [("aten::einsum", [("aten::mm", [])])],
    ),
    "rows are picked by one kernel": (embedding, [("aten::embedding", [])]),
    "folds in one walk have a name of their own": (
        group_norm,
        [("aten::group_norm", [("aten::native_group_norm", [("fused::normalized", [])])])],
    ),
    "mean is one kernel": (unary(lambda x, lib, _: x.mean(1)), [("aten::mean", [])]),
    "std is one kernel": (unary(lambda x, lib, _: x.std()), [("aten::std", [])]),
    "rows of a stack are written where they belong": (
        unary(lambda x, lib, _: lib.stack([x, x])),
        [("aten::stack", [])],
    ),
    "a number is written without a tensor of it": (
        unary(lambda x, lib, _: x.__setitem__(0, 1.0)),
        [("aten::select", []), ("aten::fill_", [])],
    ),
    "a tensor tells its element itself": (
        unary(lambda x, lib, _: x.sum().item()),
        [("aten::sum", [])],
    ),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_inside_of_operators_that_work_otherwise(name):
    program, expected = OTHERWISE[name]
    ours, theirs = both(program)
    assert tree(ours.events()) == expected
    assert tree(theirs.events()) != expected


def test_shapes_of_operands_are_torchs():
    ours, theirs = both(mlp, record_shapes=True)

    def shapes(prof):
        return [
            (event.name, event.input_shapes)
            for event in sorted(prof.events(), key=lambda event: event.time_range.start)
            if event.name not in INNER
        ]

    assert shapes(ours) == shapes(theirs)


def large(lib, functional):
    x, y = lib.ones(32, 32), lib.ones(32, 64)
    return lambda: (x @ y, x + x, lib.empty(1024))


@pytest.mark.parametrize("name", ["aten::mm", "aten::matmul", "aten::add", "aten::empty"])
def test_bytes_are_torchs(name):
    """Of results that fill whole blocks."""
    usages = []
    for prof in both(large, profile_memory=True):
        event = next(one for one in prof.key_averages() if one.key == name)
        usages.append((event.cpu_memory_usage, event.self_cpu_memory_usage))
    assert usages[0] == usages[1]


@pytest.mark.parametrize(
    ("program", "name"),
    [(large, "aten::mm"), (large, "aten::add"), (convolution, "aten::conv2d")],
    ids=["mm", "add", "conv2d"],
)
def test_operations_are_torchs(program, name):
    ours, theirs = (
        sum(one.flops for one in prof.key_averages() if one.key == name)
        for prof in both(program, with_flops=True, record_shapes=True)
    )
    assert ours == theirs > 0


def test_schedules_are_torchs():
    for wait, warmup, active, repeat, skip in [
        *((0, 1, 1, 0, 0), (1, 1, 2, 2, 3), (2, 1, 3, 1, 0), (0, 2, 1, 3, 1)),
    ]:
        given = {"wait": wait, "warmup": warmup, "active": active}
        given |= {"repeat": repeat, "skip_first": skip}
        plans = [one.profiler.schedule(**given) for one in (aten, torch)]
        steps = [[plan(step).name for step in range(20)] for plan in plans]
        assert steps[0] == steps[1]


def test_blocks_and_steps_are_named_as_torchs():
    def program(lib):
        found = []
        plan = lib.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        with lib.profiler.profile(
            activities=[lib.profiler.ProfilerActivity.CPU],
            schedule=plan,
            on_trace_ready=lambda prof: found.append(tree(prof.events())),
            acc_events=True,  # torch warns without, and crashes where warnings are errors
        ) as prof:
            for _ in range(6):
                with lib.profiler.record_function("block"):
                    lib.ones(2) + 1
                prof.step()
        return found

    ours, theirs = program(aten), program(torch)
    block = ("block", [("aten::ones", []), ("aten::add", [])])
    assert ours == [[("ProfilerStep*", [block])] * 2]
    assert ours == theirs
