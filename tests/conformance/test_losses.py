"""Losses against torch, through `nn.functional`: reductions, types, layouts, weights, refusals."""

from __future__ import annotations

import itertools
import warnings

import pytest
from comparison import compare, torch, translated

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-11}
REDUCTIONS = ["none", "mean", "sum"]
FEATURES, CLASSES = 4, 5

# name: (what the target holds, arguments to vary)
ELEMENTWISE = {
    "mse_loss": ("numbers", [{}]),
    "l1_loss": ("numbers", [{}]),
    "smooth_l1_loss": ("numbers", [{}, {"beta": 0.0}, {"beta": 0.3}]),
    "huber_loss": ("numbers", [{}, {"delta": 0.4}]),
    "soft_margin_loss": ("signs", [{}]),
    "hinge_embedding_loss": ("signs", [{}, {"margin": 0.3}]),
    "kl_div": ("probabilities", [{}, {"log_target": True}]),
    "poisson_nll_loss": (
        "counts",
        [{}, {"full": True}, {"log_input": False, "eps": 3.0, "full": True}],
    ),
    "binary_cross_entropy_with_logits": ("probabilities", [{}, {"pos_weight": True}]),
}


def numbers(*shape: int, element: str = "float32", seed: int = 0):
    generator = torch.Generator().manual_seed(seed + len(shape))
    return torch.randn(shape, generator=generator).to(getattr(torch, element))


def target_of(kind: str, like):
    values = torch.empty_like(like).copy_(numbers(*like.shape, seed=9))
    return {
        "numbers": lambda: values,
        "signs": lambda: values.sign(),
        "probabilities": lambda: values.sigmoid(),
        "counts": lambda: (values.abs() * 3).round(),
    }[kind]()


def same(name: str, *operands, element: str = "float32", **options) -> None:
    limit = TOLERANCE[element]

    def call(library, *given):
        keywords = {key: translated(v) if library is not torch else v for key, v in options.items()}
        return getattr(library.nn.functional, name)(*given, **keywords)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        compare(call, *operands, tolerance=limit, absolute=limit)


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("name", list(ELEMENTWISE))
def test_elementwise(name, element):
    kind, variants = ELEMENTWISE[name]
    whole = numbers(3, 2, FEATURES, element=element)
    layouts = [whole, whole.transpose(0, 2), whole[:, 1:], whole[:0], whole[0, 0, 0]]
    for input, options, reduction in itertools.product(layouts, variants, REDUCTIONS):
        keywords = dict(options)
        if "pos_weight" in keywords:
            keywords["pos_weight"] = input.detach().abs()
        same(name, input, target_of(kind, input), element=element, reduction=reduction, **keywords)


@pytest.mark.parametrize("name", [*ELEMENTWISE, "binary_cross_entropy"])
def test_refused_types_and_reductions(name):
    flags = torch.ones(2, 3, dtype=torch.bool)
    for input in (flags, flags.long()):
        same(name, input, input, reduction="none" if name != "poisson_nll_loss" else "bad")
    same(name, numbers(2, 3), numbers(2, 3), reduction="average")
    same(name, numbers(2, 3), numbers(2, 4))


def test_older_flags_win():
    for size_average, reduce in itertools.product((None, True, False), repeat=2):
        same("mse_loss", numbers(3), numbers(3, seed=4), size_average=size_average, reduce=reduce)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_weights_of_elements(reduction):
    input, target = numbers(3, 2).sigmoid(), numbers(3, 2, seed=5).sigmoid()
    for name in ("mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy"):
        for weight in (target.square(), target[0]):
            same(name, input, target, weight=weight, reduction=reduction)


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_classes(reduction, element):
    limits = {"element": element, "reduction": reduction}
    for outer in [(), (3,), (3, 2), (3, 2, 4), (3, 2, 2, 2), (0,), (3, 0)]:
        shape = (*outer[:1], CLASSES, *outer[1:])
        scores = numbers(*shape, element=element)
        target = (numbers(*outer, seed=2).abs() * 2).long() % CLASSES
        weight = numbers(CLASSES, seed=3).abs().to(scores.dtype)
        for weights, ignored in itertools.product((None, weight), (-100, 1)):
            options = {"weight": weights, "ignore_index": ignored, **limits}
            same("nll_loss", scores, target, **options)
            same("cross_entropy", scores, target, **options)
            same("cross_entropy", scores, target, label_smoothing=0.3, **options)
        same("cross_entropy", scores, scores.sigmoid(), weight=weight, **limits)
        same("cross_entropy", scores, scores.sigmoid(), label_smoothing=0.2, **limits)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_margins_between_classes(reduction):
    for outer in [(3,), ()]:
        scores = numbers(*outer, CLASSES)
        target = (numbers(*outer, seed=2).abs() * 2).long() % CLASSES
        for p, weight in itertools.product((1, 2, 3), (None, numbers(CLASSES).abs())):
            same("multi_margin_loss", scores, target, p=p, weight=weight, reduction=reduction)
        several = (numbers(*outer, CLASSES, seed=7) * 2).long().clamp(-1, CLASSES - 1)
        same("multilabel_margin_loss", scores, several, reduction=reduction)
        same("multilabel_soft_margin_loss", scores, several.clamp_min(0), reduction=reduction)


