"""Padding by rows of the result against torch: modes, dtypes, orders of memory, crops, one row."""

from __future__ import annotations

import numpy
import pytest
import torch

import aten

SHAPES = [(2, 3, 5, 4), (3, 5, 4), (2, 3, 7), (2, 2, 3, 4, 5), (4,), (0, 3, 4, 4), (3, 2, 90, 130)]
PADS = [
    (1, 1),
    (0, 2),
    (2, 0, 1, 1),
    (1, 2, 3, 0),
    (-1, 1, 0, 0),
    (1, -2, -1, 2),
    (3, 3, 3, 3, 1, 1),
]
DTYPES = ["float32", "float64", "bfloat16", "int8", "int64", "complex128"]


def _orders(x: torch.Tensor) -> list[torch.Tensor]:
    found = [x]
    if x.dim() == 4:
        found.append(x.contiguous(memory_format=torch.channels_last))
    if x.dim() == 5:
        found.append(x.contiguous(memory_format=torch.channels_last_3d))
    if x.dim() > 1:
        found.append(x.transpose(-1, -2).contiguous().transpose(-1, -2))
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_padded_tensors_are_torchs_with_their_strides(mode: str, dtype: str) -> None:
    generator = numpy.random.default_rng(0)
    compared = 0
    for shape in SHAPES:
        drawn = torch.from_numpy(generator.integers(0, 100, shape)).to(getattr(torch, dtype))
        for x in _orders(drawn):
            for pad in PADS:
                try:
                    expected = torch.nn.functional.pad(x, pad, mode=mode)
                except (RuntimeError, NotImplementedError, ValueError) as error:
                    with pytest.raises(type(error)):
                        aten.nn.functional.pad(aten.from_dlpack(x), pad, mode=mode)
                    continue
                found = aten.nn.functional.pad(aten.from_dlpack(x), pad, mode=mode)
                assert tuple(found.shape) == tuple(expected.shape)
                assert expected.numel() < 2 or found.stride() == expected.stride()
                assert torch.equal(torch.from_dlpack(found), expected), (shape, pad)
                compared += 1
    assert compared > 30
