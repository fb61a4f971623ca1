"""Pruned parameters, fused batch norms and modules without first values; beside torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.utils.prune

import aten

LIBRARIES = (aten, torch)


def linear(lib, *sizes):
    layer = lib.nn.Linear(*sizes)
    with lib.no_grad():
        for one in layer.parameters():
            numbers = [(number * 7 % 13 - 5.75) / 8 for number in range(one.numel())]
            one.copy_(lib.tensor(numbers).reshape(one.shape))
    return layer


def both(program):
    ours, theirs = (program(lib, lib.nn.utils.prune) for lib in LIBRARIES)
    assert ours == theirs
    return ours


def shown(layer):
    return {name: one.tolist() for name, one in layer.state_dict().items()}


def test_elements_and_channels():
    def program(lib, prune):
        layer = linear(lib, 4, 3)
        prune.l1_unstructured(layer, "weight", amount=5)
        prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
        prune.l1_unstructured(layer, "weight", amount=0.5)
        prune.identity(layer, "bias")
        layer(lib.ones(2, 4)).sum().backward()
        before = shown(layer), layer.weight_orig.grad.tolist(), prune.is_pruned(layer)
        prune.remove(layer, "weight")
        names = [name for name, _ in layer.named_parameters()]
        return before, shown(layer), prune.is_pruned(layer), names, layer.weight.requires_grad

    both(program)


def test_all_at_once():
    def program(lib, prune):
        model = lib.nn.Sequential(linear(lib, 4, 3), linear(lib, 3, 2))
        chosen = [(model[0], "weight"), (model[1], "weight"), (model[1], "bias")]
        prune.global_unstructured(chosen, pruning_method=prune.L1Unstructured, amount=0.4)
        mask = lib.tensor([1.0, 0.0, 1.0])
        prune.custom_from_mask(model[0], "bias", mask)
        return shown(model), [hasattr(one, "weight_mask") for one in model]

    both(program)


@pytest.mark.parametrize("lib", LIBRARIES)
def test_by_chance(lib):
    prune = lib.nn.utils.prune
    layer = prune.random_unstructured(linear(lib, 4, 3), "weight", 0.25)
    assert layer.weight_mask.sum() == 9
    layer = prune.random_structured(linear(lib, 4, 3), "weight", 1, 1)
    assert sorted(layer.weight_mask.sum(0).tolist()) == [0, 3, 3, 3]


def test_refusals():
    for lib in LIBRARIES:
        prune = lib.nn.utils.prune
        for kind, amount in (
            (TypeError, "a"),
            (ValueError, -1),
            (ValueError, 1.5),
            (ValueError, 99),
        ):
            with pytest.raises(kind):
                prune.l1_unstructured(linear(lib, 2, 2), "weight", amount)
        with pytest.raises(ValueError, match="weight"):
            prune.remove(linear(lib, 2, 2), "weight")
        with pytest.raises(ValueError, match="dim"):
            prune.ln_structured(linear(lib, 2, 2), "bias", 1, 2, 0)
        with pytest.raises(TypeError):
            prune.global_unstructured(
                [(linear(lib, 2, 2), "weight")], prune.LnStructured, amount=1, n=2
            )


def test_batch_norms_in_layers():
    def program(lib):
        lib.manual_seed(0)
        found = []
        for layer, norm, shape in (
            (lib.nn.Conv2d(2, 3, 2), lib.nn.BatchNorm2d(3), (1, 2, 4, 4)),
            (lib.nn.ConvTranspose1d(2, 3, 2, bias=False), lib.nn.BatchNorm1d(3), (1, 2, 4)),
            (lib.nn.Linear(4, 3), lib.nn.BatchNorm1d(3), (2, 4)),
        ):
            norm(
                lib.linspace(-1, 1, 12).reshape(4, 3)
                if norm.__class__ is lib.nn.BatchNorm1d
                else lib.linspace(-1, 1, 12).reshape(2, 3, 2, 1)
            )
            x = lib.linspace(-2, 1, aten.Size(shape).numel()).reshape(shape)
            layer, norm = layer.eval(), norm.eval()
            if isinstance(layer, lib.nn.Linear):
                fused = lib.nn.utils.fuse_linear_bn_eval(layer, norm)
            else:
                turned = isinstance(layer, lib.nn.ConvTranspose1d)
                fused = lib.nn.utils.fuse_conv_bn_eval(layer, norm, turned)
            assert lib.allclose(fused(x), norm(layer(x)), atol=1e-5)
            found += fused(x).reshape(-1).tolist()
            with pytest.raises(AssertionError):
                lib.nn.utils.fuse_conv_bn_eval(layer, norm.train())
        return found

    assert program(aten) == pytest.approx(program(torch), abs=1e-5)


def test_no_first_values():
    for lib in LIBRARIES:
        layer = lib.nn.utils.skip_init(lib.nn.Linear, 3, 2, dtype=lib.float64)
        assert (layer.weight.shape, layer.weight.dtype) == ((2, 3), lib.float64)
        with pytest.raises(RuntimeError):
            lib.nn.utils.skip_init(lib.nn.ReLU)


def test_loaders_and_samplers_of_nothing():
    for lib in LIBRARIES:
        data = lib.utils.data
        with pytest.raises(ValueError, match="batch_sampler"):
            data.DataLoader([1], 2, batch_sampler=[[0]])
        with pytest.raises(ValueError, match=r"."):
            data.RandomSampler([])
