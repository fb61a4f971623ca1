"""Factories against torch: values, dtypes, strides, errors."""

import pytest
from comparison import compare

torch = pytest.importorskip("torch")

EXACT = {
    "zeros of ints": lambda t: t.zeros(2, 3),
    "zeros of a tuple": lambda t: t.zeros((2, 3), dtype=t.int16),
    "zeros of a list": lambda t: t.zeros([2, 0]),
    "zeros by keyword": lambda t: t.zeros(size=(2,), dtype=t.bool),
    "zeros 0-d": lambda t: t.zeros(()),
    "zeros on meta": lambda t: t.zeros((2, 3), dtype=t.float64, device="meta"),
    "zeros negative": lambda t: t.zeros(-1),
    "zeros no grad": lambda t: t.zeros(2, requires_grad=False),
    "zeros out": lambda t: t.zeros(2, 2, out=t.ones(0)),
    "ones": lambda t: t.ones(2, 3, dtype=t.complex64),
    "ones bfloat16": lambda t: t.ones(3, dtype=t.bfloat16),
    "ones float16": lambda t: t.ones(3, dtype=t.float16),
    "full bool": lambda t: t.full((2,), True),
    "full int": lambda t: t.full((2,), 3),
    "full float": lambda t: t.full((2, 2), 1.5),
    "full complex": lambda t: t.full((2,), 1 + 2j),
    "full dtype": lambda t: t.full((2,), 3, dtype=t.float64),
    "full truncates": lambda t: t.full((2,), 2.7, dtype=t.int32),
    "full overflows": lambda t: t.full((2,), 300, dtype=t.uint8),
    "full complex to real": lambda t: t.full((2,), 1 + 2j, dtype=t.float32),
    "full of a tensor": lambda t: t.full((2,), t.tensor(4)),
    "full int8 out": lambda t: t.full((2,), 3, out=t.empty(2, dtype=t.int8)),
    "scalar_tensor": lambda t: t.scalar_tensor(3),
    "scalar_tensor int": lambda t: t.scalar_tensor(3, dtype=t.int64),
    "eye": lambda t: t.eye(3),
    "eye wide": lambda t: t.eye(2, 4, dtype=t.int64),
    "eye tall": lambda t: t.eye(4, 2),
    "eye empty": lambda t: t.eye(0),
    "eye negative": lambda t: t.eye(-1),
    "eye meta": lambda t: t.eye(3, device="meta"),
    "arange": lambda t: t.arange(5),
    "arange float": lambda t: t.arange(5.0),
    "arange start": lambda t: t.arange(2, 7),
    "arange step": lambda t: t.arange(1, 10, 3),
    "arange negative step": lambda t: t.arange(10, 1, -3),
    "arange fraction": lambda t: t.arange(0.0, 1.0, 0.25),
    "arange tenth": lambda t: t.arange(0, 1, 0.1),
    "arange int dtype of floats": lambda t: t.arange(0.5, 4.2, dtype=t.int64),
    "arange int32 of floats": lambda t: t.arange(0.5, 4.2, dtype=t.int32),
    "arange half": lambda t: t.arange(1, 9, 2, dtype=t.float16),
    "arange bfloat16": lambda t: t.arange(5, dtype=t.bfloat16),
    "arange double": lambda t: t.arange(0, 2, 0.5, dtype=t.float64),
    "arange uint8": lambda t: t.arange(0, 250, 50, dtype=t.uint8),
    "arange empty": lambda t: t.arange(3, 3),
    "arange zero step": lambda t: t.arange(0, 3, 0),
    "arange wrong sign": lambda t: t.arange(0, 3, -1),
    "arange infinite": lambda t: t.arange(0, float("inf")),
    "arange nan": lambda t: t.arange(float("nan"), 3.0),
    "arange bool": lambda t: t.arange(2, dtype=t.bool),
    "arange end keyword": lambda t: t.arange(end=4),
    "arange all keywords": lambda t: t.arange(start=1, end=6, step=2),
    "arange meta": lambda t: t.arange(7, device="meta"),
    "arange layout": lambda t: t.arange(3, layout=t.strided),
    "arange out": lambda t: t.arange(0, 3, 1, out=t.empty(3)),
    "arange of a tensor": lambda t: t.arange(t.tensor(4)),
    "linspace": lambda t: t.linspace(0, 1, 5),
    "linspace down": lambda t: t.linspace(3, -1, 9),
    "linspace one": lambda t: t.linspace(2, 7, 1),
    "linspace none": lambda t: t.linspace(2, 7, 0),
    "linspace double": lambda t: t.linspace(-2, 10, 7, dtype=t.float64),
    "linspace int": lambda t: t.linspace(0, 10, 4, dtype=t.int64),
    "linspace int down": lambda t: t.linspace(7, -8, 6, dtype=t.int32),
    "linspace negative": lambda t: t.linspace(0, 1, -1),
    "linspace tensors": lambda t: t.linspace(t.tensor(0.0), t.tensor(4.0), 5),
    "linspace mixed": lambda t: t.linspace(0.0, t.tensor(4.0), 5),
    "linspace not 0-d": lambda t: t.linspace(t.tensor([0.0]), 4.0, 5),
    "linspace complex": lambda t: t.linspace(0, 2 + 4j, 3),
    "linspace complex dtype": lambda t: t.linspace(0, 1, 3, dtype=t.complex128),
    "linspace complex to real": lambda t: t.linspace(0, 1j, 3, dtype=t.float32),
    "linspace meta": lambda t: t.linspace(0, 1, 5, device="meta"),
    "empty sizes": lambda t: tuple(t.empty(2, 3).shape),
    "empty channels last": lambda t: t.empty(2, 3, 4, 5, memory_format=t.channels_last).stride(),
    "empty channels last rank": lambda t: t.empty(2, 3, memory_format=t.channels_last),
    "empty preserve": lambda t: t.empty(2, memory_format=t.preserve_format),
    "empty_strided": lambda t: t.empty_strided((2, 3), (1, 2)).stride(),
    "empty_strided ranks": lambda t: t.empty_strided((2, 3), (1,)),
    "wrong dtype": lambda t: t.zeros(2, dtype="float"),
    "unknown device": lambda t: t.zeros(2, device="nowhere"),
    "unknown keyword": lambda t: t.zeros(2, colour=1),
    "no size": lambda t: t.full(fill_value=1),
}


