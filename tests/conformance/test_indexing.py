"""Reading and writing by index against torch."""

import pytest
from comparison import compare, translated

torch = pytest.importorskip("torch")

import aten  # noqa: E402

BASES = {
    "3-d": torch.arange(24.0).view(2, 3, 4),
    "transposed": torch.arange(24.0).view(2, 3, 4).transpose(0, 2),
    "strided": torch.arange(48.0).view(4, 3, 4)[::2],
    "1-d": torch.arange(5),
    "0-d": torch.tensor(7.0),
    "empty": torch.empty(0, 3),
    "expanded": torch.arange(3).view(1, 3, 1).expand(2, 3, 4),
}
PLAIN = {
    "0": 0,
    "-1": -1,
    "out of range": 9,
    "far out of range": 10**30,
    "0, 1": (0, 1),
    "0, 1, 2": (0, 1, 2),
    "too many": (0, 0, 0, 0),
    "all": slice(None),
    "1:": slice(1, None),
    ":-1": slice(None, -1),
    "1:3": slice(1, 3),
    "5:2": slice(5, 2),
    "-99:99": slice(-99, 99),
    "::2": slice(None, None, 2),
    "1::3": slice(1, None, 3),
    "0:0:5": slice(0, 0, 5),
    "huge": slice(0, 10**30, 10**3),
    "::-1": slice(None, None, -1),
    "::0": slice(None, None, 0),
    "floats": slice(1.0, 2.0),
    "None": None,
    "...": ...,
    "()": (),
    "..., 0": (..., 0),
    "0, ...": (0, ...),
    "1:, ..., 0": (slice(1, None), ..., 0),
    "..., ...": (..., ...),
    "None, 0": (None, 0),
    ":, None, 0": (slice(None), None, 0),
    "None, None": (None, None),
    "..., None": (..., None),
    "0, None, ...": (0, None, ...),
    "1.5": 1.5,
    "text": "a",
    "object": object(),
}
GATHERING = {
    "True": True,
    "False": False,
    "0, True": (0, True),
    "list": [0, 1],
    "list backwards": [1, 0, 1],
    "empty list": [],
    "bools": [True, False],
    "tuple of lists": ([0, 1], [1, 2]),
    "range": range(2),
    "lists and all": ([0, 1], slice(None), [1, 2]),
    "all and lists": (slice(None), [0, 1], [1, 2]),
    "int and list": (0, slice(None), [1, 2]),
    "list and int": ([0, 1], 1),
    "None and list": (None, [0, 1]),
    "list and None": ([0, 1], None),
    "list and slice": ([0, 1], slice(1, None)),
    "ellipsis and list": (..., [0, 2]),
    "negative": [-1, -2],
    "out of range": [0, 77],
    "not broadcast": ([0, 1], [0, 1, 2]),
    "too many lists": ([0], [0], [0], [0]),
    "0-d tensor": torch.tensor(1),
    "0-d tensor int8": torch.tensor(1, dtype=torch.int8),
    "0-d tensor float": torch.tensor(1.0),
    "0-d tensor bool": torch.tensor(True),
    "tensor": torch.tensor([1, 0]),
    "tensor int32": torch.tensor([1, 0], dtype=torch.int32),
    "tensor int16": torch.tensor([1, 0], dtype=torch.int16),
    "tensor float": torch.tensor([1.0]),
    "tensor 2-d": torch.tensor([[0, 1], [1, 0]]),
    "tensors broadcast": (torch.tensor([[0], [1]]), torch.tensor([0, 2])),
    "empty tensor": torch.empty(0, dtype=torch.int64),
    "mask of all": torch.arange(24.0).view(2, 3, 4) > 5,
    "mask 1-d": torch.tensor([True, False]),
    "mask 2-d": torch.tensor([[True, False, True], [False, True, True]]),
    "mask and slice": (torch.tensor([[True, False, True], [False, True, True]]), slice(1, None)),
    "mask and int": (torch.tensor([[True, False, True], [False, True, True]]), 1),
    "slice and mask": (slice(None), torch.tensor([True, False, True])),
    "list and mask": ([0, 1], torch.tensor([True, False, True])),
    "mask of another size": torch.tensor([True, False, True, True, True, False, False]),
    "True and list": (True, [0, 1]),
}

