"""Weights computed from others, and gradients cut off, against torch."""

from __future__ import annotations

import copy

import pytest
from comparison import torch

import aten

PLACES = {"Linear": ((3, 4), (5, 3)), "Conv2d": ((2, 3, 2), (1, 2, 4, 4))}
PLACES["ConvTranspose1d"] = ((2, 3, 2), (1, 2, 4))


def same(ours, theirs, tolerance=1e-5):
    given = torch.tensor(ours.tolist(), dtype=theirs.dtype).reshape(theirs.shape)
    torch.testing.assert_close(given, theirs.detach(), rtol=tolerance, atol=tolerance)


def made(library, name, norm, **settings):
    library.manual_seed(0)
    module = getattr(library.nn, name)(*PLACES[name][0])
    return getattr(library.nn.utils.parametrizations, norm)(module, **settings)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
def test_norms(name, norm):
    modules = [made(library, name, norm) for library in (aten, torch)]
    assert repr(modules[0]) == repr(modules[1])
    states = [one.state_dict() for one in modules]
    assert list(states[0]) == list(states[1])
    for key, value in states[1].items():
        same(states[0][key], value)
    for library, module in zip((aten, torch), modules, strict=True):
        library.manual_seed(1)
        optimizer = library.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            module(library.randn(*PLACES[name][1])).square().mean().backward()
            optimizer.step()
    same(modules[0].weight, modules[1].weight)
    modules[0].eval()
    assert modules[0].weight.tolist() == modules[0].weight.tolist()
    # A copy has parametrizations of its own.
    for module in (modules[0], copy.deepcopy(modules[0])):
        before = module.weight.tolist()
        aten.nn.utils.parametrize.remove_parametrizations(module, "weight")
        assert type(module) is getattr(aten.nn, name)
        assert isinstance(module.weight, aten.nn.Parameter)
        assert module.weight.tolist() == before


def test_other_settings():
    for settings in ({"dim": 1}, {"dim": None}):
        pair = [made(library, "Linear", "weight_norm", **settings) for library in (aten, torch)]
        same(pair[0].parametrizations.weight.original0, pair[1].parametrizations.weight.original0)
    for settings in ({"dim": 1}, {"n_power_iterations": 3}):
        pair = [made(library, "Conv2d", "spectral_norm", **settings) for library in (aten, torch)]
        same(pair[0].weight, pair[1].weight)


def own(library):
    class Symmetric(library.nn.Module):
        """The upper triangle, and below its mirror."""

        def forward(self, given):
            return given.triu() + given.triu(1).transpose(-1, -2)

        def right_inverse(self, given):
            return given.triu()

    class Twice(library.nn.Module):
        """Twice what is given."""

        def forward(self, given):
            return 2 * given

        def right_inverse(self, given):
            return given / 2

    return Symmetric(), Twice()


def test_own_parametrizations():
    found = []
    for library in (aten, torch):
        library.manual_seed(0)
        tools = library.nn.utils.parametrize
        module = library.nn.Linear(3, 3)
        for one in own(library):
            tools.register_parametrization(module, "weight", one)
        assert tools.is_parametrized(module)
        assert tools.is_parametrized(module, "weight")
        assert not tools.is_parametrized(module, "bias")
        assert library.equal(module.weight, module.weight.t())
        first = module.weight
        module.weight = library.eye(3)
        assert library.equal(module.weight, library.eye(3))
        found.append((first, module.parametrizations.weight.original))
        tools.remove_parametrizations(module, "weight", leave_parametrized=False)
        assert not tools.is_parametrized(module)
    for mine, other in zip(*found, strict=True):
        same(mine, other)


def test_wrong_parametrizations():
    for library in (aten, torch):
        tools = library.nn.utils.parametrize
        module = library.nn.Linear(3, 4)
        flat = library.nn.Flatten(0)
        with pytest.raises(ValueError):
            tools.register_parametrization(module, "weight", flat)
        assert not tools.is_parametrized(module)
        with pytest.raises(ValueError):
            tools.register_parametrization(module, "other", flat)
        with pytest.raises(ValueError):
            tools.remove_parametrizations(module, "weight")
        norm = library.nn.utils.parametrizations
        with pytest.raises(ValueError):
            norm.spectral_norm(module, n_power_iterations=0)
        with pytest.raises(IndexError):
            norm.spectral_norm(module, dim=4)
        norm.weight_norm(module)
        with pytest.raises(ValueError):
            tools.remove_parametrizations(module, "weight", leave_parametrized=False)


@pytest.mark.parametrize("kind", [1.0, 2.0, float("inf")])
def test_norms_of_gradients(kind):
    found = []
    for library in (aten, torch):
        library.manual_seed(0)
        module = library.nn.Linear(3, 4)
        module(library.ones(2, 3)).square().sum().backward()
        tools = library.nn.utils
        norm = tools.get_total_norm([one.grad for one in module.parameters()], kind)
        tools.clip_grads_with_norm_(module.parameters(), 0.5, norm)
        again = tools.clip_grad_norm_(iter(list(module.parameters())), 0.25, kind, foreach=True)
        found.append((norm, again, module.weight.grad.clone()))
        module.weight.grad.fill_(float("nan"))
        with pytest.raises(RuntimeError):
            tools.clip_grad_norm_(module.parameters(), 1.0, error_if_nonfinite=True)
    for mine, other in zip(*found, strict=True):
        same(mine, other)
