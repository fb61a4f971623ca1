"""Fixtures of more than one file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aten.backends.cpu.kernels.windows import direct


@pytest.fixture(params=[16, 32, 64])
def window_vectors(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each width of vectors, in bytes, that the processor has for convolutions."""
    before = direct.vector_bytes()
    try:
        direct.set_vector_bytes(request.param)
    except ValueError:
        pytest.skip(f"the processor has no vectors of {request.param} bytes")
    yield request.param
    direct.set_vector_bytes(before)
