"""Moving and folding elements by index, searching, counting, embedding, against torch."""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import compare

torch = pytest.importorskip("torch")

import aten  # noqa: E402

Expression = Callable[..., Any]

DTYPES = (torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.complex64, torch.uint8)
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x,
    "columns": lambda x: x.t().contiguous().t(),
    "every other": lambda x: x.repeat_interleave(2, 1)[:, ::2],
}


def index(t, *numbers, dtype=None):
    return t.tensor(numbers, dtype=dtype or t.int64)


# x is a 4 × 3 matrix; functional, so that the operand is checked to stay what it is.
MOVES: dict[str, Expression] = {
    "gather": lambda t, x: t.gather(x, 0, index(t, [3, 0, 0], [1, 2, 3])),
    "gather narrower": lambda t, x: t.gather(x, 1, index(t, [2], [0])),
    "gather int32": lambda t, x: t.gather(x, -1, index(t, [2, 2, 0, 1], dtype=t.int32)),
    "scatter": lambda t, x: t.scatter(x, 0, index(t, [1, 1, 0], [1, 3, 2]), x[2:]),
    "scatter value": lambda t, x: x.scatter(1, index(t, [0], [2]), 1),
    "scatter add": lambda t, x: t.scatter(x, 0, index(t, [1, 1, 0]), x[3:], reduce="add"),
    "scatter multiply": lambda t, x: x.scatter(1, index(t, [0, 0]), x[2:], reduce="multiply"),
    "scatter value add": lambda t, x: x.scatter(1, index(t, [0, 0]), 1, reduce="add"),
    "scatter_add": lambda t, x: t.scatter_add(x, 1, index(t, [0, 0, 2], [1, 1, 1]), x[1:]),
    "index_add": lambda t, x: t.index_add(x, 0, index(t, 3, 3, 0), x[:3]),
    "index_add alpha": lambda t, x: x.index_add(1, index(t, 2), x[:, :1], alpha=1),
    "index_copy": lambda t, x: t.index_copy(x, 1, index(t, 2, 0), x[:, :2]),
    "index_fill": lambda t, x: x.index_fill(1, index(t, -1, 0), 1),
    "index_fill tensor": lambda t, x: x.index_fill(0, index(t, 2), t.tensor(0)),
    "index_put": lambda t, x: x.index_put((index(t, 0, 2), index(t, 1, -1)), x[0, :2]),
    "index_put adds": lambda t, x: x.index_put((index(t, 1, 1, 1),), x[0], accumulate=True),
    "index_put masks": lambda t, x: x.index_put(
        (t.tensor([True, False, True, False]), index(t, 1)), x[0, 0]
    ),
    "index transposed": lambda t, x: x.t()[:, index(t, 3, 0)],
    "index between": lambda t, x: x[None, :, :, None][:, index(t, 3, 0), :, index(t, 0)],
    "index by mask": lambda t, x: x[t.tensor([[True, False, True]] * 4)],
    "put": lambda t, x: t.put(x, index(t, -1, 3, 3), x[0]),
    "put adds": lambda t, x: t.put(x, index(t, 3, 3, 3), x[0], accumulate=True),
    "take": lambda t, x: t.take(x, index(t, [-1, 3], [11, 0])),
    "take_along_dim": lambda t, x: t.take_along_dim(x, index(t, [2], [0], [1], [1]), 1),
    "take_along_dim flat": lambda t, x: t.take_along_dim(x.contiguous(), index(t, 11, 0)),
    "masked_fill": lambda t, x: x.masked_fill(t.tensor([True, False, True]), 1),
    "masked_scatter": lambda t, x: x.masked_scatter(t.tensor([True, False, True]), x.flip(0)),
    "masked_select": lambda t, x: x.masked_select(t.tensor([[True], [False], [True], [True]])),
    "nonzero": lambda t, x: (t.nonzero(x), t.nonzero(x, as_tuple=True), t.argwhere(x.t())),
    "nonzero_static": lambda t, x: t.nonzero_static(x, size=3),
    "where": lambda t, x: t.where(x),
    "select_scatter": lambda t, x: t.select_scatter(x, x[0], 0, -1),
    "slice_scatter": lambda t, x: t.slice_scatter(x, x[:2], 0, 1, 99, 2),
    "diagonal_scatter": lambda t, x: t.diagonal_scatter(x, x[0], -1),
    "as_strided_scatter": lambda t, x: t.as_strided_scatter(x, x[0, :2], (2,), (1,), 1),
    "repeat_interleave": lambda t, x: t.repeat_interleave(x, 2, 1),
    "repeat_interleave each": lambda t, x: x.repeat_interleave(index(t, 1, 0, 3), 1),
    "_unsafe_index": lambda t, x: t.ops.aten._unsafe_index(x, [None, index(t, 1, -1)]),
}


