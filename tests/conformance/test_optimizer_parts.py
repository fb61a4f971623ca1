"""Optimizers beside their steps: hooks, names, state dicts, averages of weights; beside torch."""

from __future__ import annotations

import copy
import pickle
from importlib import import_module

import pytest
import torch

import aten

LIBRARIES = (aten, torch)
WAYS = ("foreach", "fused", "capturable", "differentiable")


def model_of(lib):
    """The same network in both libraries, with the same first weights."""
    nn = lib.nn
    lib.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


def trained(lib, make, steps=6):
    """The losses of some steps, and the optimizer."""
    model, x = model_of(lib), lib.linspace(-1, 1, 24).reshape(8, 3)
    optimizer, losses = make(lib, model), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer, model


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Adafactor", {}),
        ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "maximize": True, "d": 2.0}),
        ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
        ("AdamW", {"lr": 0.1, "foreach": True}),
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ],
)
def test_losses(name, settings):
    ours, theirs = (
        trained(lib, lambda lib, model: getattr(lib.optim, name)(model.parameters(), **settings))
        for lib in LIBRARIES
    )
    assert ours[0] == pytest.approx(theirs[0], rel=1e-5)
    groups = [found[1].state_dict()["param_groups"] for found in (ours, theirs)]
    assert groups[0] == groups[1]
    kept = [found[1].state_dict()["state"] for found in (ours, theirs)]
    assert [sorted(one) for one in kept[0].values()] == [sorted(one) for one in kept[1].values()]


@pytest.mark.parametrize("settings", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}])
def test_steps_of_muon(settings):
    def make(lib, model):
        matrices = [one for one in model.parameters() if one.dim() == 2]
        return lib.optim.Muon(matrices, lr=0.1, **settings)

    ours, theirs = (trained(lib, make)[0] for lib in LIBRARIES)
    assert ours == pytest.approx(theirs, rel=2e-2)
    for lib in LIBRARIES:
        with pytest.raises(ValueError, match=r"."):
            lib.optim.Muon(model_of(lib).parameters())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_complex_parameters(name):
    def program(lib):
        one = lib.tensor([1 + 2j, 2 - 1j], requires_grad=True)
        optimizer = getattr(lib.optim, name)([one], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (one * one.conj() * (1 + 0.5j)).real.sum().backward()
            optimizer.step()
        return lib.view_as_real(one.detach()).tolist()

    ours, theirs = program(aten), program(torch)
    assert aten.allclose(aten.tensor(ours), aten.tensor(theirs), atol=1e-5)


def test_hooks():
    def program(lib):
        seen = []
        base = import_module(f"{lib.__name__}.optim.optimizer")
        handle = base.register_optimizer_step_pre_hook(lambda *given: seen.append("every"))
        _, optimizer, _ = trained(lib, lambda lib, m: lib.optim.SGD(m.parameters(), 0.1), 1)
        handle.remove()
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", len(args))))
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("saving"))
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
        optimizer.register_load_state_dict_pre_hook(
            lambda o, state: {name: one for name, one in state.items() if name != "more"}
        )
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        optimizer.step()
        state = optimizer.state_dict()
        seen.append("more" in state)
        optimizer.load_state_dict(state)
        return seen

    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours == theirs


def test_names_and_copies():
    def program(lib):
        _, optimizer, _ = trained(lib, lambda lib, m: lib.optim.Adam(m.named_parameters()))
        copied = pickle.loads(pickle.dumps(optimizer))
        again = copy.deepcopy(optimizer)
        again.step()
        steps = [one["step"].item() for one in copied.state_dict()["state"].values()]
        return optimizer.param_groups[0]["param_names"], steps

    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours == theirs
    with pytest.raises(ValueError, match="names"):
        aten.optim.SGD([("a", aten.ones(1, requires_grad=True)), aten.ones(1, requires_grad=True)])


def test_states_take_the_parameters_type():
    def program(lib):
        one = lib.ones(2, requires_grad=True)
        one.grad = lib.ones(2)
        optimizer = lib.optim.Adam([one])
        optimizer.step()
        half = lib.ones(2, dtype=lib.bfloat16, requires_grad=True)
        other = lib.optim.Adam([half])
        other.load_state_dict(optimizer.state_dict())
        return {name: str(kept.dtype)[-8:] for name, kept in other.state[half].items()}

    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours == theirs