# What is wrong in itself; on a 0-d tensor it is also one index too many, which may show first.
WRONG = ("far out of range", "::-1", "::0", "floats", "text", "1.5")


def skip_doubly_wrong(base: str, index: str) -> None:
    if base == "0-d" and index in WRONG:
        pytest.skip("wrong in two ways")


@pytest.mark.parametrize("index", PLAIN)
@pytest.mark.parametrize("base", BASES)
def test_views(base: str, index: str) -> None:
    skip_doubly_wrong(base, index)
    compare(lambda t, x: x[PLAIN[index]], BASES[base])


@pytest.mark.parametrize("index", PLAIN)
def test_views_step_by_step(index: str) -> None:
    """With a trace on, every operator of the index is called."""

    def expression(t, x):
        if t is torch:
            return x[PLAIN[index]]
        with aten.trace_dispatch():
            return x[PLAIN[index]]

    for name, base in BASES.items():
        if name != "0-d" or index not in WRONG:
            compare(expression, base)


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", GATHERING)
@pytest.mark.parametrize("base", BASES)
def test_gathering(base: str, index: str) -> None:
    given = GATHERING[index]
    ours = translated(given)
    compare(lambda t, x: x[given if t is torch else ours], BASES[base], strides=False)


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", [*PLAIN, *GATHERING])
@pytest.mark.parametrize("base", ["3-d", "transposed", "strided", "1-d", "0-d", "empty"])
def test_writing_a_number(base: str, index: str) -> None:
    skip_doubly_wrong(base, index)
    given = {**PLAIN, **GATHERING}[index]
    ours = translated(given)

    def expression(t, x):
        x = x.clone()
        x[given if t is torch else ours] = -3
        return x

    compare(expression, BASES[base])


