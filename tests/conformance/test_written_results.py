"""Writes in place to results of operators, and operators that write, under gradients: torch's."""

import pytest
import torch

import aten

# Results that are written to, of a matrix 3×4 that requires grad.
RESULTS = {
    "group_norm": lambda lib, x: lib.nn.functional.group_norm(x, 2),
    "median": lambda lib, x: x.median(1)[0],
    "nanmedian": lambda lib, x: x.nanmedian(1)[0],
    "mode": lambda lib, x: x.mode(1)[0],
    "kthvalue": lambda lib, x: x.kthvalue(2, 1)[0],
    "slice_scatter": lambda lib, x: x.slice_scatter(x[:1] * 3, 0, 0, 1),
    "select_scatter": lambda lib, x: x.select_scatter(x[0], 0, 1),
    "diagonal_scatter": lambda lib, x: x.diagonal_scatter(x[0, :3]),
    "unsafe_chunk": lambda lib, x: (x * 1).unsafe_chunk(2, 0)[0],
    "unsafe_split": lambda lib, x: (x * 1).unsafe_split(2, 0)[0],
    "ravel": lambda lib, x: (x * 1).ravel(),
    "fold": lambda lib, x: lib.nn.functional.fold(x[None].mT, (2, 3), (1, 2), stride=(1, 2)),
    "interpolate": lambda lib, x: lib.nn.functional.interpolate(x[None], scale_factor=2),
    "svdvals": lambda lib, x: lib.linalg.svdvals(x),
    "qr": lambda lib, x: lib.linalg.qr(x)[0],
    "div": lambda lib, x: x / x.sum(),
    "reciprocal": lambda lib, x: 2 / x.add(1),
    "norm": lambda lib, x: x / x.norm(),
    "cosine_similarity": lambda lib, x: lib.nn.functional.cosine_similarity(x, x + 1),
    "normalize": lambda lib, x: lib.nn.functional.normalize(x),
    "softsign": lambda lib, x: lib.nn.functional.softsign(x),
}
# Operators that write to what depends on the matrix.
WRITES = {
    **{
        name: lambda lib, x, name=name: getattr(x * 1, name)(1)
        for name in ("eq_", "ne_", "lt_", "le_", "gt_", "ge_", "not_equal_")
    },
    "sign_": lambda lib, x: (x * 1).sign_(),
    "round_": lambda lib, x: (x * 1).round_(),
    "eq_ of a part": lambda lib, x: _written(x * 1, lambda y: y[0].eq_(1)),
    "eq_ to what requires grad": lambda lib, x: lib.ones(3, 4).eq_(x) + x,
    "float_power_": lambda lib, x: x.double().float_power_(2.0),
    "polygamma_": lambda lib, x: (x + 1).polygamma_(1),
    "renorm_": lambda lib, x: (x * 1).renorm_(2, 0, 1.0),
    "masked_fill_": lambda lib, x: (x * 1).masked_fill_(x > 2, -1.0),
    "index_reduce_": lambda lib, x: (x * 1).index_reduce_(
        0, lib.tensor([0]), lib.full((1, 4), 2.5), "amax"
    ),
    "scatter_reduce_": lambda lib, x: (x * 1).scatter_reduce_(
        0, lib.zeros(3, 4, dtype=lib.int64), lib.full((3, 4), 1.5), "prod"
    ),
    "rrelu_": lambda lib, x: lib.rrelu_(x * -1, training=False),
    "copy_ to integers": lambda lib, x: lib.zeros(3, 4, dtype=lib.int64).copy_(x) + x,
}


def _written(tensor, write):
    write(tensor)
    return tensor


def _matrix(lib):
    values = [[0.0, 2.0, 4.0, 1.0], [3.0, 0.5, 2.5, 4.5], [1.5, 3.5, 0.25, 2.25]]
    return lib.tensor(values).requires_grad_()


def _gradient(lib, function):
    x = _matrix(lib)
    try:
        function(lib, x).double().sum().backward()
    except RuntimeError:
        return None
    return None if x.grad is None else x.grad.tolist()


def _equal(ours, reference):
    if reference is None:
        assert ours is None
        return
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(reference), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", RESULTS)
def test_results_can_be_written_to(name):
    def written(lib, x):
        made = RESULTS[name](lib, x)
        assert made._is_view() == (name == "ravel")
        return made.mul_(2)

    _equal(_gradient(aten, written), _gradient(torch, written))


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", WRITES)
def test_operators_that_write(name):
    _equal(_gradient(aten, WRITES[name]), _gradient(torch, WRITES[name]))


def test_integers_that_were_copied_to_take_no_gradients():
    written = aten.zeros(3, 4, dtype=aten.int64)
    written.copy_(_matrix(aten))
    assert not written.requires_grad


def test_layers_before_an_activation_in_place():
    found = []
    for lib in (aten, torch):
        layers = lib.nn
        model = layers.Sequential(
            layers.Conv2d(3, 4, 1), layers.GroupNorm(2, 4), layers.ReLU(inplace=True)
        )
        with lib.no_grad():
            for place, parameter in enumerate(model.parameters()):
                parameter.copy_(lib.arange(float(parameter.numel())).view_as(parameter) % 5 - place)
        x = (lib.arange(96.0).view(2, 3, 4, 4) * 7 % 11) / 11
        model(x).square().sum().backward()
        found.append([parameter.grad.tolist() for parameter in model.parameters()])
    for ours, reference in zip(*found, strict=True):
        _equal(ours, reference)


def test_sequences_that_require_grad_are_padded():
    def padded(lib, x):
        rnn = lib.nn.utils.rnn
        return rnn.pad_sequence([x[0, :2], x[1]]) * lib.arange(4.0)[:, None]

    _equal(_gradient(aten, padded), _gradient(torch, padded))


@pytest.mark.parametrize("bags", [False, True])
def test_tables_with_a_largest_norm_are_trained(bags):
    found = []
    for lib in (aten, torch):
        kind = lib.nn.EmbeddingBag if bags else lib.nn.Embedding
        table = kind(5, 3, max_norm=1.0)
        with lib.no_grad():
            table.weight.copy_(lib.arange(15.0).view(5, 3))
        indices = lib.tensor([[1, 3], [3, 4]])
        (table(indices) ** 2).sum().backward()
        found.append([table.weight.tolist(), table.weight.grad.tolist()])
    for ours, reference in zip(*found, strict=True):
        _equal(ours, reference)