@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str, layout: str) -> None:
    for dtype in DTYPES:
        x = LAYOUTS[layout](torch.arange(12).view(4, 3).sub(3).to(dtype))
        # masked_fill keeps the operand's order in memory, which torch's does not.
        compare(MOVES[name], x, strides=name != "masked_fill")


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin", "median"])
def test_folds(reduce: str, include_self: bool) -> None:
    nan = float("nan")
    numbers = torch.tensor([[3.0, -7.0, nan], [2.0, 5.0, 1.0], [-4.0, 0.5, 8.0]])

    def expression(t, x):
        at = index(t, [2, 2, 0], [1, 2, 0], [2, 1, 0])
        scattered = x.scatter_reduce(0, at, x + x, reduce, include_self=include_self)
        if reduce == "sum" or x.dtype in (t.bool, t.complex64):
            return scattered
        places = index(t, 2, 2, 0)
        given = x.index_reduce(1, places, x + x, reduce, include_self=include_self)
        narrow = x.index_reduce(1, places.int(), x + x, reduce, include_self=include_self)
        return scattered, given, narrow

    for dtype in DTYPES:
        compare(expression, numbers.nan_to_num(0).to(dtype), tolerance=1e-6)
    compare(expression, numbers)


WRONG: dict[str, Expression] = {
    "gather beyond": lambda t, x: t.gather(x, 0, index(t, [4])),
    "gather below": lambda t, x: t.gather(x, 0, index(t, [-1])),
    "gather rank": lambda t, x: t.gather(x, 0, index(t, 0)),
    "gather out dtype": lambda t, x: t.gather(x, 0, index(t, [0]), out=t.empty(1, dtype=t.int8)),
    "scatter dtype": lambda t, x: x.scatter_(0, index(t, [0]), t.ones(1, 1, dtype=t.int8)),
    "scatter beyond": lambda t, x: x.scatter_(0, index(t, [0, 1, 9]), 1),
    "scatter larger": lambda t, x: x.scatter_(0, index(t, [0, 1, 2]), x[:1, :2]),
    "scatter reduce": lambda t, x: x.scatter_(0, index(t, [0]), 1, reduce="mean"),
    "scatter itself": lambda t, x: x.scatter_(0, index(t, [1, 0, 0]), x),
    "scatter_add expanded": lambda t, x: x[:1].expand(4, 3).scatter_add_(0, index(t, [0]), x),
    "scatter_reduce": lambda t, x: x.scatter_reduce_(0, index(t, [0]), x.clone(), "add"),
    "index_add below": lambda t, x: x[0].index_add_(0, index(t, 1, -1), x[1, :2]),
    "index_add count": lambda t, x: x.index_add_(0, index(t, 1), x.clone()),
    "index_add shape": lambda t, x: x.index_add_(0, index(t, 1), t.ones(1, 2, dtype=x.dtype)),
    "index_add float": lambda t, x: x.index_add_(0, t.tensor([1.0]), x[:1].clone()),
    "index_copy beyond": lambda t, x: x.index_copy_(0, index(t, 0, 9), x[:2].clone()),
    "index_copy matrix": lambda t, x: x.index_copy_(0, index(t, [0]), x[:1].clone()),
    "index_fill below": lambda t, x: x.index_fill_(0, index(t, 0, -5), 1),
    "index_fill int32": lambda t, x: x.index_fill_(0, index(t, 0, dtype=t.int32), 1),
    "index_fill complex": lambda t, x: x.index_fill_(0, index(t, 0), 1j),
    "index_put beyond": lambda t, x: x.index_put_((index(t, 0, 4),), x[0].clone()),
    "index_put dtype": lambda t, x: x.index_put_((index(t, 0),), t.ones(3, dtype=t.int8)),
    "index_put shape": lambda t, x: x.index_put_((index(t, 0),), x[0, :2].clone()),
    "index_put itself": lambda t, x: x.index_put_((index(t, 1, 0),), x[:2]),
    "put count": lambda t, x: x.put_(index(t, 0, 1), x[0].clone()),
    "put beyond": lambda t, x: x.put_(index(t, 0, 1, 12), x[0].clone()),
    "take beyond": lambda t, x: x.take(index(t, 12)),
    "take int32": lambda t, x: x.take(index(t, 1, dtype=t.int32)),
    "take nothing": lambda t, x: x[:0].take(index(t, 0)),
    "take_along_dim rank": lambda t, x: t.take_along_dim(x, index(t, 1), 0),
    "masked_fill larger": lambda t, x: x[0].masked_fill_(t.ones(2, 3) > 0, 1),
    "masked_fill complex": lambda t, x: x.masked_fill_(x > 0, 1j),
    "masked_scatter few": lambda t, x: x.masked_scatter_(x == x, x[0].clone()),
    "masked_scatter mask": lambda t, x: x.masked_scatter_(x, x.clone()),
    "select_scatter shape": lambda t, x: t.select_scatter(x, x[0, :2], 0, 0),
    "nonzero_static": lambda t, x: t.nonzero_static(x, size=-1),
    "searchsorted rows": lambda t, x: t.searchsorted(x, x[0]),
    "searchsorted side": lambda t, x: t.searchsorted(x[0], x, side="both"),
    "searchsorted contradiction": lambda t, x: t.searchsorted(x[0], x, side="left", right=True),
    "searchsorted sorter": lambda t, x: t.searchsorted(x[0], x, sorter=index(t, 0, 1, 3)),
    "bucketize matrix": lambda t, x: t.bucketize(x, x),
    "isin bool": lambda t, x: t.isin(x > 0, x > 0),
    "bincount below": lambda t, x: t.bincount(index(t, 1, -1)),
    "bincount weights": lambda t, x: t.bincount(index(t, 1), x[0]),
    "repeat_interleave below": lambda t, x: x.repeat_interleave(index(t, 1, -1, 1), 1),
    "repeat_interleave count": lambda t, x: x.repeat_interleave(index(t, 1, 1), 1),
    "repeat_interleave size": lambda t, x: x.repeat_interleave(2, 1, output_size=5),
    "unravel_index float": lambda t, x: t.unravel_index(t.tensor([1.0]), (2, 2)),
    "unravel_index negative": lambda t, x: t.unravel_index(index(t, 1), (2, -2)),
    "one_hot below": lambda t, x: t.nn.functional.one_hot(index(t, -1)),
    "one_hot beyond": lambda t, x: t.nn.functional.one_hot(index(t, 3), 3),
    "embedding beyond": lambda t, x: t.nn.functional.embedding(index(t, 4), x),
    "embedding padding": lambda t, x: t.nn.functional.embedding(index(t, 0), x, padding_idx=4),
    "embedding_bag offsets": lambda t, x: t.nn.functional.embedding_bag(
        index(t, 0, 1), x.float(), index(t, 1)
    ),
    "embedding_bag mode": lambda t, x: t.nn.functional.embedding_bag(
        index(t, [0, 1]), x.float(), mode="median"
    ),
    "embedding_bag backwards": lambda t, x: t.nn.functional.embedding_bag(
        index(t, 0, 1, 2, 1), x.float(), index(t, 0, 3, 1)
    ),
    "embedding_bag far offset": lambda t, x: t.nn.functional.embedding_bag(
        index(t, 0, 1, 2, 1), x.float(), index(t, 0, 7, 4), mode="max"
    ),
    "segment_reduce offsets": lambda t, x: t.segment_reduce(
        x.float(), "sum", offsets=index(t, 0, 3, 2, 4)
    ),
    "segment_reduce lengths": lambda t, x: t.segment_reduce(
        x.float(), "sum", lengths=index(t, 1, 2)
    ),
}


