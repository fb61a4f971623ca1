"""Recurrent layers where torch is not needed: what may not depend on how a sequence is given."""

from __future__ import annotations

from typing import Any

import pytest

import aten


@pytest.mark.parametrize("element", [aten.float32, aten.float64, aten.bfloat16])
@pytest.mark.parametrize(("batch", "width"), [(1, 8), (3, 20), (16, 64)])
def test_a_sequence_in_pieces_gives_the_same_bits(
    element: aten.dtype, batch: int, width: int
) -> None:
    """Weights are turned once for many steps, and for each step of few."""
    generator = aten.Generator().manual_seed(width)
    aten.manual_seed(0)
    layer = aten.nn.LSTM(5, width).to(element)
    given = aten.randn(9, batch, 5, generator=generator).to(element)
    with aten.no_grad():
        whole, last = layer(given)
        pieces = []
        state: Any = None
        for first, until in ((0, 1), (1, 3), (3, 6), (6, 9)):
            made, state = layer(given[first:until], state)
            pieces.append(made)
    assert aten.cat(pieces).tolist() == whole.tolist()
    assert [one.tolist() for one in state] == [one.tolist() for one in last]