@pytest.mark.parametrize(
    ("scores", "target"),
    [
        ((3, CLASSES), [0, 1, CLASSES]),
        ((3, CLASSES), [0, 1, -1]),
        ((3, CLASSES), [0, 1]),
        ((3, CLASSES), [0.0, 1.0, 2.0]),
        ((CLASSES,), [0, 1]),
        ((3, CLASSES, 2), [0, 1, 2]),
    ],
)
def test_targets_that_are_no_class(scores, target):
    for name in ("nll_loss", "cross_entropy", "multi_margin_loss"):
        same(name, numbers(*scores), torch.tensor(target))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_pairs_and_triplets(reduction):
    first, second, third = (numbers(4, 3, seed=seed) for seed in (1, 3, 5))
    signs = torch.tensor([1, -1, 1, -1])
    for margin in (0.0, 0.5):
        options = {"margin": margin, "reduction": reduction}
        same("margin_ranking_loss", first, second, third.sign(), **options)
        same("cosine_embedding_loss", first, second, signs, **options)
        same("triplet_margin_loss", first, second, third, swap=True, p=1.5, **options)
        same("triplet_margin_with_distance_loss", first, second, third, swap=True, **options)
    same("gaussian_nll_loss", first, second, third.abs(), full=True, reduction=reduction)
    same("gaussian_nll_loss", first, second, third[:, 0].abs(), reduction=reduction)
    same("gaussian_nll_loss", first, second, third, reduction=reduction)


def test_distances():
    first, second = numbers(4, 3), numbers(3, seed=5)
    for dim in (0, 1, -1, 2):
        same("cosine_similarity", first, second, dim=dim)
    for p, keepdim in itertools.product((1.0, 2.0, 0.0, float("inf"), 2.5), (False, True)):
        same("pairwise_distance", first, second, p=p, keepdim=keepdim)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_linear_cross_entropy(reduction):
    input, weight = numbers(3, FEATURES), numbers(CLASSES, FEATURES)
    target = torch.tensor([0, 4, 2])
    options = {"reduction": reduction, "label_smoothing": 0.1}
    same("linear_cross_entropy", input, weight, target, linear_bias=weight[:, 0], **options)
    same("linear_cross_entropy", input, weight[:, None], target[:, None], **options)
    same("linear_cross_entropy", input, weight, numbers(3, CLASSES).sigmoid(), **options)


def test_results_of_operators_with_two():
    def both(library, scores, target, weight):
        return library.ops.aten.nll_loss_forward(scores, target, weight, 1, -100)

    compare(both, numbers(3, 5), torch.tensor([0, -100, 2]), numbers(5).abs(), tolerance=1e-6)

    def marked(library, scores, target):
        return library.ops.aten.multilabel_margin_loss_forward(scores, target, 0)

    targets = torch.tensor([[0, -1, 2], [2, 1, -1]])
    compare(marked, numbers(2, 3), targets, tolerance=1e-6, absolute=1e-6)


@pytest.mark.parametrize("element", ["uint8", "int8", "int16", "int64", "bool", "float16"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ranks_of_integers_wrap(reduction, element):
    first, second, target = (
        torch.tensor(one).to(getattr(torch, element))
        for one in ([200, 3, 7, 0], [100, 5, 7, 255], [1, 1, 2, -1])
    )
    for margin in (0.0, 1.5):
        options = {"margin": margin, "reduction": reduction}
        same("margin_ranking_loss", first, second, target, **options)
        same("margin_ranking_loss", first, second, target.long(), **options)
        same("margin_ranking_loss", first, second, target.float(), **options)
        same("margin_ranking_loss", first.float(), second.float(), target, **options)