@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.parametrize("name", WRONG)
def test_refusals_leave_operands_alone(name: str) -> None:
    for dtype in (torch.float32, torch.int64):
        x = torch.arange(12).view(4, 3).to(dtype)
        with pytest.raises(Exception) as theirs:
            WRONG[name](torch, x.clone())
        ours = aten.arange(12).view(4, 3).to(getattr(aten, str(dtype).removeprefix("torch.")))
        with pytest.raises(theirs.type):
            WRONG[name](aten, ours)
        assert ours.tolist() == x.tolist()


EXPANDED: dict[str, Expression] = {
    "fill_": lambda t, e: e.fill_(2),
    "zero_": lambda t, e: e.zero_(),
    "masked_fill_": lambda t, e: e.masked_fill_(t.tensor([[False], [True]]), 3),
    "index_fill_": lambda t, e: e.index_fill_(1, index(t, 0), 3),
    "index_put_": lambda t, e: e.index_put_((index(t, 1),), t.tensor(4.0)),
    "setitem": lambda t, e: e.__setitem__(index(t, 0), 5.0) or e,
    "fill_ tensor": lambda t, e: e.fill_(t.tensor(2.0)),
    "copy_": lambda t, e: e.copy_(t.ones(3)),
    "add_": lambda t, e: e.add_(1),
}


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("name", EXPANDED)
def test_writing_to_elements_that_share_memory(name: str) -> None:
    compare(lambda t: EXPANDED[name](t, t.tensor([[1.0, 2.0, 0.0]]).expand(2, 3)))


