"""The walks that pick and place by index: order, threads, and what callers must not do."""

import pytest

import aten
from aten._core import locating, masks, picking, searching


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    before = aten.get_num_threads()
    aten.set_num_threads(request.param)
    yield request.param
    aten.set_num_threads(before)


def numbers(count, modulus):
    return (aten.arange(count) * 7919 % modulus).contiguous()


def test_the_last_of_several_stays(threads) -> None:
    index = numbers(200_000, 100)
    last = {place: at for at, place in enumerate(index.tolist())}
    expected = [last[place] for place in range(100)]
    values = aten.arange(200_000)
    assert aten.zeros(100, dtype=aten.int64).index_put_((index,), values).tolist() == expected
    rows = values.view(-1, 1).expand(200_000, 3)
    placed = aten.zeros(100, 3, dtype=aten.int64).index_copy_(0, index, rows)
    assert placed[:, 2].tolist() == expected


def test_sums_have_the_same_bits_for_any_number_of_threads() -> None:
    index = numbers(60_000, 50)
    rows = (aten.arange(240_000.0).view(60_000, 4) * 0.37).sin()
    before = aten.get_num_threads()
    found = []
    for count in (1, 2, 5):
        aten.set_num_threads(count)
        by_row = aten.zeros(50, 4).index_add_(0, index, rows)
        by_element = aten.zeros(4, 60_000).scatter_add_(
            1, numbers(240_000, 60_000).view(4, -1), rows.t()
        )
        found.append((by_row.tolist(), by_element.tolist()))
    aten.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_nonzero_finds_all(threads) -> None:
    mask = numbers(100_000, 17).view(100, 1000) == 3
    found = aten.nonzero(mask)
    assert found.size(0) == int(mask.sum().item())
    assert bool(mask[found[:, 0], found[:, 1]].all())
    flat = (found[:, 0] * 1000 + found[:, 1]).tolist()
    assert flat == sorted(flat)


def test_one_failure_writes_nothing() -> None:
    x = aten.zeros(4)
    with pytest.raises(RuntimeError, match="index 9 is out of bounds"):
        x.scatter_add_(0, aten.tensor([0, 1, 9]), aten.ones(3))
    with pytest.raises(IndexError, match="index -5 is out of bounds"):
        x[aten.tensor([0, -5])] = 1.0
    assert x.tolist() == [0.0] * 4


def test_versions_count_writes() -> None:
    x = aten.zeros(4)
    before = x._version
    x[0] = 1.0
    x.scatter_(0, aten.tensor([1]), 2.0)
    assert x._version > before + 1


@pytest.mark.parametrize("value", [2.5, 1, True, 10**400])
@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "int64", "int8", "uint8", "bool", "uint32"]
)
def test_a_written_number_is_what_fill_makes_of_it(value, dtype) -> None:
    def outcome(write):
        x = aten.zeros(3, dtype=getattr(aten, dtype))
        try:
            write(x)
        except Exception as error:
            return type(error)
        return x.tolist()

    assert outcome(lambda x: x.__setitem__(1, value)) == outcome(lambda x: x[1].fill_(value))


def test_walks_refuse_operands_of_several_shapes() -> None:
    base, index = aten.zeros(3), aten.zeros(3, dtype=aten.int64)
    for wrong in (
        lambda: picking.pick(base, index, aten.zeros(2), 1),
        lambda: picking.pick(base, index.to(aten.int32), aten.zeros(3), 1),
        lambda: picking.place(base, index, aten.zeros(3, dtype=aten.float64), 1),
        lambda: masks.positions(base, True),
        lambda: locating.range_of(base, 0, 3),
        lambda: searching.search_sorted(base, base, None, aten.zeros(3), False),
        lambda: searching.search_sorted(base[::2], base, None, index, False),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(NotImplementedError):
        picking.fold(base.to(aten.complex64), index, base.to(aten.complex64), 0, "amax")


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i, meta: x[meta],
        lambda x, i, meta: x[meta, i],
        lambda x, i, meta: x.index_fill_(0, meta, 1.0),
        lambda x, i, meta: x.index_add_(0, meta, x[:1].clone()),
        lambda x, i, meta: x.index_put_((i,), x[0].to("meta")),
        lambda x, i, meta: x.scatter_(0, meta.view(1, 1), 1.0),
        lambda x, i, meta: x.take(meta),
        lambda x, i, meta: x.put_(i, x.to("meta")[0, :1]),
        lambda x, i, meta: x.masked_scatter_(x == 0, x.to("meta")),
    ],
)
def test_operands_without_memory_are_refused_or_give_none(call) -> None:
    x, index = aten.zeros(3, 2), aten.zeros(1, dtype=aten.int64)
    try:
        found = call(x, index, index.to("meta"))
    except (RuntimeError, NotImplementedError):
        found = None
    assert found is None or found.shape
    assert x.tolist() == [[0.0, 0.0]] * 3