def test_ways_exclude_each_other():
    for lib in LIBRARIES:
        with pytest.raises(RuntimeError):
            lib.optim.Adam([lib.ones(1, requires_grad=True)], fused=True, foreach=True)


def test_schedules_begin_after_a_step():
    for lib in LIBRARIES:
        optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=1.0)
        with pytest.warns(UserWarning, match="optimizer.step"):
            lib.optim.lr_scheduler.StepLR(optimizer, 2).step()


@pytest.mark.parametrize("way", ["mean", "decay", "function", "buffers"])
def test_averages_of_weights(way):
    def program(lib):
        averages = lib.optim.swa_utils
        options = {
            "mean": {},
            "decay": {"multi_avg_fn": averages.get_ema_multi_avg_fn(0.9)},
            "function": {"avg_fn": averages.get_swa_avg_fn()},
            "buffers": {"use_buffers": True, "avg_fn": averages.get_ema_avg_fn(0.5)},
        }
        lib.manual_seed(0)
        model = lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.BatchNorm1d(2))
        averaged = averages.AveragedModel(model, **options[way])
        x = lib.linspace(-1, 1, 24).reshape(8, 3)
        optimizer = lib.optim.SGD(model.parameters(), lr=0.01)
        schedule = averages.SWALR(optimizer, swa_lr=0.001, anneal_epochs=3)
        rates = []
        for _ in range(5):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
            schedule.step()
            averaged.update_parameters(model)
            rates += schedule.get_last_lr()
        averages.update_bn([x, x * 2], averaged)
        kept = {
            name: one.double().reshape(-1).tolist() for name, one in averaged.state_dict().items()
        }
        return rates, kept, averaged(x).sum().item()

    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours[0] == pytest.approx(theirs[0])
    assert list(ours[1]) == list(theirs[1])
    for name, one in ours[1].items():
        assert one == pytest.approx(theirs[1][name], abs=1e-5), name


LAZY = {
    "LazyLinear": ((3,), (2, 5)),
    "LazyConv1d": ((4, 3), (2, 3, 8)),
    "LazyConv2d": ((4, 3), (2, 3, 8, 8)),
    "LazyConv3d": ((4, 2), (2, 3, 4, 4, 4)),
    "LazyConvTranspose1d": ((4, 3), (2, 3, 8)),
    "LazyConvTranspose2d": ((4, 3), (2, 3, 8, 8)),
    "LazyConvTranspose3d": ((4, 2), (2, 3, 4, 4, 4)),
    "LazyBatchNorm1d": ((), (4, 3)),
    "LazyBatchNorm2d": ((), (2, 3, 4, 4)),
    "LazyBatchNorm3d": ((), (2, 3, 4, 4, 4)),
    "LazyInstanceNorm1d": ((), (2, 3, 8)),
    "LazyInstanceNorm2d": ((), (2, 3, 4, 4)),
    "LazyInstanceNorm3d": ((), (2, 3, 4, 4, 4)),
}


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers(name):
    arguments, shape = LAZY[name]

    def program(lib):
        lib.manual_seed(0)
        layer = getattr(lib.nn, name)(*arguments)
        first, weights = repr(layer), [id(one) for one in layer.parameters()]
        lazy = layer.has_uninitialized_params()
        x = lib.linspace(-1, 1, aten.Size(shape).numel()).reshape(shape)
        y = layer(x)
        assert weights == [id(one) for one in layer.parameters()]
        shown = y.detach().reshape(-1).tolist()
        if lib is aten:
            other = getattr(lib.nn, name)(*arguments)
            other.load_state_dict(layer.state_dict())
            assert (other.eval()(x) == layer.eval()(x)).all()
        return first, lazy, repr(layer), type(layer).__name__, shown

    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours[:-1] == theirs[:-1]
    assert ours[-1] == pytest.approx(theirs[-1], abs=1e-5)