SEARCHES: dict[str, Expression] = {
    "vector": lambda t, s: t.searchsorted(s[0], s),
    "rows": lambda t, s: t.searchsorted(s, s.flip(1), right=True),
    "number": lambda t, s: t.searchsorted(s[0], 2.5, side="right"),
    "sorter": lambda t, s: t.searchsorted(s.flip(1), s, sorter=index(t, *[[3, 2, 1, 0]] * 2)),
    "int32": lambda t, s: t.searchsorted(s, s, out_int32=True),
    "two dtypes": lambda t, s: t.searchsorted(s[0], t.tensor([1.5, float("nan"), 2.0])),
    "bucketize": lambda t, s: (t.bucketize(s.t(), s[1]), t.bucketize(2, s[1], right=True)),
    "isin": lambda t, s: (t.isin(s, s[0]), t.isin(s, s[0], invert=True), t.isin(2, s)),
    "isin number": lambda t, s: t.isin(s, 2),
    "isin many": lambda t, s: t.isin(s, t.arange(3, 300).to(s.dtype)),
}


@pytest.mark.filterwarnings("ignore:torch.searchsorted")
@pytest.mark.parametrize("name", SEARCHES)
def test_searches(name: str) -> None:
    rows = torch.tensor([[1, 2, 2, 9], [-3, 0, 2, 4]])
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int8):
        compare(SEARCHES[name], rows.to(dtype))


