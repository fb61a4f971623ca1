"""Padding, blocks as columns, pixels and channels traded, against torch."""

from __future__ import annotations

import random

import pytest
from comparison import compare, torch

import aten

ELEMENTS = ["float32", "bfloat16", "int64", "uint8", "bool", "complex64"]


def draw_image(choose, rank, element):
    sizes = [choose.randint(1, 2), choose.randint(1, 3)]
    sizes += [choose.randint(3, 6) for _ in range(rank)]
    if choose.random() < 0.3:
        sizes = sizes[1:]
    made = (torch.randn(sizes, generator=torch.Generator().manual_seed(1)) * 9).to(
        getattr(torch, element)
    )
    if choose.random() < 0.3:
        made = made.transpose(0, -1).contiguous().transpose(0, -1)
    elif choose.random() < 0.4 and rank > 1 and made.dim() == rank + 2:
        order = torch.channels_last if rank == 2 else torch.channels_last_3d
        made = made.contiguous(memory_format=order)
    return made


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_drawn_padding(mode, element):
    for seed in range(120):
        choose = random.Random(seed)
        rank = choose.randint(1, 3)
        image = draw_image(choose, rank, element)
        # torch leaves some of circular padding unwritten where it crops, too.
        least = 0 if mode == "circular" else -1
        pad = [choose.randint(least, 4) for _ in range(2 * rank)]
        compare(lambda library, x, pad=pad: library.nn.functional.pad(x, pad, mode), image)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_large_padding(mode):
    generator = torch.Generator().manual_seed(1)
    for sizes in ((2, 3, 9000), (1, 3, 80, 90), (2, 2, 17, 18, 19)):
        image = torch.randn(sizes, generator=generator)
        rank = len(sizes) - 2
        for pad in (
            [3, 5, 0, 7, 2, 1][: 2 * rank],
            [0] * 2 * rank,
            [-1, 2, 3, 0, -2, 0][: 2 * rank],
        ):
            compare(lambda library, x, pad=pad: library.nn.functional.pad(x, pad, mode), image)


@pytest.mark.parametrize("element", ["float32", "float16", "bool", "complex64", "int64"])
def test_drawn_blocks(element):
    for seed in range(80):
        choose = random.Random(seed)
        image = draw_image(choose, 2, element)
        kernel, dilation, padding, stride = (
            [choose.randint(least, 3) for _ in range(2)] for least in (1, 1, 0, 1)
        )
        window = (dilation, padding, stride)

        def there(library, x, kernel=kernel, window=window):
            return library.nn.functional.unfold(x, kernel, *window)

        def back(library, x, there=there, kernel=kernel, window=window):
            columns = there(library, x)
            return library.nn.functional.fold(columns, x.shape[-2:], kernel, *window)

        compare(there, image)
        compare(back, image, tolerance=4e-3 if element == "float16" else 1e-5, absolute=1e-1)


@pytest.mark.parametrize("element", ELEMENTS)
def test_pixels_and_channels(element):
    generator = torch.Generator().manual_seed(1)
    for sizes in ((2, 12, 4, 6), (12, 4, 6), (2, 2, 12, 4, 6), (2, 12, 1, 1), (4,)):
        image = (torch.randn(sizes, generator=generator) * 9).to(getattr(torch, element))
        images = [image]
        if len(sizes) == 4:
            images.append(image.contiguous(memory_format=torch.channels_last))
        for one in images:
            for name in ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"):
                for factor in (2, 1, 3, 5, 0, -1):
                    compare(
                        lambda library, x, name=name, factor=factor: getattr(library, name)(
                            x, factor
                        ),
                        one,
                    )


@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
def test_result_is_fresh(name):
    image = aten.ones(1, 4, 4, 4)
    for factor in (1, 2):
        assert getattr(aten, name)(image, factor).data_ptr() != image.data_ptr()


def test_time_first():
    generator = torch.Generator().manual_seed(1)
    line = torch.randn(7, 2, 3, generator=generator)
    weight = torch.randn(3, 3, 4, generator=generator)
    for pad in (0, 2):
        compare(
            lambda library, x, w, b, pad=pad: library.conv_tbc(x, w, b, pad),
            line,
            weight,
            torch.ones(4),
            tolerance=1e-5,
            absolute=1e-5,
        )
    compare(lambda library, x, w, b: library.conv_tbc(x, w, b), line, weight, torch.ones(3))


def test_a_stack_with_a_tensor_of_another_device_leaves_out_as_it_was():
    out = aten.full((2, 2, 4), 7.0)
    with pytest.raises(RuntimeError, match="all tensors on one device"):
        aten.stack([aten.ones(2, 4), aten.empty(2, 4, device="meta")], out=out)
    assert bool((out == 7).all())