@pytest.mark.parametrize("name", EXACT)
def test_factory(name: str) -> None:
    compare(EXACT[name])


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.7, 12.1), (5, -5), (1e-3, 1e6)])
@pytest.mark.parametrize("steps", [2, 3, 10, 101])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_linspace_values(ends, steps, dtype) -> None:
    def expression(t, dtype):
        return t.linspace(*ends, steps, dtype=dtype)

    # Where the sequence crosses zero, what counts is the size of its steps.
    tolerance = 1e-6 if dtype is torch.float32 else 1e-14
    compare(expression, dtype, tolerance=tolerance, absolute=tolerance * abs(ends[0]))


@pytest.mark.parametrize("arguments", [(0, 3, 0.1), (-5.5, 5.5, 0.3), (1, 1e4, 7.7), (9, 2, -0.7)])
@pytest.mark.parametrize("dtype", [None, torch.float32, torch.float64, torch.int32, torch.int64])
def test_arange_lengths_and_values(arguments, dtype) -> None:
    compare(lambda t, dtype: t.arange(*arguments, dtype=dtype), dtype, tolerance=1e-6)


LIKE = {
    "empty_like": lambda t, x: (t.empty_like(x).stride(), tuple(t.empty_like(x).shape)),
    "zeros_like": lambda t, x: t.zeros_like(x),
    "ones_like": lambda t, x: t.ones_like(x, dtype=t.float64),
    "full_like": lambda t, x: t.full_like(x, 3),
    "full_like int": lambda t, x: t.full_like(x, 3.7, dtype=t.int32),
    "zeros_like contiguous": lambda t, x: t.zeros_like(x, memory_format=t.contiguous_format),
    "zeros_like channels last": lambda t, x: t.zeros_like(x, memory_format=t.channels_last),
    "zeros_like meta": lambda t, x: t.zeros_like(x, device="meta"),
    "new_zeros": lambda t, x: x.new_zeros(2, 3),
    "new_ones": lambda t, x: x.new_ones((2, 3), dtype=t.int32),
    "new_full": lambda t, x: x.new_full((2,), 7),
    "new_empty": lambda t, x: tuple(x.new_empty((3, 0)).shape),
    "new_empty_strided": lambda t, x: x.new_empty_strided((2, 3), (3, 1)).stride(),
    "new_tensor": lambda t, x: x.new_tensor([1, 2]),
}
LAYOUTS = {
    "contiguous": torch.ones(2, 3),
    "transposed": torch.ones(2, 3, 4).transpose(0, 2),
    "channels last": torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    "expanded": torch.ones(2, 1, 3).expand(2, 4, 3),
    "strided": torch.ones(4, 6)[::2, ::3],
    "permuted and strided": torch.ones(4, 6, 5)[::2].permute(2, 0, 1),
    "empty": torch.ones(0, 3),
    "empty transposed": torch.ones(4, 0, 3).transpose(0, 2),
    "as many as spanned": torch.ones(4).as_strided((2, 2), (0, 3)),
    "0-d": torch.tensor(3, dtype=torch.int16),
    "ones": torch.ones(1, 3, 1).transpose(0, 1),
    "expanded transposed": torch.ones(3, 1).expand(3, 4).t(),
    "float16": torch.ones(2, 2, dtype=torch.float16),
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_like(name: str, layout: str) -> None:
    compare(LIKE[name], LAYOUTS[layout])


def test_large_fill_is_shared_between_threads() -> None:
    compare(lambda t: t.full((1_500_000,), 2.5, dtype=t.float64).sum())