COUNTS: dict[str, Expression] = {
    "bincount": lambda t: t.bincount(index(t, 3, 1, 1), minlength=6),
    "bincount weights": lambda t: t.bincount(index(t, 3, 1, 1), t.tensor([0.5, 1.0, 2.0])),
    "bincount doubles": lambda t: t.bincount(index(t, 0, 0), index(t, 5, 7)),
    "bincount nothing": lambda t: t.bincount(t.empty(0, dtype=t.int64), minlength=2),
    "repeats": lambda t: t.repeat_interleave(index(t, 2, 0, 3)),
    "repeats int32": lambda t: t.repeat_interleave(index(t, 1, 2, dtype=t.int32)),
    "unravel_index": lambda t: t.unravel_index(index(t, [5, -1], [23, 7]), (2, 3, 4)),
    "one_hot": lambda t: t.nn.functional.one_hot(index(t, [0, 2], [1, 1])),
    "one_hot wide": lambda t: t.nn.functional.one_hot(index(t, 3), 5),
    "count_nonzero": lambda t: t.count_nonzero(index(t, [0, 2], [1, 1]), 0),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    compare(COUNTS[name])


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments(reduce: str) -> None:
    data = torch.arange(24.0).view(2, 4, 3) - 7

    def expression(t, x):
        return (
            t.segment_reduce(x, reduce, lengths=index(t, 0, 2)),
            t.segment_reduce(x, reduce, lengths=index(t, 0, 2), initial=2),
            t.segment_reduce(x, reduce, lengths=index(t, [1, 3], [4, 0]), axis=1),
            t.segment_reduce(x[0], reduce, offsets=index(t, 1, 1, 3)),
        )

    for dtype in (torch.float32, torch.float64):
        compare(expression, data.to(dtype), tolerance=1e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    table = torch.arange(15.0).view(5, 3).sin()

    def expression(t, table):
        bag = t.nn.functional.embedding_bag
        indices, offsets = index(t, 4, 1, 1, 0, 3), index(t, 0, 2, 2)
        weights = t.arange(5.0).view(1, 5) if mode == "sum" else None
        return (
            bag(indices, table, offsets, mode=mode),
            bag(indices, table, index(t, 0, 2, 5), mode=mode, include_last_offset=True),
            bag(indices, table, offsets, mode=mode, padding_idx=1),
            bag(indices.view(1, 5), table, mode=mode, per_sample_weights=weights),
            t._embedding_bag(table, indices, offsets, False, 2)[1:],
        )

    compare(expression, table, tolerance=1e-6)


@pytest.mark.parametrize("padding", [-1, 1])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("ends", [(0, 2, 2), (0, 2, 5)])
def test_gradients_of_bags(mode: int, padding: int, ends: tuple[int, ...]) -> None:
    table = torch.arange(15.0).view(5, 3).sin()

    def expression(t, table):
        indices, offsets, last = index(t, 4, 1, 1, 0, 3), index(t, *ends), ends[-1] == 5
        weights = None if mode else t.arange(5.0).cos()
        given = indices, offsets, False, mode, False, weights, last, padding
        bags, *found = t.ops.aten._embedding_bag(table, *given)
        grad = bags.cos()
        rest = 5, False, mode, False, weights, padding
        made = t.ops.aten._embedding_bag_backward(grad, indices, offsets, *found, *rest)
        if mode:
            return made
        per_sample = t.ops.aten._embedding_bag_per_sample_weights_backward
        return made, per_sample(grad, table, indices, offsets, found[0], 0, padding)

    compare(expression, table, tolerance=1e-6)


def test_gradients_of_bags_by_how_often_rows_were_used() -> None:
    # torch divides by the counts of other rows here, once a row was used twice.
    grad, none = aten.ones(1, 2), aten.zeros(0, dtype=aten.int64)
    indices, offsets = aten.tensor([3, 3, 0]), aten.tensor([0])
    backward = aten.ops.aten._embedding_bag_backward
    made = backward(grad, indices, offsets, none, none, none, 4, True, 0, False, None)
    assert made.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]
    with pytest.raises(NotImplementedError, match="no sparse gradients"):
        backward(grad, indices, offsets, none, none, none, 4, False, 0, True, None)
    with pytest.raises(RuntimeError, match="mode is 0"):
        backward(grad, indices, offsets, none, none, none, 4, False, 3, False, None)


def test_embedding_scales_long_rows_in_place() -> None:
    def expression(t, table):
        kept = table.clone()
        return t.nn.functional.embedding(index(t, 1, 1, 3), kept, max_norm=1.0), kept

    compare(expression, torch.arange(12.0).view(4, 3), tolerance=1e-6)


def test_shapes_on_the_meta_device() -> None:
    def expression(t, x, i):
        return (
            t.gather(x, 1, i),
            x.scatter(0, i, 1.0),
            x.index_add(0, i[0], x[:3]),
            t.index_put(x, (i[0],), x[0]),
            x.take(i),
            x.masked_fill(x > 0, 1),
            t.select_scatter(x, x[0], 0, 1),
        )

    compare(expression, torch.empty(4, 3, device="meta"), torch.zeros(2, 3, dtype=int).to("meta"))
