"""The walks that pick and place by index: order, threads, and what callers must not do."""

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.indexing import locating, masks, picking, searching


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
        lambda: picking.pick(base, index, aten.zeros(2), 1, 3),
        lambda: picking.pick(base, index.to(aten.int32), aten.zeros(3), 1, 3),
        lambda: picking.place(base, index, aten.zeros(3, dtype=aten.float64), 1, 3),
        lambda: masks.positions(base, True),
        lambda: locating.range_of(base, 0, 3),
        lambda: searching.search_sorted(base, base, None, aten.zeros(3), False),
        lambda: searching.search_sorted(base[::2], base, None, index, False),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(NotImplementedError):
        picking.fold(base.to(aten.complex64), index, base.to(aten.complex64), 0, "amax", 3)


WILD = (1 << 40, -(1 << 40), 5, -1, -(1 << 63))
ELEMENTS = ("uint8", "float16", "bfloat16", "int32", "float32", "float64", "complex128")


@pytest.mark.parametrize("stride", [0, 1, 2])
@pytest.mark.parametrize("element", ELEMENTS)
def test_an_index_that_became_wild_counts_as_the_first(element: str, stride: int) -> None:
    for wild in WILD:
        listed = [wild] * 8 if stride == 0 else [3, wild, 1, 4, wild, 0, 2, wild]
        index = aten.tensor(listed).as_strided((4,), (stride,))
        named = [place if 0 <= place < 5 else 0 for place in index.tolist()]
        base = aten.arange(1, 6).to(getattr(aten, element))
        window, given = base.as_strided((4,), (0,)), aten.ones(4).to(base.dtype)
        picked = aten.zeros(4).to(base.dtype)
        picking.pick(window, index, picked, 1, 5)
        assert picked.tolist() == [base.tolist()[place] for place in named]
        picking.fold(window, index, given, 1, "sum", 5)
        assert base.tolist() == [place + 1 + named.count(place) for place in range(5)]
        picking.place(window, index, given, 1, 5)
        assert all(base.tolist()[place] == 1 for place in named)
        assert (base == 1).sum().item() == len(set(named))


def test_offsets_of_indices_that_became_wild() -> None:
    index, offsets = aten.tensor([*WILD, -2, 2]), aten.zeros(7, dtype=aten.int64)
    locating.add_offsets(offsets, index, 4, 10)
    assert offsets.tolist() == [0, 0, 0, 30, 0, 20, 20]
    base = aten.arange(4).view(2, 2).t()
    assert locating.spread_offsets(index, base).tolist() == [0, 0, 0, 3, 0, 1, 1]


def test_a_wrong_index_that_is_not_there_any_more() -> None:
    assert locating.wrong_index(aten.tensor([0, 7, 9]), 0, 5) == 7
    assert locating.wrong_index(aten.tensor([0, 1]), 0, 5) == "that was changed meanwhile"


def test_no_place_of_a_sorter_is_outside() -> None:
    values, out = aten.arange(5.0), aten.zeros(5, dtype=aten.int64)
    for wild in (5, *WILD):
        order = aten.tensor([0, 1, 2, 3, wild])
        with pytest.raises(RuntimeError, match="from 0 to 4"):
            searching.search_sorted(values, values, order, out, False)
    assert out.tolist() == [0] * 5


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


@pytest.mark.parametrize("element", ["uint8", "float32", "int64", "complex128"])
@pytest.mark.parametrize("shape", [(200, 300), (30, 300), (150, 1100)])
def test_strips_of_columns(element, shape):
    """Indices along rows that are far apart; all else stays."""
    generator = numpy.random.default_rng(0)
    table = generator.integers(0, 100, (200, shape[1] + 3)).astype(element)
    index = generator.integers(0, 200, shape)
    source = generator.integers(0, 100, shape).astype(element)
    before = aten.get_num_threads()
    columns = numpy.broadcast_to(numpy.arange(shape[1]), shape)
    added, placed = table.copy(), table.copy()
    numpy.add.at(added, (index, columns), source)
    for row in range(shape[0]):
        placed[index[row], columns[row]] = source[row]
    try:
        for threads in (1, 4):
            aten.set_num_threads(threads)
            given = [aten.from_numpy(one) for one in (table, index, source)]
            for places in (given[1], given[1].to(aten.int32)):
                found = aten.gather(given[0], 0, places)
                assert (numpy.asarray(found) == table[index, columns]).all()
                found = aten.scatter(given[0], 0, places, given[2])
                assert (numpy.asarray(found) == placed).all()
                found = aten.scatter_add(given[0], 0, places, given[2])
                assert (numpy.asarray(found) == added).all()
    finally:
        aten.set_num_threads(before)


def test_a_call_that_is_not_ordinary_is_refused_as_ever():
    table, index = aten.zeros(3, 4), aten.tensor([[0, 3]])
    for call, error, text in (
        (lambda: aten.gather(table, 0, index), RuntimeError, "index 3 is out of bounds"),
        (lambda: aten.gather(table, 2, index), IndexError, "out of range"),
        (lambda: aten.gather(table, 0, index.float()), RuntimeError, "int32 or int64"),
        (lambda: table[aten.tensor([3])], IndexError, "index 3 is out of bounds"),
        (lambda: table[aten.tensor([True, False])], IndexError, "mask"),
        (lambda: aten.index_select(table, 1, aten.tensor([-1])), IndexError, "index -1"),
        (lambda: aten.topk(table, 5), RuntimeError, "k must be within"),
        (lambda: aten.sort(table.to(aten.complex64)), RuntimeError, "no order"),
        (lambda: aten.masked_select(table, table), RuntimeError, "BoolTensor"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert table[aten.tensor([-1, 0])].shape == (2, 4)


@pytest.mark.parametrize(
    "dtype", [aten.uint8, aten.bfloat16, aten.float32, aten.complex128], ids=str
)
@pytest.mark.parametrize(
    ("shape", "dim", "count"),
    [
        ((300_000,), 0, 20_000),
        ((600, 1024), 1, 1024),
        ((600, 1024), 0, 600),
        ((1000, 40), 0, 500),
        ((2000, 400), 0, 50),
        ((30, 40, 50), 1, 40),
        ((3, 20_000, 7), 1, 1000),
        ((1_000_000,), 0, 3),
    ],
    ids=str,
)
def test_copies_that_are_written_to(threads, shape, dim, count, dtype) -> None:
    """Copied part by part or at once, they are what is written to in place."""
    table = numbers(numpy.prod(shape).item(), 101).view(shape).to(dtype)
    sizes = [count if place == dim else size for place, size in enumerate(shape)]
    index = numbers(numpy.prod(sizes).item(), shape[dim]).view(sizes)
    source = numbers(index.numel(), 89).view(sizes).to(dtype)
    before = table.tolist()
    for operator in ("scatter", "scatter_add"):
        expected = getattr(table.clone(), operator + "_")(dim, index, source)
        assert aten.equal(getattr(table, operator)(dim, index, source), expected)
    for fold in ("sum", "prod") if dtype.is_complex else ("sum", "prod", "amin", "amax"):
        expected = table.clone().scatter_reduce_(dim, index, source, fold)
        assert aten.equal(table.scatter_reduce(dim, index, source, fold), expected)
    index.view(-1)[count // 2] = shape[dim]
    for operator in (aten.scatter, aten.scatter_add):
        with pytest.raises(RuntimeError, match="out of bounds"):
            operator(table, dim, index, source)
    assert table.tolist() == before
