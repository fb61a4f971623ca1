"""Functions compiled once and called with operands of several sizes, beside their eager calls."""

from __future__ import annotations

import pytest

import aten

functional = aten.nn.functional
SIZES = (3, 2, 5, 8, 3)
# Of a matrix (count, 4).
FUNCTIONS = {
    "zeros_like": lambda x: aten.zeros_like(x),
    "ones_like, added": lambda x: aten.ones_like(x) + x,
    "full_like": lambda x: aten.full_like(x, 3),
    "new_zeros": lambda x: x.new_zeros(x.shape),
    "new_ones, of twice the size": lambda x: x.new_ones(2 * x.shape[0], 3),
    "zeros": lambda x: aten.zeros(x.shape[0]) + 1,
    "arange": lambda x: aten.arange(x.shape[0]) * x.shape[0],
    "arange, compared": lambda x: x.masked_fill(aten.arange(x.shape[0])[:, None] > 2, 0.0),
    "eye": lambda x: aten.eye(x.shape[0]) @ x,
    "sum of ones": lambda x: aten.ones_like(x).sum(),
    "ones and a result": lambda x: (aten.ones_like(x), x + 1),
    "mask": lambda x: (x @ x.T).masked_fill(aten.ones_like(x @ x.T).triu(1) > 0, -1e9).softmax(-1),
    "cat with zeros": lambda x: aten.cat([x, x.new_zeros(1, 4)]).flip(0),
    "rows repeated": lambda x: x.repeat(2, 1) + x[:1],
    "expanded": lambda x: x[:1].expand(x.shape[0], 4) * x,
    "of a column": lambda x: x.sum(0, keepdim=True).expand_as(x) + x,
    "padded": lambda x: functional.pad(x, (1, 0, 0, 2)),
    "mean by a count": lambda x: x.sum(0) / x.shape[0],
    "half of it": lambda x: x[: x.shape[0] // 2].sum() + x[-1],
    "cumulative": lambda x: x.cumsum(0) - x,
    "roll": lambda x: aten.roll(x, 1, 0),
    "one_hot": lambda x: functional.one_hot(aten.arange(x.shape[0]), 9),
    "strided": lambda x: x.reshape(-1)[::2].contiguous(),
    "attention": lambda x: functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "norm": lambda x: functional.layer_norm(x, (4,)) + functional.normalize(x, dim=0),
    "gathered": lambda x: x.gather(0, aten.zeros_like(x, dtype=aten.int64) + x.shape[0] - 1),
    "scattered": lambda x: aten.zeros_like(x).scatter_add(0, x.argsort(0), x),
    "interpolated": lambda x: functional.interpolate(x[None, None], scale_factor=2),
}


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_size_has_its_result(name, dynamic):
    function = FUNCTIONS[name]
    compiled = aten.compile(function, dynamic=dynamic)
    generator = aten.Generator().manual_seed(5)
    for count in SIZES:
        x = aten.rand(count, 4, generator=generator)
        made, expected = compiled(x), function(x)
        for one, other in zip(
            made if isinstance(made, tuple) else (made,),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        ):
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            assert aten.allclose(one, other, rtol=1e-5, atol=1e-6)


# Which looks at its numbers, as torch's does.
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "one_hot"])
def test_an_exported_program_of_all_sizes(name):
    class Module(aten.nn.Module):
        def forward(self, x):
            return FUNCTIONS[name](x)

    rows = aten.export.Dim("rows", min=2, max=64)
    program = aten.export.export(Module(), (aten.rand(4, 4),), dynamic_shapes={"x": {0: rows}})
    compiled = aten.compile(program.module())
    for count in SIZES:
        x = aten.rand(count, 4)
        expected = FUNCTIONS[name](x)
        for made in (program.module()(x), compiled(x)):
            for one, other in zip(
                made if isinstance(made, tuple) else (made,),
                expected if isinstance(expected, tuple) else (expected,),
                strict=True,
            ):
                assert one.shape == other.shape
                assert aten.allclose(one, other, rtol=1e-5, atol=1e-6)
