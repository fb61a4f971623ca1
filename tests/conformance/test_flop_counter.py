"""Operations counted by module and operator, as torch counts them."""

import threading
import weakref

import pytest
import torch
import torch.utils.flop_counter

import aten
from aten._core.autograd import engine
from aten.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula

LIBRARIES = {"aten": aten, "torch": torch}


def counts_of(counter):
    """Counts with operators named, whatever the order they were met in."""
    found = counter.get_flop_counts()
    return {name: {str(op): n for op, n in counts.items()} for name, counts in found.items()}


def network(lib, groups=1):
    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = lib.nn.Sequential(
                lib.nn.Conv2d(3, 8, 3, stride=2, padding=1),
                lib.nn.ReLU(),
                lib.nn.ConvTranspose2d(8, 4, 2, groups=groups),
            )
            self.head = lib.nn.Linear(4 * 25, 10)

        def forward(self, x):
            return self.head(self.body(x).flatten(1))

    return Net()


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_training_step_counts_as_in_torch(requires_grad):
    found = {}
    for name, lib in LIBRARIES.items():
        net = network(lib)
        x = lib.ones(2, 3, 8, 8, requires_grad=requires_grad)
        with lib.utils.flop_counter.FlopCounterMode(display=False) as counter:
            net(x).sum().backward()
            net(x).sum().backward()
        found[name] = counts_of(counter), counter.get_total_flops()
    assert found["aten"] == found["torch"]


def test_gradients_of_grouped_convolutions_take_what_the_group_has():
    net = network(aten, groups=2)
    with FlopCounterMode(display=False) as counter:
        net(aten.ones(2, 3, 8, 8)).sum().backward()
    there = counter.get_flop_counts()["Net.body.2"]
    forward = 2 * (2 * 4 * 4) * 8 * (4 // 2) * 2 * 2
    assert {str(op): n for op, n in there.items()} == {
        "aten.convolution": forward,
        "aten.convolution_backward": 2 * forward,
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda lib: lib.baddbmm(lib.ones(2, 3, 3), lib.ones(2, 3, 4), lib.ones(2, 4, 3)),
        lambda lib: lib.nn.functional.linear(lib.ones(2, 5, 4), lib.ones(3, 4), lib.ones(3)),
        lambda lib: lib.einsum("bij,bjk->bik", lib.ones(2, 3, 4), lib.ones(2, 4, 5)),
        lambda lib: lib.ones(3, 4) @ lib.ones(4, 0),
        lambda lib: lib.ones(3, 4).sin() + 1,
    ],
)
def test_products_count_as_in_torch(call):
    found = {}
    for name, lib in LIBRARIES.items():
        with lib.utils.flop_counter.FlopCounterMode(display=False) as counter:
            call(lib)
        found[name] = counter.get_total_flops()
    assert found["aten"] == found["torch"]


def test_formulas_of_ones_own():
    def sin_flops(shape, *, out_shape=None):
        assert shape == out_shape
        return 7 * shape.numel()

    mapping = {aten.ops.aten.sin: sin_flops}
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        aten.ones(3).sin()
    assert counter.get_total_flops() == 21
    try:
        register_flop_formula([aten.ops.aten.cos], get_raw=True)(
            lambda x, *, out_val=None: x.numel() + out_val.numel()
        )
        with FlopCounterMode(display=False) as counter:
            aten.ones(3).cos()
        assert counter.get_total_flops() == 6
    finally:
        del flop_registry[aten.ops.aten.cos]
    with pytest.raises(ValueError, match="expected an operator"):
        register_flop_formula("mm")


def test_what_is_printed(capsys):
    net = network(aten)
    with FlopCounterMode(depth=1) as counter:
        net(aten.ones(2, 3, 8, 8))
    printed = capsys.readouterr().out
    assert printed.rstrip("\n") == counter.get_table()
    assert "Net" in printed
    assert "Net.body" not in printed
    assert "Net.body.0" in counter.get_table(3)
    assert "100.00%" in printed


class Checkpointed(aten.nn.Module):
    """Three layers, the second of which goes back by a walk of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second = aten.nn.Linear(3, 3), aten.nn.Linear(3, 3)
        self.third = aten.nn.Linear(3, 2)

    def forward(self, x):
        y = aten.utils.checkpoint.checkpoint(self.second, self.first(x), use_reentrant=True)
        return self.third(y)


def test_walks_that_begin_others_keep_their_modules():
    with FlopCounterMode(display=False) as counter:
        Checkpointed()(aten.ones(2, 3)).sum().backward()
    found = counter.get_flop_counts()
    assert found["Checkpointed"] == found["Global"]
    addmm, mm = aten.ops.aten.addmm, aten.ops.aten.mm
    assert found["Checkpointed.first"] == {addmm: 36, mm: 36}
    assert found["Checkpointed.second"] == {addmm: 72, mm: 72}
    assert found["Checkpointed.third"] == {addmm: 24, mm: 48}


def test_nothing_is_left_behind():
    """Neither hooks on tensors that live on, nor tensors that live on by hooks."""
    layer, x = aten.nn.Linear(3, 3), aten.ones(2, 3, requires_grad=True)
    with FlopCounterMode(display=False):
        y = layer(x)
        gone = weakref.ref(y)
        del y
        assert gone() is None
        kept = layer(x)
    seen = []
    x.register_hook(lambda gradient: seen.append(engine.current_walk()))
    kept.sum().backward()
    assert seen == [None]


def test_other_threads_are_not_counted():
    layer = aten.nn.Linear(3, 3)
    with FlopCounterMode(display=False) as counter:
        thread = threading.Thread(target=lambda: layer(aten.ones(2, 3)).sum().backward())
        thread.start()
        thread.join()
    assert counter.get_total_flops() == 0
    assert counter.mod_tracker.parents == {"Global"}


def test_a_module_that_raises_leaves_no_name_behind():
    class Failing(aten.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    with FlopCounterMode(display=False) as counter:
        with pytest.raises(ValueError, match="no"):
            Failing()(aten.ones(1))
        aten.ones(2, 2) @ aten.ones(2, 2)
    assert set(counter.get_flop_counts()) == {"Global"}


def test_nothing_is_computed_for_fake_tensors():
    with aten.transforms.FakeTensorMode(), FlopCounterMode(display=False) as counter:
        aten.empty(1 << 20, 1 << 20) @ aten.empty(1 << 20, 1)
    assert counter.get_total_flops() == 2 << 40