VALUES = {
    "row": torch.tensor([10.0, 20.0, 30.0, 40.0]),
    "0-d": torch.tensor(5.0),
    "int": torch.tensor(5),
    "leading ones": torch.ones(1, 1, 1, 1, 4),
    "half": torch.ones(4, dtype=torch.float16),
    "wrong": torch.ones(7),
    "number": 2.5,
    "bool": True,
    "complex": 1j,
    "list": [1.0, 2.0, 3.0, 4.0],
    "text": "a",
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("index", ["0", "1:", "...", "list", "mask 2-d", "tensor 2-d", "None"])
def test_writing_values(index: str, value: str) -> None:
    given = {**PLAIN, **GATHERING}[index]
    ours = translated(given)

    def expression(t, x, written):
        x[given if t is torch else ours] = written
        return x

    compare(expression, BASES["3-d"].clone(), VALUES[value])


def test_writing_truncates_to_the_dtype_of_the_tensor() -> None:
    def expression(t, x):
        x[0] = 2.7
        x[1:] = t.tensor([3.9, -1.2])
        return x

    compare(expression, torch.zeros(3, dtype=torch.int64))


INDEXING_OPERATORS = {
    "index_select": lambda t, x, i: t.index_select(x, 1, i),
    "index_select 0-d index": lambda t, x, i: t.index_select(x, 0, t.tensor(1)),
    "index_select negative": lambda t, x, i: t.index_select(x, 0, t.tensor([-1])),
    "index_select beyond": lambda t, x, i: t.index_select(x, 0, t.tensor([5])),
    "index_select float": lambda t, x, i: t.index_select(x, 0, t.tensor([0.5])),
    "index_select matrix": lambda t, x, i: t.index_select(x, 0, t.tensor([[0]])),
    "gather": lambda t, x, i: t.gather(x, 1, t.tensor([[0, 2], [1, 1]])),
    "gather rows": lambda t, x, i: t.gather(x, 0, t.tensor([[1, 0, 1]])),
    "gather large": lambda t, x, i: t.gather(x, 1, t.tensor([[0], [1], [2]])),
    "gather beyond": lambda t, x, i: t.gather(x, 0, t.tensor([[2]])),
    "gather rank": lambda t, x, i: t.gather(x, 0, i),
    "gather empty": lambda t, x, i: t.gather(x, 0, t.empty(0, 3, dtype=t.int64)),
    "gather 0-d": lambda t, x, i: t.gather(t.tensor(3.0), 0, t.tensor(0)),
    "embedding": lambda t, x, i: t.embedding(x, t.tensor([[0, 1], [1, 1]])),
    "embedding beyond": lambda t, x, i: t.embedding(x, t.tensor([7])),
    "masked_fill": lambda t, x, i: x.masked_fill(x > 2, -1),
    "masked_fill tensor": lambda t, x, i: x.masked_fill(x > 2, t.tensor(9)),
    "masked_fill broadcast": lambda t, x, i: x.masked_fill(t.tensor([True, False, True]), 0),
    "masked_fill_": lambda t, x, i: x.clone().masked_fill_(x > 2, -1),
    "masked_fill wrong": lambda t, x, i: x.masked_fill(i, 1),
    "masked_select": lambda t, x, i: t.masked_select(x, x > 2),
    "masked_select broadcast": lambda t, x, i: x.masked_select(t.tensor([True, False, True])),
    "masked_select wrong": lambda t, x, i: t.masked_select(x, i),
    "nonzero": lambda t, x, i: t.nonzero(x),
    "nonzero none": lambda t, x, i: t.zeros(3).nonzero(),
    "nonzero 0-d": lambda t, x, i: t.tensor(4).nonzero(),
    "index": lambda t, x, i: t.ops.aten.index(x, [None, i]),
    "index_put": lambda t, x, i: t.index_put(x, [t.tensor([0, 1])], t.tensor(5.0)),
    "index_put accumulate": lambda t, x, i: t.index_put(
        x, [t.tensor([0, 0, 1])], t.tensor([1.0, 2.0, 4.0]), accumulate=True
    ),
    "index_put dtype": lambda t, x, i: t.index_put(x, [t.tensor([0, 1])], t.tensor(5)),
    "index_put shape": lambda t, x, i: t.index_put(x, [t.tensor([0, 1])], t.ones(7)),
    "index out": lambda t, x, i: t.index_select(x, 1, i, out=t.empty(0)),
}


@pytest.mark.parametrize("name", INDEXING_OPERATORS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_indexing_operators(name: str, dtype: torch.dtype) -> None:
    if (dtype is torch.complex64 and "> 2" in name) or (
        dtype is not torch.float32 and ("put" in name or "out" in name or "masked" in name)
    ):
        pytest.skip("one dtype is enough")
    base = torch.arange(6).view(2, 3).to(dtype)
    compare(INDEXING_OPERATORS[name], base, torch.tensor([2, 0]), strides=False)


@pytest.mark.parametrize("base", [*BASES, "channels last"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.float32, torch.complex128])
def test_one_index_tensor(base: str, dtype: torch.dtype) -> None:
    last = torch.arange(120.0).view(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    tensor = {**BASES, "channels last": last}[base].to(dtype)

    def expression(t, x):
        index = t.tensor([[0, -1], [1, 0]], dtype=t.int32)
        rows = t.tensor([1, 0, 0, 1])[::2]
        found = [x[index], x[..., index], t.index_select(x, -1, rows)]
        return found if x.dim() < 2 else [*found, x[:, index], x[:, rows, None]]

    compare(expression, tensor, strides=False)


def test_large_takes_are_shared_between_threads() -> None:
    def expression(t):
        table = t.arange(4000).view(1000, 4)
        picked = t.arange(0, 300_000) % 1000
        return table[picked].sum(0), table[:, t.arange(100_000) % 4].sum(1)

    compare(expression)


def test_iteration_and_membership() -> None:
    def expression(t, x):
        return [row.tolist() for row in x], [a.item() for a in x[0]], len(x), 3.0 in x, 99 in x

    compare(expression, torch.arange(6.0).view(2, 3))


def test_meta_indices() -> None:
    def expression(t, x, i):
        return x[i, :, i], x[:, i, 0], x[None, i]

    compare(expression, torch.empty(3, 4, 5, device="meta"), torch.tensor([0, 1]).to("meta"))
