"""Convolutions under the names of torch's kernels against torch: sizes, steps, refusals."""

from __future__ import annotations

import itertools

import pytest
from comparison import assert_same, translated
from derivatives import compare, numbers, outcome, torch

import aten

# Dimensions, what comes after the padding, the name of out=.
KERNELS = {
    "slow_conv3d": (3, "", "out"),
    "slow_conv3d_forward": (3, "", "output"),
    "slow_conv_dilated2d": (2, "d", "out"),
    "slow_conv_dilated3d": (3, "d", "out"),
    "slow_conv_transpose2d": (2, "od", "out"),
    "slow_conv_transpose3d": (3, "od", "out"),
    "thnn_conv2d": (2, "", "out"),
    "_slow_conv2d_forward": (2, "", "output"),
}


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("name", list(KERNELS))
def test_kernels(name, element):
    rank, others, out = KERNELS[name]
    image = numbers(2, 3, *[6] * rank, element=element)
    channels = (3, 4) if "transpose" in name else (4, 3)
    weight = numbers(*channels, *[3] * rank, element=element, seed=4)
    bias = numbers(4, element=element, seed=5)
    for stride, padding, given in itertools.product((1, 2), (0, 1), (None, bias)):
        call = [image, weight, [3] * rank, given, [stride] * rank, [padding] * rank]
        for kind in others:
            call.append([1] * rank if kind == "o" and stride == 2 else [0] * rank)
            call[-1] = [2] * rank if kind == "d" else call[-1]
        assert compare(name, *call, strides=False)
        keywords = {out: image.new_empty(0)}
        if name != "slow_conv3d_forward":
            assert compare(f"{name}.{out}", *call, strides=False, **keywords)


@pytest.mark.parametrize("name", ["slow_conv_dilated2d", "slow_conv_transpose2d"])
def test_one_image(name):
    channels = (3, 4) if "transpose" in name else (4, 3)
    call = (numbers(3, 6, 6), numbers(*channels, 3, 3), [3, 3])
    ours, _ = outcome(aten, name, tuple(translated(call)), {})
    # torch makes a batch of the operand itself, and so of one of the results.
    theirs, _ = outcome(torch, name, call, {})
    assert_same(ours, theirs, tolerance=1e-5, absolute=1e-5, strides=False)


@pytest.mark.parametrize("name", list(KERNELS))
def test_refusals(name):
    rank, others, _ = KERNELS[name]
    channels = (3, 4) if "transpose" in name else (4, 3)
    image, weight = numbers(2, 3, *[6] * rank), numbers(*channels, *[3] * rank)
    rest = [None, [1] * rank, [0] * rank, *[[1 if one == "d" else 0] * rank for one in others]]
    assert compare(name, image, weight, [3] * rank, *rest, strides=False)
    # torch looks for few of these, and reads what is not there.
    function = getattr(aten.ops.aten, name)
    for wrong, kernel in (
        (image[:, :2], [3] * rank),
        (image, [0] * rank),
        (image, [2] * rank),
        (image[..., :1] if "transpose" not in name else image[0, 0], [3] * rank),
    ):
        with pytest.raises(RuntimeError):
            function(*translated([wrong, weight, kernel, *rest]))


@pytest.mark.parametrize("element", ["float32", "float64"])
def test_gradients(element):
    image, weight = numbers(2, 3, 6, 6, element=element), numbers(4, 3, 3, 3, element=element)
    for stride, padding in itertools.product((1, 2), (0, 1)):
        options = ([3, 3], [stride] * 2, [padding] * 2)
        result = torch.nn.functional.conv2d(image, weight, None, stride, padding)
        call = (numbers(*result.shape, element=element), image, weight, *options)
        for mask in ([True] * 3, [True, False, True], [False, True, False]):
            name = "_slow_conv2d_backward.output_mask"
            if all(mask):
                assert compare(name, *call, mask, strides=False)
                outs = {f"out{place}": image.new_empty(0) for place in range(3)}
                assert compare(f"{name}_out", *call, mask, strides=False, **outs)
            else:
                ours, theirs = results(name, call, mask)
                assert [one is not None for one in ours] == [one is not None for one in theirs]


def results(name, call, mask):
    ours, error = outcome(aten, name, (*translated(call), mask), {})
    assert error is None
    theirs, _ = outcome(torch, name, (*call, mask), {})
    return ours, theirs
