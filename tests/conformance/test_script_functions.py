"""What scripts call beside operators gives what it gives with torch."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.utils
import torch.nn.utils.rnn
import torch.testing
from comparison import assert_same

import aten

SHAPES = [(3, 5), (5, 3), (4, 3, 3, 3), (2, 6, 3), (4, 4)]
INITIAL = {
    "uniform_": lambda lib, w: lib.nn.init.uniform_(w, -1.0, 2.0),
    "normal_": lambda lib, w: lib.nn.init.normal_(w, 1.0, 0.5),
    "trunc_normal_": lambda lib, w: lib.nn.init.trunc_normal_(w, 0.5, 2.0, -1.0, 1.5),
    "constant_": lambda lib, w: lib.nn.init.constant_(w, 0.3),
    "ones_": lambda lib, w: lib.nn.init.ones_(w),
    "zeros_": lambda lib, w: lib.nn.init.zeros_(w),
    "xavier_uniform_": lambda lib, w: lib.nn.init.xavier_uniform_(w, gain=1.4),
    "xavier_normal_": lambda lib, w: lib.nn.init.xavier_normal_(w),
    "kaiming_uniform_": lambda lib, w: lib.nn.init.kaiming_uniform_(w, a=5**0.5),
    "kaiming_normal_": lambda lib, w: lib.nn.init.kaiming_normal_(w, 0, "fan_out", "relu"),
    "orthogonal_": lambda lib, w: lib.nn.init.orthogonal_(w, gain=2.0),
    "dirac_": lambda lib, w: lib.nn.init.dirac_(w) if w.dim() > 2 else w.zero_(),
    "eye_": lambda lib, w: lib.nn.init.eye_(w) if w.dim() == 2 else w.zero_(),
    "sparse_": lambda lib, w: lib.nn.init.sparse_(w, 0.4) if w.dim() == 2 else w.zero_(),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", INITIAL)
def test_initial_values(name, shape):
    results = []
    for lib in (aten, torch):
        lib.manual_seed(5)
        weight = lib.empty(shape)
        made = INITIAL[name](lib, weight)
        assert made is weight
        results.append(made)
    assert_same(*results, tolerance=1e-5, absolute=1e-5)


CALLS = {
    "pad": lambda lib: lib.nn.utils.rnn.pad_sequence(
        [lib.arange(3.0), lib.arange(1.0), lib.arange(0.0)], True, -1.0
    ),
    "pad left": lambda lib: lib.nn.utils.rnn.pad_sequence(
        [lib.ones(2, 3), lib.ones(4, 3)], padding_side="left"
    ),
    "pad integers": lambda lib: lib.nn.utils.rnn.pad_sequence(
        (lib.tensor([1, 2]), lib.tensor([3])), batch_first=True, padding_value=7
    ),
    "pad rows": lambda lib: lib.nn.utils.rnn.pad_sequence(lib.arange(6).view(2, 3)),
    "unpad": lambda lib: tuple(
        lib.nn.utils.rnn.unpad_sequence(lib.arange(12).view(4, 3), lib.tensor([4, 1, 2]))
    ),
    "permutation": lambda lib: lib.nn.utils.rnn.invert_permutation(lib.tensor([2, 0, 1])),
    "vector": lambda lib: lib.nn.utils.parameters_to_vector([lib.ones(2, 2), lib.zeros(3)]),
    "relu_": lambda lib: lib.nn.functional.relu_(lib.arange(-2.0, 3.0)),
    "elu_": lambda lib: lib.nn.functional.elu_(lib.arange(-2.0, 3.0), 0.5),
    "selu_": lambda lib: lib.nn.functional.selu_(lib.arange(-2.0, 3.0)),
    "celu_": lambda lib: lib.nn.functional.celu_(lib.arange(-2.0, 3.0), 2.0),
    "leaky_relu_": lambda lib: lib.nn.functional.leaky_relu_(lib.arange(-2.0, 3.0), 0.3),
    "hardtanh_": lambda lib: lib.nn.functional.hardtanh_(lib.arange(-2.0, 3.0), -0.5, 1.5),
    "threshold_": lambda lib: lib.nn.functional.threshold_(lib.arange(-2.0, 3.0), 0.0, 9.0),
    "rrelu_": lambda lib: lib.nn.functional.rrelu_(lib.arange(-2.0, 3.0)),
    "gumbel": lambda lib: lib.nn.functional.gumbel_softmax(lib.zeros(3, 4), tau=0.7),
    "gumbel hard": lambda lib: lib.nn.functional.gumbel_softmax(
        lib.zeros(3, 4).t(), hard=True, dim=0
    ),
    "diagonal": lambda lib: lib.zeros(3, 5).fill_diagonal_(2.0),
    "diagonal of integers": lambda lib: lib.zeros(2, 2, 2, dtype=lib.int64).fill_diagonal_(3),
    "diagonal wrapped": lambda lib: lib.zeros(8, 3).fill_diagonal_(1.0, wrap=True),
    "diagonal of a tall matrix": lambda lib: lib.zeros(8, 3).fill_diagonal_(1.0),
    "diagonal of a view": lambda lib: lib.zeros(4, 6)[:, ::2].t().fill_diagonal_(1.0),
    "diagonal of nothing": lambda lib: lib.zeros(0, 3).fill_diagonal_(1.0),
    "norm_except_dim": lambda lib: lib.norm_except_dim(lib.arange(24.0).view(2, 3, 4), 2, 1),
    "norm_except_dim 0": lambda lib: lib.norm_except_dim(lib.arange(24.0).view(2, 3, 4)),
    "norm_except_dim -1": lambda lib: lib.norm_except_dim(lib.arange(24.0).view(2, 3, 4), 1, -1),
    "norm_except_dim of the last": lambda lib: lib.norm_except_dim(
        lib.arange(24.0).view(2, 3, 4), 1, 2
    ),
    "norm_except_dim of a vector": lambda lib: lib.norm_except_dim(lib.arange(-2.0, 2.0)),
    "dim_order": lambda lib: (
        lib.zeros(2, 3).t().dim_order(),
        lib.zeros(2, 3, 4, 5).to(memory_format=lib.channels_last).dim_order(),
        lib.zeros(1, 1).dim_order(),
    ),
    "is_set_to": lambda lib: (
        lambda x: (x.is_set_to(x[:]), x.is_set_to(x[1:]), x.is_set_to(x.clone()))
    )(lib.ones(3)),
    "apply_": lambda lib: lib.arange(4.0).view(2, 2).t().apply_(lambda value: value * 2 + 1),
    "map_": lambda lib: lib.arange(4.0).map_(lib.ones(1), lambda one, other: one - other),
    "map2_": lambda lib: lib.zeros(2).map2_(
        lib.ones(2), lib.ones(1), lambda a, b, c: a + 2 * b + c
    ),
    "answers": lambda lib: tuple(
        getattr(lib.ones(2), name)
        for name in (
            "is_cuda is_mps is_xpu is_nested is_sparse is_sparse_csr is_quantized is_leaf "
            "output_nr retains_grad volatile is_mkldnn is_vulkan is_xla is_mtia is_ipu"
        ).split()
    ),
    "answers of methods": lambda lib: (
        lib.ones(2).get_device(),
        lib.ones(2).is_pinned(),
        lib.ones(2).is_inference(),
        lib.ones(2).is_distributed(),
        lib.ones(2).is_shared(),
        lib.ones(2).dense_dim(),
        lib.ones(2).sparse_dim(),
        lib.ones(2).is_same_size(lib.ones(3)),
        lib.ones(2, dtype=lib.int64).to_dense(),
        lib.ones(2, dtype=lib.float16).to_dense(lib.float64),
        lib.ones(2, dtype=lib.int64).module_load(lib.zeros(2)),
    ),
    "sizes": lambda lib: (
        lib.sym_int(2.7),
        lib.sym_float(3),
        lib.sym_max(2, 3.0),
        lib.sym_min(2, 3.0),
        lib.sym_not(0 == 1),
        lib.sym_ite(True, 1, 2),
        lib.sym_sqrt(9.0),
        lib.sym_sum([1, 2, 3]),
    ),
    "is_storage": lambda lib: (lib.is_storage(lib.ones(1).untyped_storage()), lib.is_storage(1)),
    "gains": lambda lib: tuple(
        float(lib.nn.init.calculate_gain(name))
        for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
    ),
    "matmul": lambda lib: lib.linalg.matmul(lib.ones(2, 3), lib.ones(3, 1)),
    "expand": lambda lib: lib.arange(6.0).view(2, 3).expand(1, 4, 1, 2, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call(name):
    results = []
    for lib in (aten, torch):
        lib.manual_seed(11)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(CALLS[name](lib))
    assert_same(*results, tolerance=1e-6, absolute=1e-6)


def test_type_names():
    for make in (
        lambda lib: lib.ones(2),
        lambda lib: lib.ones(2, dtype=lib.int64),
        lambda lib: lib.Tensor,
        lambda lib: lib.Size,
        lambda lib: 3,
        lambda lib: "a",
        lambda lib: lib.float32,
    ):
        assert aten.typename(make(aten)) == torch.typename(make(torch)).replace("torch", "aten")


def test_parameters_from_a_vector():
    results = []
    for lib in (aten, torch):
        parameters = [lib.zeros(2, 2), lib.zeros(3)]
        lib.nn.utils.vector_to_parameters(lib.arange(7.0), parameters)
        results.append(tuple(parameters))
    assert_same(*results)


NAN = float("nan")
PAIRS = {
    "equal": lambda lib: (lib.ones(3), lib.ones(3)),
    "near": lambda lib: (lib.ones(3) + 1e-6, lib.ones(3)),
    "far": lambda lib: (lib.ones(3) + 1e-3, lib.ones(3)),
    "halves": lambda lib: (lib.ones(3, dtype=lib.float16) + 1e-3, lib.ones(3, dtype=lib.float16)),
    "doubles": lambda lib: (lib.ones(3, dtype=lib.float64) + 1e-6, lib.ones(3, dtype=lib.float64)),
    "integers": lambda lib: (lib.tensor([1, 2]), lib.tensor([1, 3])),
    "bools": lambda lib: (lib.tensor([True, False]), lib.tensor([True, True])),
    "nan": lambda lib: (lib.tensor([NAN]), lib.tensor([NAN])),
    "shapes": lambda lib: (lib.ones(3), lib.ones(1)),
    "types": lambda lib: (lib.ones(3), lib.ones(3, dtype=lib.float64)),
    "devices": lambda lib: (lib.ones(3), lib.ones(3, device="meta")),
    "numbers": lambda lib: (1.0, 1.0 + 1e-9),
    "other numbers": lambda lib: (1.0, 2.0),
    "kinds of numbers": lambda lib: (1, 1.0),
    "lists": lambda lib: ([lib.ones(1), 2.0], (lib.ones(1), 2.0)),
    "lengths": lambda lib: ([1], [1, 2]),
    "mappings": lambda lib: ({"a": lib.ones(1)}, {"a": lib.zeros(1)}),
    "keys": lambda lib: ({"a": 1}, {"b": 1}),
    "nothing": lambda lib: (None, None),
    "one nothing": lambda lib: (None, lib.ones(1)),
    "a number and a tensor": lambda lib: (1.0, lib.tensor(1.0)),
    "texts": lambda lib: ("a", "a"),
    "complex": lambda lib: (lib.ones(1, dtype=lib.complex64), lib.ones(1, dtype=lib.complex64)),
    "empty": lambda lib: (lib.ones(0), lib.ones(0)),
    "single": lambda lib: (lib.tensor(1.0), lib.tensor(2.0)),
    "lazy": lambda lib: (lib.ones(2, dtype=lib.complex64).conj(), lib.ones(2) * (1 + 0j)),
    "strides": lambda lib: (lib.ones(2, 3), lib.ones(3, 2).t()),
}
OPTIONS = [
    {},
    {"rtol": 0.01, "atol": 0.0},
    {"rtol": 0.01},
    {"equal_nan": True},
    {"check_dtype": False},
    {"check_device": False},
    {"check_stride": True},
    {"msg": "words of one's own"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_assert_close_agrees(name, options):
    found = []
    for lib in (aten, torch):
        try:
            lib.testing.assert_close(*PAIRS[name](lib), **options)
            found.append(None)
        except Exception as error:
            found.append((type(error), str(error).startswith("words of")))
    assert found[0] == found[1]


def test_what_assert_close_says():
    for lib in (aten, torch):
        with pytest.raises(AssertionError) as error:
            lib.testing.assert_close(lib.tensor([[1.0, 2.0]]), lib.tensor([[1.0, 4.0]]))
        text = str(error.value)
        for words in ("1 / 2 (50.0%)", "absolute difference: 2.0 at index (0, 1)", "0.5 at index"):
            assert words in text


def test_made_tensors():
    made = aten.testing.make_tensor
    for name in ("float32", "float16", "bfloat16", "int64", "uint8", "bool", "complex64"):
        element = getattr(aten, name)
        tensor = made((3, 4), dtype=element, device="cpu", noncontiguous=True)
        assert tensor.dtype is element
        assert tensor.shape == (3, 4)
        assert not tensor.is_contiguous()
    assert bool((made(1000, dtype=aten.int32, device="cpu", low=2, high=4) >= 2).all())
    assert bool((made(1000, dtype=aten.int32, device="cpu", exclude_zero=True) != 0).all())
    with pytest.raises(ValueError, match="low < high"):
        made(2, dtype=aten.float32, device="cpu", low=1, high=1)


def losses(lib):
    """Losses at the top of the library, which are not reduced unless that is asked for."""
    lib.manual_seed(0)
    a, b, c = lib.rand(3, 4), lib.rand(3, 4), lib.rand(3, 4)
    sign, numbers = lib.tensor([1.0, -1.0, 1.0]), lib.arange(3.0)
    scores, targets = lib.log_softmax(lib.rand(5, 2, 4), 2), lib.tensor([[1, 2], [1, 3]])
    lengths = lib.tensor([5, 4]), lib.tensor([2, 1])
    return {
        "binary_cross_entropy_with_logits": (a, b),
        "cosine_embedding_loss": (a, b, sign),
        "ctc_loss": (scores, targets, *lengths),
        "hinge_embedding_loss": (a, b),
        "kl_div": (a, b),
        "margin_ranking_loss": (numbers, sign, sign),
        "triplet_margin_loss": (a, b, c),
    }


@pytest.mark.parametrize("name", losses(torch))
def test_losses_at_the_top_give_every_loss_unless_they_are_asked(name):
    ours, theirs = losses(aten)[name], losses(torch)[name]
    for options in ({}, {"reduction": 0}, {"reduction": 1}, {"reduction": 2}):
        found = getattr(aten, name)(*ours, **options)
        expected = getattr(torch, name)(*theirs, **options)
        assert tuple(found.shape) == tuple(expected.shape), options
        torch.testing.assert_close(torch.from_numpy(found.numpy()), expected)
