"""Operators whose indices, masks, offsets and counts another process changes during the calls.

A table that is indexed lies between pages that cannot be touched, so that reads near by are found
as well. Run as a script with names of recipes, it prints for each one what became of it, as a line
of JSON.
"""

from __future__ import annotations

import functools
import json
import mmap
import sys
from collections.abc import Callable
from typing import Any

import numpy
from changing_memory import Array, Check, Recipe, Values, outcomes, table

import aten

FAR = 1 << 40
_PAGE = mmap.PAGESIZE
_A = aten.ops.aten


# Values


def _with(good: Array, *numbers: float) -> Values:
    """Each number everywhere, at the end, and in the middle."""
    wild = []
    for number in numbers:
        wild.append(numpy.full_like(good, number))
        for place in (good.size - 1, good.size // 2):
            spoilt = good.copy()
            spoilt.reshape(-1)[place] = number
            wild.append(spoilt)
    return Values(good, wild)


def places(count: int | tuple[int, ...], below: int, element: str = "int64") -> Values:
    """Indices into a dimension; wild ones are far away, near its ends, or some pages away."""
    generator = numpy.random.default_rng(0)
    far = FAR if element == "int64" else (1 << 31) - 1
    good = generator.integers(0, below, count).astype(element)
    return _with(good, far, -far, below, -1 - below, below + 3 * _PAGE, -3 * _PAGE)


def negative_places(count: int, below: int) -> Values:
    values = places(count, below)
    values.good -= below
    return values


def mask(*shape: int) -> Values:
    """Few elements, or all, or every other one."""
    good = numpy.zeros(shape, bool)
    good.reshape(-1)[:: max(good.size // FEW, 1)] = True
    other = numpy.zeros(shape, bool)
    other.reshape(-1)[1::2] = True
    return Values(good, [numpy.ones(shape, bool), other, numpy.zeros(shape, bool)])


def given(listed: Any, *numbers: float, element: str = "int64") -> Values:
    return _with(numpy.array(listed, element), *numbers)


# What holds


def _all_in(*allowed: float) -> Check:
    """Whether all elements of a result are among a few numbers."""

    def holds(result: aten.Tensor) -> bool:
        found = numpy.asarray(result.detach() if hasattr(result, "detach") else result)
        return bool(numpy.isin(found, allowed).all())

    return holds


def _below(*sizes: int) -> Check:
    """Whether each column of a result has indices of its dimension only."""

    def holds(result: aten.Tensor) -> bool:
        rows = numpy.asarray(result).reshape(-1, len(sizes))
        return bool(((rows >= 0) & (rows < sizes)).all())

    return holds


# Recipes, by overload; after a space there may be what is special about one.

ROWS = 100
COUNT = 64
FEW = 64
MANY = 1 << 18

_vector = functools.partial(places, COUNT, ROWS)
_square = functools.partial(places, (8, 8), 8)


def _updated(name: str, *rest: Any, rank: int = 1, **options: Any) -> Callable[[aten.Tensor], Any]:
    """A call that writes to a table along its first dimension: (self, 0, index, *rest)."""

    def call(index: aten.Tensor) -> Any:
        shape = (8, 8) if rank == 2 else (ROWS,)
        made = [table(*tuple(index.shape), start=1) if one is SOURCE else one for one in rest]
        return getattr(_A, name)(table(*shape), 0, index, *made, **options)

    return call


SOURCE = object()


def _moving() -> dict[str, Recipe]:
    return {
        "gather": Recipe(_vector(), lambda i: _A.gather(table(ROWS), 0, i)),
        "gather two": Recipe(_square(), lambda i: _A.gather(table(8, 8), 0, i)),
        "gather narrow": Recipe(_vector("int32"), lambda i: _A.gather(table(ROWS), 0, i)),
        "take": Recipe(_vector(), lambda i: _A.take(table(ROWS), i)),
        "take negative": Recipe(negative_places(COUNT, ROWS), lambda i: _A.take(table(ROWS), i)),
        "take turned": Recipe(
            places(COUNT, 200), lambda i: _A.take(table(10, 20).transpose(0, 1), i)
        ),
        "take_along_dim": Recipe(_square(), lambda i: _A.take_along_dim(table(8, 8), i, 1)),
        "index_select": Recipe(_vector(), lambda i: _A.index_select(table(ROWS), 0, i)),
        "index_select rows": Recipe(_vector(), lambda i: _A.index_select(table(ROWS, 32), 0, i)),
        "index_select narrow": Recipe(
            _vector("int32"), lambda i: _A.index_select(table(ROWS), 0, i)
        ),
        "index_select columns": Recipe(
            places(COUNT, 30), lambda i: _A.index_select(table(9, 30), 1, i)
        ),
        "index_select many": Recipe(
            places(1 << 16, ROWS), lambda i: _A.index_select(table(ROWS, 8), 0, i)
        ),
        "embedding": Recipe(_vector(), lambda i: _A.embedding(table(ROWS, 16), i)),
        "embedding_renorm_": Recipe(
            _vector(), lambda i: _A.embedding_renorm_(table(ROWS, 16), i, 1.0, 2.0)
        ),
        "index.Tensor": Recipe(_vector(), lambda i: table(ROWS)[i]),
        "index.Tensor negative": Recipe(negative_places(COUNT, ROWS), lambda i: table(ROWS)[i]),
        "index.Tensor two": Recipe(_square(), lambda i: table(8, 8)[i, i]),
        "index.Tensor second": Recipe(places(COUNT, 9), lambda i: table(9, 9)[:, i]),
        "index.Tensor mask": Recipe(mask(MANY), lambda m: table(MANY)[m], _all_in(0.5, 0)),
        "index.Tensor rows": Recipe(mask(1 << 14), lambda m: table(1 << 14, 2)[m]),
        "_unsafe_index.Tensor": Recipe(
            _square(), lambda i: _A._unsafe_index.Tensor(table(8, 8), [None, i])
        ),
        "_unsafe_masked_index": Recipe(
            _vector(), lambda i: _A._unsafe_masked_index(table(ROWS), i >= 0, [i], 0)
        ),
        "_unsafe_masked_index_put_accumulate": Recipe(
            _vector(),
            lambda i: _A._unsafe_masked_index_put_accumulate(
                table(ROWS), i >= 0, [i], table(COUNT)
            ),
        ),
        "index_put": Recipe(_vector(), lambda i: _A.index_put(table(ROWS), [i], table(COUNT))),
        "index_put_": Recipe(_vector(), lambda i: _A.index_put_(table(ROWS), [i], table(COUNT))),
        "index_put_ added": Recipe(
            _vector(), lambda i: _A.index_put_(table(ROWS), [i], table(COUNT), True)
        ),
        "index_put_ two": Recipe(
            _square(), lambda i: _A.index_put_(table(8, 8), [i, i], table(8, 8, start=1))
        ),
        "index_put_ mask": Recipe(
            mask(1 << 14), lambda m: _A.index_put_(table(1 << 14), [m], table(FEW))
        ),
        "_index_put_impl_": Recipe(
            _vector(), lambda i: _A._index_put_impl_(table(ROWS), [i], table(COUNT))
        ),
        "_unsafe_index_put": Recipe(
            _vector(), lambda i: _A._unsafe_index_put(table(ROWS), [i], table(COUNT))
        ),
        "put": Recipe(_vector(), lambda i: _A.put(table(ROWS), i, table(COUNT))),
        "put_": Recipe(_vector(), lambda i: _A.put_(table(ROWS), i, table(COUNT), True)),
        "scatter.src": Recipe(_vector(), _updated("scatter_", SOURCE)),
        "scatter.src two": Recipe(_square(), _updated("scatter_", SOURCE, rank=2)),
        "scatter.value": Recipe(_vector(), _updated("scatter_", 1.0)),
        "scatter.reduce": Recipe(_vector(), _updated("scatter_", SOURCE, reduce="add")),
        "scatter.value_reduce": Recipe(_vector(), _updated("scatter_", 1.0, reduce="multiply")),
        "scatter_add": Recipe(_vector(), _updated("scatter_add_", SOURCE)),
        "scatter_add two": Recipe(_square(), _updated("scatter_add_", SOURCE, rank=2)),
        "scatter_reduce.two": Recipe(_vector(), _updated("scatter_reduce_", SOURCE, "amax")),
        "index_add": Recipe(_vector(), _updated("index_add_", SOURCE)),
        "index_copy": Recipe(_vector(), _updated("index_copy_", SOURCE)),
        "index_reduce": Recipe(_vector(), _updated("index_reduce_", SOURCE, "prod")),
        "index_fill.int_Scalar": Recipe(_vector(), _updated("index_fill_", 1.0)),
        "index_fill.int_Tensor": Recipe(
            _vector(), lambda i: _A.index_fill_.int_Tensor(table(ROWS), 0, i, table())
        ),
    }


def _masking() -> dict[str, Recipe]:
    return {
        "masked_select": Recipe(
            mask(MANY), lambda m: _A.masked_select(table(MANY), m), _all_in(0.5, 0)
        ),
        "masked_select wide": Recipe(
            mask(1 << 14), lambda m: _A.masked_select(table(1 << 14, element="complex128"), m)
        ),
        "masked_scatter": Recipe(
            mask(MANY), lambda m: _A.masked_scatter(table(MANY), m, table(FEW))
        ),
        "masked_scatter_": Recipe(
            mask(MANY), lambda m: _A.masked_scatter_(table(MANY), m, table(FEW))
        ),
        "masked_scatter_ wide": Recipe(
            mask(1 << 14),
            lambda m: _A.masked_scatter_(
                table(1 << 14, element="complex128"), m, table(FEW, element="complex128")
            ),
        ),
        "masked_scatter_ turned": Recipe(
            mask(128, 128),
            lambda m: _A.masked_scatter_(table(128, 128).transpose(0, 1), m, table(FEW)),
        ),
        "masked_fill_.Scalar": Recipe(
            mask(MANY), lambda m: _A.masked_fill_(table(MANY), m, 0.5), _all_in(0.5)
        ),
        "masked_fill_.Tensor": Recipe(
            mask(1 << 14), lambda m: _A.masked_fill_(table(1 << 14), m, table())
        ),
        "nonzero": Recipe(mask(MANY), _A.nonzero, _below(MANY)),
        "nonzero two": Recipe(mask(512, 512), _A.nonzero, _below(512, 512)),
        "nonzero_static": Recipe(
            mask(1 << 14), lambda m: _A.nonzero_static(m, size=FEW, fill_value=0), _below(1 << 14)
        ),
        "nonzero numbers": Recipe(given([0, 1] * MANY, 0, 5), _A.nonzero, _below(2 * MANY)),
        "argwhere": Recipe(mask(512, 512), _A.argwhere, _below(512, 512)),
        "where": Recipe(mask(512, 512), lambda m: _A.where(m)),
        "native_dropout_backward": Recipe(
            mask(1 << 14), lambda m: _A.native_dropout_backward(table(1 << 14), m, 2.0)
        ),
        "rrelu training": Recipe(
            given([-1.0, 1.0] * 4096, 1, -1, element="float32"),
            lambda x: _A.rrelu(x, 0.1, 0.3, True),
        ),
    }


def _counting() -> dict[str, Recipe]:
    counts = given([1, 2, 3, 0] * 8, 9, -1, FAR, -FAR, 1 << 20)
    return {
        "bincount": Recipe(_vector(), _A.bincount),
        "bincount weighed": Recipe(_vector(), lambda i: _A.bincount(i, table(COUNT))),
        "one_hot": Recipe(_vector(), _A.one_hot, _all_in(0, 1)),
        "one_hot of some": Recipe(_vector(), lambda i: _A.one_hot(i, ROWS), _all_in(0, 1)),
        "histc": Recipe(
            given([0.5, 0.25] * 64, 1e30, -7, numpy.nan, element="float32"),
            lambda x: _A.histc(x, 10, 0, 1),
        ),
        "histogram.bin_ct": Recipe(
            given([0.5, 0.25] * 64, 1e30, -7, numpy.nan, element="float32"),
            lambda x: _A.histogram(x, 10, range=[0.0, 1.0]),
        ),
        "repeat_interleave.Tensor": Recipe(counts, _A.repeat_interleave),
        "repeat_interleave.self_Tensor": Recipe(
            counts, lambda c: _A.repeat_interleave(table(32), c)
        ),
        "segment_reduce lengths": Recipe(
            given([3, 5, 0, 8] * 4, 17, -1, FAR, -FAR),
            lambda c: _A.segment_reduce(table(64), "sum", lengths=c),
            _all_in(*(0.5 * count for count in range(65))),
        ),
        "segment_reduce": Recipe(
            given([0, 16, 32, 32, 48, 64], 65, -1, FAR, -FAR),
            lambda c: _A.segment_reduce(table(64), "mean", offsets=c),
        ),
        "_unique2": Recipe(
            given([*range(COUNT)], 1, FAR, -FAR), lambda x: _A._unique2(x, True, True, True)
        ),
        "unique_consecutive": Recipe(
            given([*range(COUNT)], 1, FAR, -FAR), lambda x: _A.unique_consecutive(x, True, True)
        ),
        "unique_dim": Recipe(
            given([[1, 2], [3, 4]] * 9, 1, FAR, -FAR), lambda x: _A.unique_dim(x, 0, True, True)
        ),
        "sort": Recipe(given([*range(999)], 1, FAR, -FAR), lambda x: _A.sort(x)),
        "topk": Recipe(given([*range(999)], 1, FAR, -FAR), lambda x: _A.topk(x, 300)),
        "kthvalue": Recipe(given([*range(999)], 1, FAR, -FAR), lambda x: _A.kthvalue(x, 300)),
        "mode": Recipe(given([*range(999)], 1, FAR, -FAR), _A.mode),
        "tensor_split.tensor_indices_or_sections": Recipe(
            places(4, ROWS), lambda i: _A.tensor_split(table(ROWS), i)
        ),
        "floor_divide": Recipe(
            given([3] * 999, 0, -1),
            lambda x: _A.floor_divide(table(999, element="int64", start=-(2**63)), x),
        ),
        "remainder.Tensor": Recipe(
            given([3] * 999, 0, -1),
            lambda x: _A.remainder(table(999, element="int64", start=-(2**63)), x),
        ),
    }


def _searching() -> dict[str, Recipe]:
    def sorted_by(order: aten.Tensor) -> Any:
        return _A.searchsorted.Tensor(table(COUNT), table(16), sorter=order)

    chances = functools.partial(given, [0.5] * COUNT, element="float64")
    return {
        "searchsorted.Tensor": Recipe(places(COUNT, COUNT), sorted_by, _below(COUNT + 1)),
        "searchsorted.Scalar": Recipe(
            places(COUNT, COUNT),
            lambda order: _A.searchsorted.Scalar(table(COUNT), 0.25, sorter=order),
        ),
        "isin.Tensor_Tensor": Recipe(given([*range(COUNT)], 1, FAR, -FAR), lambda x: _A.isin(x, x)),
        "quantile": Recipe(
            chances(5, -5, numpy.nan, 1e18),
            lambda q: _A.quantile(table(ROWS, element="float64"), q),
        ),
        "multinomial": Recipe(chances(0, -5, numpy.nan, 1e300), lambda p: _A.multinomial(p, 9)),
        "multinomial replaced": Recipe(
            chances(0, -5, numpy.nan, 1e300), lambda p: _A.multinomial(p, 9, True)
        ),
        "poisson": Recipe(chances(-5, numpy.nan, 50), lambda rates: _A.poisson(rates)),
        "binomial": Recipe(
            chances(-5, numpy.nan, 5),
            lambda p: _A.binomial(table(COUNT, element="float64", start=40), p),
        ),
        "bernoulli.Tensor": Recipe(
            chances(-5, numpy.nan, 5), lambda p: _A.bernoulli.Tensor(table(COUNT), p)
        ),
    }


def _classes() -> dict[str, Recipe]:
    targets = functools.partial(places, COUNT, 10)
    classes = functools.partial(given, [[*range(5), *[-1] * 5]] * 4, FAR, -FAR, 10)

    def by_class(name: str, *rest: Any, many: bool = False) -> Recipe:
        rows = 8192 if many else COUNT
        call = getattr(_A, name)
        return Recipe(places(rows, 10), lambda target: call(table(rows, 10), target, None, *rest))

    def images(name: str) -> Recipe:
        call = getattr(_A, name)
        return Recipe(
            places((2, 4, 4), 10), lambda target: call(table(2, 10, 4, 4), target, None, 1, -100)
        )

    pieces = given([3, 4, 2, 3], 5, -1, FAR, -FAR)
    return {
        "nll_loss": by_class("nll_loss"),
        "nll_loss_forward": by_class("nll_loss_forward", 0, -100),
        "nll_loss_nd": by_class("nll_loss_nd"),
        "nll_loss_nd weighed": Recipe(
            targets(), lambda target: _A.nll_loss_nd(table(COUNT, 10), target, table(10))
        ),
        "nll_loss2d": images("nll_loss2d"),
        "nll_loss2d_forward": images("nll_loss2d_forward"),
        "cross_entropy_loss": by_class("cross_entropy_loss"),
        "cross_entropy_loss many": by_class("cross_entropy_loss", many=True),
        "multi_margin_loss": Recipe(
            targets(), lambda target: _A.multi_margin_loss(table(COUNT, 10), target)
        ),
        "multilabel_margin_loss": Recipe(
            classes(), lambda target: _A.multilabel_margin_loss(table(4, 10), target)
        ),
        "multilabel_margin_loss_forward": Recipe(
            classes(),
            lambda target: _A.multilabel_margin_loss_forward(table(4, 10), target, 1),
        ),
        "_ctc_loss": Recipe(
            places((4, 5), 10),
            lambda labels: _A._ctc_loss(table(12, 4, 10), labels, [12] * 4, [5, 4, 3, 5]),
        ),
        "_ctc_loss.Tensor": Recipe(
            pieces,
            lambda lengths: _A._ctc_loss.Tensor(
                table(12, 4, 10), table(4, 5, element="int64", start=1), lengths, lengths
            ),
        ),
        "ctc_loss.IntList": Recipe(
            places(12, 10),
            lambda labels: _A.ctc_loss(table(12, 4, 10), labels, [12] * 4, [3, 4, 2, 3]),
        ),
        "ctc_loss.Tensor": Recipe(
            pieces,
            lambda lengths: _A.ctc_loss.Tensor(
                table(12, 4, 10), table(12, element="int64", start=1), lengths + 5, lengths
            ),
        ),
        "binary_cross_entropy": Recipe(
            given([0.5] * COUNT, 5, -5, element="float32"),
            lambda target: _A.binary_cross_entropy(table(COUNT), target),
        ),
        "cosine_embedding_loss": Recipe(
            given([1] * COUNT, -1, 5),
            lambda target: _A.cosine_embedding_loss(table(COUNT, 4), table(COUNT, 4), target),
        ),
    }


def _bags() -> dict[str, Recipe]:
    def bags(name: str, mode: int, what: str, *rest: Any) -> Recipe:
        call = getattr(_A, name)
        indices, offsets = _vector(), given([*range(0, COUNT, 4)], FAR, -FAR, COUNT + 1, -1)

        def by_indices(changing: aten.Tensor) -> Any:
            offsets_given = aten.arange(0, COUNT, 4)
            return call(table(ROWS, 16), changing, offsets_given, False, mode, *rest)

        def by_offsets(changing: aten.Tensor) -> Any:
            rows = table(COUNT, element="int64", start=1)
            return call(table(ROWS, 16), rows, changing, False, mode, *rest)

        if what == "indices":
            return Recipe(indices, by_indices)
        # No bag of an index that nobody wrote.
        return Recipe(offsets, by_offsets, lambda made: _all_in(*range(COUNT))(made[1]))

    return {
        "embedding_bag": bags("embedding_bag", 0, "indices"),
        "embedding_bag maxima": bags("embedding_bag", 2, "indices"),
        "embedding_bag offsets": bags("embedding_bag", 1, "offsets"),
        "embedding_bag.padding_idx": bags("embedding_bag", 0, "offsets", False, None, False, 3),
        "_embedding_bag": bags("_embedding_bag", 2, "offsets"),
        "_embedding_bag_forward_only": bags("_embedding_bag_forward_only", 1, "indices"),
    }


def _pooling() -> dict[str, Recipe]:
    def unpooled(name: str, rank: int, *rest: Any) -> Recipe:
        shape = (3, 2, *([4] * rank))
        call = getattr(_A, name)
        sizes = [8] * rank
        return Recipe(places(shape, 8**rank), lambda i: call(table(*shape), i, sizes, *rest))

    def backward(name: str, rank: int, *rest: Any) -> Recipe:
        shape, image = (3, 2, *([4] * rank)), (3, 2, *([8] * rank))
        call = getattr(_A, name)
        return Recipe(
            places(shape, 8**rank), lambda i: call(table(*shape), table(*image), *rest, i)
        )

    def window(rank: int) -> tuple[Any, ...]:
        return ([2] * rank, [2] * rank, [0] * rank, [1] * rank, False)

    def fractional(rank: int) -> Recipe:
        image = (3, 2, *([8] * rank))
        call = getattr(_A, f"fractional_max_pool{rank}d")
        samples = given([[[0.5] * rank] * 2] * 3, 1e30, -9, numpy.nan, element="float32")
        return Recipe(samples, lambda s: call(table(*image), [2] * rank, [3] * rank, s))

    def sampled(name: str, rank: int, *rest: Any, gradient: bool = False) -> Recipe:
        call = getattr(_A, name)
        image, out = (2, 3, *([8] * rank)), (2, 3, *([4] * rank))
        first = (table(*out),) if gradient else ()
        grid = given(
            numpy.zeros((2, *([4] * rank), rank)), 1e30, -1e30, numpy.nan, 1.1, element="float32"
        )
        return Recipe(grid, lambda g: call(*first, table(*image), g, *rest))

    return {
        "max_unpool2d": unpooled("max_unpool2d", 2),
        "max_unpool3d": unpooled("max_unpool3d", 3, [2] * 3, [0] * 3),
        "max_unpool1d": Recipe(
            places((3, 2, 4), 8), lambda i: aten.nn.functional.max_unpool1d(table(3, 2, 4), i, 2)
        ),
        "max_pool2d_with_indices_backward": backward(
            "max_pool2d_with_indices_backward", 2, *window(2)
        ),
        "max_pool3d_with_indices_backward": backward(
            "max_pool3d_with_indices_backward", 3, *window(3)
        ),
        "fractional_max_pool2d_backward": backward(
            "fractional_max_pool2d_backward", 2, [2, 2], [4, 4]
        ),
        "fractional_max_pool3d_backward": backward(
            "fractional_max_pool3d_backward", 3, [2, 2, 2], [4, 4, 4]
        ),
        "adaptive_max_pool2d_backward": backward("adaptive_max_pool2d_backward", 2),
        "adaptive_max_pool3d_backward": backward("adaptive_max_pool3d_backward", 3),
        "fractional_max_pool2d": fractional(2),
        "fractional_max_pool3d": fractional(3),
        "grid_sampler": sampled("grid_sampler", 2, 2, 2, True),
        "grid_sampler_2d": sampled("grid_sampler_2d", 2, 0, 1, False),
        "grid_sampler_3d": sampled("grid_sampler_3d", 3, 1, 2, True),
        "grid_sampler_2d_backward": sampled(
            "grid_sampler_2d_backward", 2, 0, 0, True, [True, True], gradient=True
        ),
        "grid_sampler_3d_backward": sampled(
            "grid_sampler_3d_backward", 3, 0, 2, True, [True, True], gradient=True
        ),
    }


def _others() -> dict[str, Recipe]:
    def packed(name: str, gates: int, states: int) -> Recipe:
        weights = [table(4 * gates, 4), table(4 * gates, 4)]
        first = table(1, 3, 4) if states == 1 else [table(1, 3, 4)] * states
        call = getattr(_A, name).data
        options = (weights, False, 1, 0.0, False, False)
        return Recipe(
            given([3, 2, 1], 9, -1, FAR, -FAR),
            lambda sizes: call(table(6, 4), sizes, first, *options),
        )

    rows = given([[1, 2, 3]] * 2, 0, -1, 4, 1 << 30, -(1 << 30), element="int32")
    factors = functools.partial(table, 2, 3, 3, element="float64")
    sides = functools.partial(table, 2, 3, 1, element="float64")
    return {
        "gru.data": packed("gru", 3, 1),
        "lstm.data": packed("lstm", 4, 2),
        "rnn_relu.data": packed("rnn_relu", 1, 1),
        "rnn_tanh.data": packed("rnn_tanh", 1, 1),
        "linalg_ldl_solve": Recipe(rows, lambda p: _A.linalg_ldl_solve(factors(), p, sides())),
        "linalg_lu_solve": Recipe(rows, lambda p: _A.linalg_lu_solve(factors(), p, sides())),
        "lu_solve": Recipe(rows, lambda p: _A.lu_solve(sides(), factors(), p)),
        "lu_unpack": Recipe(rows, lambda p: _A.lu_unpack(factors(), p)),
        "Generator.set_state": Recipe(
            given(numpy.asarray(aten.Generator().get_state()), 1, 200, element="uint8"),
            lambda state: aten.randn(9, generator=aten.Generator().set_state(state)),
        ),
    }


def recipes() -> dict[str, Recipe]:
    """Every recipe by its name: an overload's, which more may follow after a space."""
    made: dict[str, Recipe] = {}
    for part in (_moving, _masking, _counting, _searching, _classes, _bags, _pooling, _others):
        made |= part()
    return made


if __name__ == "__main__":
    every = recipes()
    for outcome in outcomes(every, sys.argv[1:] or list(every)):
        print(json.dumps(outcome), flush=True)
