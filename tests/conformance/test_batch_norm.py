"""Batch norm against torch: stored and batch statistics, types, layouts, missing operands."""

from __future__ import annotations

import itertools

import pytest
from comparison import assert_same, torch, translated

import aten

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-11}
SHAPES = [(4, 3), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 4), (1, 1, 1, 7)]


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("training", [False, True])
def test_native_batch_norm(element, shape, training):
    generator = torch.Generator().manual_seed(sum(shape))
    dtype = getattr(torch, element)
    channels = shape[1]
    options = {"generator": generator}
    for affine, tracked in itertools.product((False, True), (True, False)):
        if not tracked and not training:
            continue
        input = (torch.randn(shape, **options) * 3 + 2).to(dtype)
        weight = torch.randn(channels, **options).to(dtype) if affine else None
        bias = torch.randn(channels, **options).to(dtype) if affine else None
        mean = torch.randn(channels, **options).to(dtype) if tracked else None
        var = (torch.rand(channels, **options) + 0.1).to(dtype) if tracked else None
        ours = [translated(operand) for operand in (input, weight, bias, mean, var)]
        expected = torch.native_batch_norm(input, weight, bias, mean, var, training, 0.1, 1e-5)
        result = aten.native_batch_norm(*ours, training, 0.1, 1e-5)
        tolerance = TOLERANCE[element]
        limits = {"tolerance": tolerance, "absolute": tolerance, "strides": False}
        for one, other in zip(result, expected, strict=True):
            assert_same(one, other, **limits)
        if tracked:
            assert_same(ours[3], mean, **limits)
            assert_same(ours[4], var, **limits)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ((None, None, 4, 3), "running_mean should contain 3 elements not 4"),
        ((2, None, 3, 3), "weight should contain 3 elements not 2"),
        ((None, None, None, None), "running_mean must be defined in evaluation mode"),
    ],
)
def test_messages_are_torchs(operands, message):
    for library in (torch, aten):
        given = [None if size is None else library.ones(size) for size in operands]
        with pytest.raises(RuntimeError, match=message):
            library.batch_norm(library.zeros(2, 3, 4), *given, False, 0.1, 1e-5, False)


@pytest.mark.parametrize("training", [True, False])
def test_forms_of_exported_programs(training):
    input = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    mean, var = torch.zeros(3), torch.ones(3)
    limits = {"tolerance": 1e-5, "absolute": 1e-5, "strides": False}
    expected = torch.native_batch_norm(
        input, None, None, mean.clone(), var.clone(), training, 0.1, 1e-5
    )
    ours = translated(input)
    form = aten.ops.aten._native_batch_norm_legit
    if training:
        result = form.no_stats(ours, None, None, True, 0.1, 1e-5)
    else:
        result = aten.ops.aten._native_batch_norm_legit_no_training(
            ours, None, None, translated(mean), translated(var), 0.1, 1e-5
        )
    for one, other in zip(result, expected, strict=True):
        assert_same(one, other, **limits)
    tracked = form(ours, None, None, translated(mean), translated(var), training, 0.1, 1e-5)
    for one, other in zip(tracked, expected, strict=True):
        assert_same(one, other, **limits)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(1, 2, 1), (2, 1)])
def test_statistics_have_one_dimension(training: bool, shape: tuple[int, ...]) -> None:
    for library in (aten, torch):
        mean, var = library.zeros(shape), library.ones(2)
        for statistics in ((mean, var), (var, mean)):
            with pytest.raises(RuntimeError, match=r"expected .*dim.* but"):
                library.native_batch_norm(
                    library.ones(3, 2, 4), None, None, *statistics, training, 0.1, 1e-5
                )
        assert bool((mean == 0).all())
        assert bool((var == 1).all())
