"""More modules against torch: first weights, names, words, results, gradients, refusals."""

from __future__ import annotations

import warnings

import pytest
from comparison import torch

import aten

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning")


def same(ours, theirs, tolerance=1e-5):
    """Alike, whatever they are made of."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other, tolerance)
        return
    if theirs is None:
        assert ours is None
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    given = torch.tensor(ours.tolist(), dtype=theirs.dtype).reshape(theirs.shape)
    torch.testing.assert_close(given, theirs.detach(), rtol=tolerance, atol=tolerance)


def made(library, name, arguments, settings):
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(library.nn, name)(*arguments, **settings)


def filled(library, shape):
    return library.randn(*shape).requires_grad_()


def tensors(found):
    if isinstance(found, (tuple, list)):
        return [tensor for one in found for tensor in tensors(one)]
    return [] if found is None or not found.requires_grad else [found]


def compare(name, arguments, shapes, settings=None, call=None, tolerance=1e-4):
    """Both made with one seed, called on the same numbers, and gone back through."""
    modules = [made(library, name, arguments, settings or {}) for library in (aten, torch)]
    ours, theirs = modules
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        same(mine, other, 0 if other.dim() == 0 else 1e-6)
    results, inputs = [], []
    for library, module in zip((aten, torch), modules, strict=True):
        library.manual_seed(7)
        given = [filled(library, shape) for shape in shapes]
        found = call(library, module, *given) if call else module(*given)
        results.append(found)
        inputs.append(given)
        sum((one * one).sum() for one in tensors(found)).backward()
    same(*results, tolerance)
    for mine, other in zip(*inputs, strict=True):
        same(mine.grad, other.grad, tolerance)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        same(mine.grad, other.grad, tolerance)


RECURRENT = [
    {},
    {"num_layers": 2, "bidirectional": True},
    {"bias": False, "batch_first": True},
]


@pytest.mark.parametrize("settings", RECURRENT)
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(name, settings):
    compare(name, (3, 4), [(5, 2, 3)], settings)
    compare(name, (3, 4), [(5, 3)], settings)


def test_recurrent_layers_of_other_kinds():
    compare("RNN", (3, 4), [(5, 2, 3)], {"nonlinearity": "relu"})
    compare("LSTM", (3, 4, 2), [(5, 2, 3)], {"proj_size": 2, "bidirectional": True})
    states = [(5, 2, 3), (1, 2, 4), (1, 2, 4)]
    compare("LSTM", (3, 4), states, call=lambda _, module, x, *hx: module(x, hx))
    compare("GRU", (3, 4), states[:2])
    compare("GRU", (3, 4), [(5, 3), (1, 4)])


def test_dropout_between_layers_is_of_training_only():
    compare(
        "LSTM",
        (3, 4, 2),
        [(5, 2, 3)],
        {"dropout": 0.5},
        call=lambda _, module, x: module.eval()(x),
    )
    layer = made(aten, "LSTM", (3, 4, 2), {"dropout": 0.5})
    rows = aten.randn(5, 2, 3)
    assert layer(rows)[0].tolist() != layer(rows)[0].tolist()


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells(name):
    compare(name, (3, 4), [(2, 3)])
    compare(name, (3, 4), [(3,)], {"bias": False})
    if name != "LSTMCell":
        compare(name, (3, 4), [(2, 3), (2, 4)])
    else:
        compare(name, (3, 4), [(2, 3), (2, 4), (2, 4)], call=lambda _, cell, x, *hx: cell(x, hx))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_packed_sequences(name, ordered):
    lengths = [5, 3, 1] if ordered else [3, 5, 1]

    def call(library, module, rows):
        tools = library.nn.utils.rnn
        packed = tools.pack_padded_sequence(rows, lengths, enforce_sorted=ordered)
        found, state = module(packed)
        assert isinstance(found, tools.PackedSequence)
        padded, counts = tools.pad_packed_sequence(found, total_length=7, padding_value=2)
        assert counts.tolist() == lengths
        return padded, state

    compare(name, (3, 4, 2), [(5, 3, 3)], {"bidirectional": True}, call)


def test_packing():
    for batch_first in (False, True):
        for library in (aten, torch):
            tools = library.nn.utils.rnn
            listed = [library.tensor([1, 2]), library.tensor([3, 4, 5]), library.tensor([6])]
            packed = tools.pack_sequence(listed, enforce_sorted=False)
            assert packed.data.tolist() == [3, 1, 6, 4, 2, 5]
            assert packed.batch_sizes.tolist() == [3, 2, 1]
            assert packed.sorted_indices.tolist() == [1, 0, 2]
            padded, lengths = tools.pad_packed_sequence(packed, batch_first, -1)
            rows = padded if batch_first else padded.t()
            assert rows.tolist() == [[1, 2, -1], [3, 4, 5], [6, -1, -1]]
            assert lengths.tolist() == [2, 3, 1]
            assert [one.tolist() for one in tools.unpack_sequence(packed)] == [
                one.tolist() for one in listed
            ]
            assert packed.double().data.dtype == library.float64


def test_wrong_packing_is_refused_as_by_torch():
    def outcomes(library):
        tools = library.nn.utils.rnn
        rows = library.ones(4, 2, 3)
        for lengths in ([2, 3], [2], [4, 0], [4, 2, 1]):
            with pytest.raises(RuntimeError):
                tools.pack_padded_sequence(rows, lengths)
        with pytest.raises(RuntimeError):
            tools.pack_padded_sequence(rows[:0], [1, 1])
        packed = tools.pack_padded_sequence(rows, [4, 2])
        with pytest.raises(ValueError, match="total_length"):
            tools.pad_packed_sequence(packed, total_length=3)

    outcomes(torch)
    outcomes(aten)
    # torch reads on beyond the sequence.
    with pytest.raises(RuntimeError, match="from 1 to 4"):
        aten.nn.utils.rnn.pack_padded_sequence(aten.ones(4, 2, 3), [5, 1])


ATTENTION = [
    {},
    {"bias": False, "batch_first": True},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"kdim": 6, "vdim": 2},
]


@pytest.mark.parametrize("settings", ATTENTION)
def test_attention(settings):
    widths = settings.get("kdim", 4), settings.get("vdim", 4)
    batch = (3, 5) if settings.get("batch_first") else (5, 3)
    shapes = [(*batch, 4), (*batch, widths[0]), (*batch, widths[1])]
    compare("MultiheadAttention", (4, 2), shapes, settings)
    compare("MultiheadAttention", (4, 2), [(5, 4), (6, widths[0]), (6, widths[1])], settings)


def test_attention_to_itself_with_masks():
    def call(library, module, rows):
        mask = library.ones(5, 5, dtype=library.bool).triu(1)
        padding = library.tensor([[False] * 5, [False] * 4 + [True], [False] * 5])
        first = module(rows, rows, rows, attn_mask=mask, key_padding_mask=padding)
        second = module(
            rows, rows, rows, need_weights=False, attn_mask=mask, key_padding_mask=padding
        )
        return first, second, module(rows, rows, rows, average_attn_weights=False)

    compare("MultiheadAttention", (4, 2), [(3, 5, 4)], {"batch_first": True}, call)


LAYERS = [
    {},
    {"norm_first": True, "batch_first": True, "activation": "gelu"},
    {"bias": False, "layer_norm_eps": 1e-3},
]


@pytest.mark.parametrize("settings", LAYERS)
def test_transformer_layers(settings):
    settings = {"dim_feedforward": 16, "dropout": 0.0, **settings}
    compare("TransformerEncoderLayer", (4, 2), [(5, 3, 4)], settings)
    compare("TransformerDecoderLayer", (4, 2), [(5, 3, 4), (5, 3, 4)], settings)


def test_stacks():
    def stack(library, module, rows, memory):
        nn = library.nn
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        found = nn.TransformerDecoder(module, 2, nn.LayerNorm(4))
        return found(rows, memory, tgt_mask=mask, tgt_is_causal=True)

    settings = {"dim_feedforward": 16, "dropout": 0.0}
    for library in (aten, torch):
        library.manual_seed(0)
    found = []
    for library in (aten, torch):
        layer = made(library, "TransformerDecoderLayer", (4, 2), settings)
        library.manual_seed(3)
        found.append(stack(library, layer, library.randn(5, 3, 4), library.randn(6, 3, 4)))
    same(*found)


@pytest.mark.parametrize("training", [True, False])
def test_transformer(training):
    def call(library, module, src, tgt):
        mask = module.generate_square_subsequent_mask(4)
        return module.train(training)(src, tgt, tgt_mask=mask)

    settings = {"dim_feedforward": 8, "dropout": 0.0}
    compare("Transformer", (4, 2, 2, 1), [(5, 3, 4), (4, 3, 4)], settings, call)


def test_wrong_widths_of_transformers():
    for library in (aten, torch):
        module = made(library, "Transformer", (4, 2, 1, 1, 8), {})
        with pytest.raises(RuntimeError):
            module(library.ones(5, 3, 4), library.ones(5, 2, 4))
        with pytest.raises(RuntimeError):
            module(library.ones(5, 3, 6), library.ones(5, 3, 6))
        with pytest.raises(RuntimeError):
            made(library, "TransformerEncoderLayer", (4, 2), {"activation": "tanh"})
        with pytest.raises(AssertionError):
            made(library, "MultiheadAttention", (4, 3), {})


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Zero", "Constant", "Reflection", "Replication", "Circular"])
def test_padding(kind, rank):
    shape = (2, 3, *range(4, 4 + rank))
    number = (1.5,) if kind == "Constant" else ()
    for padding in (2, tuple(range(1, 2 * rank + 1))):
        padding = padding if isinstance(padding, int) else tuple(one % 3 for one in padding)
        compare(f"{kind}Pad{rank}d", (padding, *number), [shape])


OTHERS = {
    "PReLU": ((3,), [(2, 3, 4)], {}),
    "CosineSimilarity": ((), [(3, 4), (3, 4)], {"dim": 0}),
    "PairwiseDistance": ((), [(3, 4), (3, 4)], {"p": 3.0, "keepdim": True}),
    "Fold": (((3, 4), 2), [(2, 8, 6)], {}),
    "Unfold": ((2,), [(2, 3, 4, 5)], {"padding": 1, "stride": 2}),
    "UpsamplingNearest2d": ((), [(1, 2, 3, 4)], {"scale_factor": 2}),
    "UpsamplingBilinear2d": (((5, 6),), [(1, 2, 3, 4)], {}),
    "LPPool1d": ((2, 3), [(2, 3, 9)], {}),
    "LPPool2d": ((2, 3), [(2, 3, 9, 7)], {"stride": 2}),
    "LPPool3d": ((2, 2), [(2, 3, 4, 5, 4)], {"ceil_mode": True}),
    "LocalResponseNorm": ((2,), [(2, 5, 4)], {"alpha": 0.5}),
    "PixelUnshuffle": ((2,), [(1, 2, 4, 4)], {}),
    "ChannelShuffle": ((2,), [(1, 4, 3)], {}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_modules(name):
    arguments, shapes, settings = OTHERS[name]
    compare(name, arguments, shapes, settings)


def test_random_slopes():
    compare("RReLU", (), [(3, 4)], call=lambda _, module, x: module.eval()(x))
    layer = aten.nn.RReLU(0.1, 0.2)
    given = -aten.ones(100)
    assert 0.1 <= float(-layer(given).max()) < float(-layer(given).min()) <= 0.2


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling(rank):
    def call(library, module, rows):
        pool = getattr(library.nn, f"MaxPool{rank}d")(2, return_indices=True)
        return module(*pool(rows))

    compare(f"MaxUnpool{rank}d", (2,), [(2, 3, *(4, 6, 4)[:rank])], call=call)


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_pooling(rank):
    def call(library, module, rows):
        module._random_samples = library.full((2, 3, rank), 0.4)
        return module(rows)

    shape = (2, 3, *(7, 8, 6)[:rank])
    compare(f"FractionalMaxPool{rank}d", (2,), [shape], {"output_ratio": 0.5}, call)
    compare(f"FractionalMaxPool{rank}d", (2, 3), [shape], {}, call)
    for library in (aten, torch):
        for settings in ({}, {"output_size": 2, "output_ratio": 0.5}, {"output_ratio": 1.5}):
            with pytest.raises(ValueError):
                made(library, f"FractionalMaxPool{rank}d", (2,), settings)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode):
    def call(library, module):
        numbers = library.tensor([0, 2, 1, 3, 3])
        first = module(numbers, library.tensor([0, 2]))
        return first, module(numbers[:4].reshape(2, 2))

    compare("EmbeddingBag", (5, 3), [], {"mode": mode, "padding_idx": 1}, call)


def targets(library, kind):
    if kind == "signs":
        return library.tensor([1, -1, 1])
    if kind == "classes":
        return library.tensor([1, 0, 3])
    if kind == "bits":
        return library.tensor([[1.0, 0, 1, 0]] * 3)
    return library.tensor([[2.0, 1, 3, 1]] * 3)


LOSSES = {
    "MarginRankingLoss": ((3,), 2, "signs", {"margin": 0.5}),
    "CosineEmbeddingLoss": ((3, 4), 2, "signs", {"margin": 0.2}),
    "MultiLabelSoftMarginLoss": ((3, 4), 1, "bits", {}),
    "MultiMarginLoss": ((3, 4), 1, "classes", {"p": 2, "margin": 0.5}),
    "NLLLoss2d": ((3, 4), 1, "classes", {}),
    "PoissonNLLLoss": ((3, 4), 1, "counts", {"full": True}),
    "TripletMarginLoss": ((3, 4), 3, None, {"swap": True}),
    "TripletMarginWithDistanceLoss": ((3, 4), 3, None, {"margin": 2.0}),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, reduction):
    shape, count, kind, settings = LOSSES[name]

    def call(library, module, *rows):
        return module(*rows, *([] if kind is None else [targets(library, kind)]))

    compare(name, (), [shape] * count, {**settings, "reduction": reduction}, call)


def test_weights_of_losses_are_in_their_state():
    def call(library, module, rows):
        return module(rows, targets(library, "classes"))

    for name in ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"):
        for library in (aten, torch):
            weighted = getattr(library.nn, name)(weight=library.tensor([1.0, 2, 3, 4]))
            assert list(weighted.state_dict()) == ["weight"]
            assert weighted.double().weight.dtype == library.float64
            assert list(getattr(library.nn, name)().state_dict()) == []


def test_gaussian_likelihoods():
    def call(library, module, mean, target):
        return module(mean, target.detach(), library.ones(3, 4) * 2) + target.sum() * 0

    compare("GaussianNLLLoss", (), [(3, 4), (3, 4)], {"full": True}, call)
    for library in (aten, torch):
        with pytest.raises(TypeError):
            library.nn.GaussianNLLLoss(True)


def test_adaptive_softmax():
    def call(library, module, rows):
        found = module(rows, library.tensor([0, 9, 3, 7, 2]))
        assert isinstance(found.output, library.Tensor)
        return found.output, found.loss, module.log_prob(rows)

    compare("AdaptiveLogSoftmaxWithLoss", (16, 10, [3, 7]), [(5, 16)], {"head_bias": True}, call)
    for library in (aten, torch):
        library.manual_seed(0)
        module = library.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [3, 7])
        assert module.predict(library.zeros(2, 16)).shape == (2,)
        with pytest.raises(RuntimeError):
            module(library.ones(1, 16), library.tensor([10]))
        with pytest.raises(ValueError):
            library.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [7, 3])


WRONG = [
    ("RNN", (3, 4), {"nonlinearity": "elu"}, ValueError),
    ("LSTM", (3, 0), {}, ValueError),
    ("LSTM", (3, 2.5), {}, TypeError),
    ("LSTM", (3, 4), {"num_layers": 0}, ValueError),
    ("LSTM", (3, 4), {"dropout": 2}, ValueError),
    ("LSTM", (3, 4), {"proj_size": 4}, ValueError),
    ("MultiheadAttention", (0, 1), {}, ValueError),
    ("MultiMarginLoss", (3,), {}, ValueError),
]


@pytest.mark.parametrize(("name", "arguments", "settings", "kind"), WRONG)
def test_wrong_settings(name, arguments, settings, kind):
    for library in (aten, torch):
        with pytest.raises(kind):
            getattr(library.nn, name)(*arguments, **settings)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_wrong_sequences(name):
    for library in (aten, torch):
        module = made(library, name, (3, 4), {})
        with pytest.raises(ValueError):
            module(library.ones(1, 2, 3, 3))
        with pytest.raises(ValueError):
            module(library.ones(5, 2, 3, dtype=library.float64))
        with pytest.raises(RuntimeError):
            module(library.ones(5, 2, 2))
        state = library.ones(1, 3, 4)
        with pytest.raises(RuntimeError):
            module(library.ones(5, 2, 3), (state, state) if name == "LSTM" else state)
        with pytest.raises(RuntimeError):
            module(library.ones(5, 3), (state, state) if name == "LSTM" else state)
