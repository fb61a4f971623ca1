"""Weights computed from others, and gradients cut off, against torch."""

from __future__ import annotations

import copy
import warnings

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


OLDER = {"Linear": ((3, 4), (3,)), "Conv2d": ((2, 3, 2), (2, 4, 4))}


@pytest.mark.parametrize("name", OLDER)
@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
def test_weights_computed_by_hooks(name, norm):
    found = []
    for library in (torch, aten):
        library.manual_seed(0)
        with warnings.catch_warnings(action="ignore"):
            module = getattr(library.nn.utils, norm)(getattr(library.nn, name)(*OLDER[name][0]))
        states = list(module.state_dict())
        with pytest.raises(RuntimeError), warnings.catch_warnings(action="ignore"):
            getattr(library.nn.utils, norm)(module)
        optimizer = library.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            module(library.ones(5, *OLDER[name][1])).square().mean().backward()
            optimizer.step()
        getattr(library.nn.utils, f"remove_{norm}")(module)
        with pytest.raises(ValueError, match=r"not found|no such hook"):
            getattr(library.nn.utils, f"remove_{norm}")(module)
        found.append((states, list(module.state_dict()), module.weight))
    assert found[0][:2] == found[1][:2]
    same(found[1][2], found[0][2])


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("by", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("around", [True, False])
def test_orthogonal_weights(shape, by, around):
    found = []
    for library in (torch, aten):
        library.manual_seed(0)
        made = library.nn.utils.parametrizations.orthogonal
        module = made(library.nn.Linear(*shape), "weight", by, use_trivialization=around)
        optimizer = library.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            module(library.ones(2, shape[0])).square().mean().backward()
            optimizer.step()
        found.append((list(module.state_dict()), module.weight))
    assert found[0][0] == found[1][0]
    same(found[1][1], found[0][1], 1e-4)


def test_parametrizations_are_made_once_and_handed_on():
    for library in (torch, aten):
        parametrize = library.nn.utils.parametrize
        module = library.nn.utils.parametrizations.orthogonal(library.nn.Linear(3, 3))
        assert parametrize.type_before_parametrizations(module) is library.nn.Linear
        with parametrize.cached():
            assert module.weight is module.weight
        assert module.weight is not module.weight
        other = library.nn.Linear(3, 3)
        parametrize.transfer_parametrizations_and_params(module, other)
        assert parametrize.is_parametrized(other, "weight")
        assert other.weight.tolist() == module.weight.tolist()
