"""Modules and optimizers against torch: names, first weights, results, gradients, training."""

from __future__ import annotations

import pytest
from comparison import torch

import aten

# Constructor's arguments, shape of the input.
LAYERS = {
    "Linear": ((3, 4), (5, 3)),
    "Conv1d": ((4, 6, 3), (2, 4, 9)),
    "Conv2d": ((4, 6, 3, 2, 1), (2, 4, 9, 8)),
    "Conv3d": ((2, 4, 2), (1, 2, 4, 5, 4)),
    "ConvTranspose1d": ((4, 6, 3, 2), (2, 4, 5)),
    "ConvTranspose2d": ((4, 6, 3), (2, 4, 5, 4)),
    "ConvTranspose3d": ((2, 4, 2), (1, 2, 3, 3, 3)),
    "BatchNorm1d": ((4,), (6, 4)),
    "BatchNorm2d": ((4,), (3, 4, 5, 5)),
    "BatchNorm3d": ((2,), (3, 2, 3, 3, 2)),
    "InstanceNorm1d": ((4,), (3, 4, 6)),
    "InstanceNorm2d": ((4,), (3, 4, 5, 5)),
    "InstanceNorm3d": ((2,), (3, 2, 3, 3, 2)),
    "LayerNorm": (((4, 5),), (3, 4, 5)),
    "RMSNorm": ((5,), (3, 4, 5)),
    "GroupNorm": ((2, 4), (3, 4, 5)),
    "MaxPool2d": ((2,), (1, 2, 6, 6)),
    "AvgPool1d": ((2,), (1, 2, 6)),
    "AvgPool2d": ((2,), (1, 2, 6, 6)),
    "AdaptiveAvgPool2d": ((2,), (1, 2, 5, 6)),
    "AdaptiveMaxPool1d": ((2,), (1, 2, 5)),
    "ReLU": ((), (3, 4)),
    "GELU": ((), (3, 4)),
    "ELU": ((0.5,), (3, 4)),
    "SiLU": ((), (3, 4)),
    "LeakyReLU": ((), (3, 4)),
    "Hardtanh": ((), (3, 4)),
    "Softplus": ((), (3, 4)),
    "Softmax": ((1,), (3, 4)),
    "LogSoftmax": ((1,), (3, 4)),
    "GLU": ((), (3, 4)),
    "Tanh": ((), (3, 4)),
    "Identity": ((), (3, 4)),
    "Flatten": ((), (3, 4, 2)),
    "Unflatten": ((1, (2, 2)), (3, 4)),
    "PixelShuffle": ((2,), (1, 4, 3, 3)),
    "Upsample": ((None, 2), (1, 2, 3, 3)),
}


def same(ours, theirs, tolerance=1e-5):
    assert tuple(ours.shape) == tuple(theirs.shape)
    given = torch.tensor(ours.tolist(), dtype=theirs.dtype).reshape(theirs.shape)
    torch.testing.assert_close(given, theirs.detach(), rtol=tolerance, atol=tolerance)


def filled(library, shape):
    library.manual_seed(7)
    return library.randn(*shape).requires_grad_()


def made(library, name, arguments):
    library.manual_seed(0)
    return getattr(library.nn, name)(*arguments)


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    arguments, shape = LAYERS[name]
    ours, theirs = made(aten, name, arguments), made(torch, name, arguments)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert mine.tolist() == other.tolist()
    inputs = filled(aten, shape), filled(torch, shape)
    results = ours(inputs[0]), theirs(inputs[1])
    same(*results)
    for result in results:
        (result * result).sum().backward()
    same(inputs[0].grad, inputs[1].grad, 1e-4)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        same(mine.grad, other.grad, 1e-4)
    for mine, other in zip(ours.buffers(), theirs.buffers(), strict=True):
        same(mine, other)


def test_embedding_and_bilinear():
    ours, theirs = made(aten, "Embedding", (5, 3, 1)), made(torch, "Embedding", (5, 3, 1))
    assert repr(ours) == repr(theirs)
    assert ours.weight.tolist() == theirs.weight.tolist()
    for library, module in ((aten, ours), (torch, theirs)):
        module(library.tensor([0, 1, 4, 0])).square().sum().backward()
    same(ours.weight.grad, theirs.weight.grad)
    ours, theirs = made(aten, "Bilinear", (2, 3, 4)), made(torch, "Bilinear", (2, 3, 4))
    assert ours.weight.tolist() == theirs.weight.tolist()


