"""Compiled programs that draw random numbers, and those whose gradients depend on data."""

import pytest

import aten
from aten.nn import functional

WITH_DATA = {
    "matrix_exp": aten.matrix_exp,
    "rrelu": lambda x: functional.rrelu(x - 2, training=True),
    "cumprod": lambda x: x.cumprod(0) ** 2,
    "masked_cumprod": lambda x: aten.masked.cumprod(x, 0, mask=x > 1),
    "masked_scatter": lambda x: (x * 1).masked_scatter(x > 1, x.flip(0)),
    "pdist": aten.pdist,
    "vander": lambda x: aten.vander(x[0]),
}


def _outcomes(function, seed, x):
    aten.manual_seed(seed)
    result = function(x)
    gradients = aten.autograd.grad(result.sum(), x)[0] if result.requires_grad else None
    return str(result.tolist()), str(gradients), aten.rand(1).item()


@pytest.mark.parametrize("name", WITH_DATA)
def test_gradients_that_depend_on_data_are_eager(name):
    compiled = aten.compile(WITH_DATA[name])
    for seed in range(3):
        x = (aten.rand(3, 3) * 10**seed).requires_grad_()
        assert _outcomes(compiled, seed, x) == _outcomes(WITH_DATA[name], seed, x)
    assert "with gradients it depends on data" in compiled.breaks[0]


@pytest.mark.parametrize("needs_gradients", [False, True])
@pytest.mark.parametrize(
    "draw",
    [
        aten.rand_like,
        lambda x: functional.dropout(x, 0.5),
        lambda x: (aten.randn(4), aten.bernoulli(x.detach() * 0.5)),
    ],
)
def test_numbers_that_nobody_reads_are_drawn(draw, needs_gradients):
    def function(x):
        draw(x)
        return x + aten.rand_like(x)

    compiled = aten.compile(function, fullgraph=True)
    for seed in range(3):
        x = aten.ones(3, 3, requires_grad=needs_gradients)
        assert _outcomes(compiled, seed, x) == _outcomes(function, seed, x)