def network(library, kind):
    nn = library.nn
    if kind == "mlp":
        return nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    convolutions = (nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), *convolutions, nn.Flatten(), nn.Linear(36, 10))


def losses(library, kind, optimizer, settings):
    library.manual_seed(0)
    model = network(library, kind)
    steps = getattr(library.optim, optimizer)(model.parameters(), **settings)
    inputs, labels = library.randn(16, 64), library.arange(16) % 10
    found = []
    for _ in range(50):
        steps.zero_grad()
        loss = library.nn.CrossEntropyLoss()(model(inputs), labels)
        loss.backward()
        steps.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("kind", ["mlp", "convolutions"])
@pytest.mark.parametrize(
    ("optimizer", "settings"),
    [
        ("SGD", {"lr": 0.05}),
        ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
        ("Adam", {"lr": 1e-3}),
        ("AdamW", {"lr": 1e-3, "amsgrad": True}),
        ("Adagrad", {}),
        ("RMSprop", {"lr": 1e-3, "centered": True, "momentum": 0.5}),
        ("NAdam", {"lr": 1e-3}),
    ],
)
def test_training_gives_torch_losses(kind, optimizer, settings):
    ours, theirs = (losses(one, kind, optimizer, settings) for one in (aten, torch))
    assert max(abs(mine - other) for mine, other in zip(ours, theirs, strict=True)) <= 1e-4


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("StepLR", (2,)),
        ("MultiStepLR", ([2, 5],)),
        ("ExponentialLR", (0.9,)),
        ("CosineAnnealingLR", (8,)),
        ("LinearLR", ()),
        ("LambdaLR", (lambda epoch: 1 / (epoch + 1),)),
    ],
)
def test_rates(name, arguments):
    def rates(library):
        optimizer = library.optim.SGD([library.zeros(1, requires_grad=True)], lr=0.5)
        schedule = getattr(library.optim.lr_scheduler, name)(optimizer, *arguments)
        found = []
        for _ in range(8):
            optimizer.step()
            schedule.step()
            found.append(optimizer.param_groups[0]["lr"])
        return found

    assert rates(aten) == pytest.approx(rates(torch), rel=1e-12, abs=1e-15)


def test_shuffled_batches_come_in_torch_order():
    def batches(library):
        library.manual_seed(3)
        data = library.utils.data
        loader = data.DataLoader(data.TensorDataset(library.arange(10)), batch_size=4, shuffle=True)
        return [one.tolist() for _ in range(2) for (one,) in loader]

    assert batches(aten) == batches(torch)


def test_clipped_gradients():
    def norms(library):
        model = made(library, "Linear", (3, 4))
        model(library.ones(2, 3)).square().sum().backward()
        before = library.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        library.nn.utils.clip_grad_value_(model.parameters(), 0.1)
        return before, model.weight.grad

    for mine, other in zip(norms(aten), norms(torch), strict=True):
        same(mine, other)


def test_state_dicts_refuse_before_they_write():
    model = made(aten, "Linear", (3, 4))
    before = model.weight.tolist()
    wrong = {"weight": aten.zeros(4, 3), "bias": aten.zeros(5)}
    with pytest.raises(RuntimeError, match="size mismatch for bias"):
        model.load_state_dict(wrong)
    with pytest.raises(RuntimeError, match="missing keys: 'bias'"):
        model.load_state_dict({"weight": aten.zeros(4, 3)})
    assert model.weight.tolist() == before
    found = model.load_state_dict({"weight": aten.zeros(4, 3), "more": 1}, strict=False)
    assert (found.missing_keys, found.unexpected_keys) == (["bias"], ["more"])
    assert model.weight.tolist() == [[0.0] * 3] * 4


@pytest.mark.parametrize("library", [aten, torch])
def test_hooks(library):
    model = made(library, "Linear", (3, 2))
    seen = []
    handles = [
        model.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
        model.register_forward_hook(lambda module, args, result: seen.append(args[0].tolist())),
        model.register_full_backward_hook(
            lambda module, inner, outer: seen.append((inner[0].shape, outer[0].tolist()))
        ),
    ]
    input = library.ones(1, 3).requires_grad_()
    model(input).sum().backward()
    assert seen == [[[2.0] * 3], ((1, 3), [[1.0, 1.0]])]
    for handle in handles:
        handle.remove()
    model(input)
    assert len(seen) == 2
