"""Sums of bags of several tables in one call."""

import pytest

import aten
from aten.backends.cpu.kernels.indexing.bags import sum_bags
from aten.nn import functional

together = aten.ops.fused.embedding_bags


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def shelf(count=7, dtype=aten.float32, integers=aten.int64):
    """Tables of different sizes, and as many bags of each, some of them empty."""
    tables = [aten.randn(40 + at, 3 + 10 * at, dtype=dtype) for at in range(count)]
    indices = [aten.randint(0, 40, (50 + at,), dtype=integers) for at in range(count)]
    offsets = [aten.tensor([0, 3, 3, 20, 31 + at], dtype=integers) for at in range(count)]
    return tables, indices, offsets


def alone(tables, indices, offsets, last=False):
    bag = aten.ops.aten._embedding_bag
    given = zip(tables, indices, offsets, strict=True)
    return [bag(*one, include_last_offset=last)[0] for one in given]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype is other.dtype
        assert one.shape == other.shape
        assert one.numpy().tobytes() == other.numpy().tobytes()


@pytest.mark.parametrize("integers", [aten.int32, aten.int64])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", [aten.float32, aten.float64, aten.float16])
def test_it_is_each_of_them(dtype, last, integers):
    given = shelf(7, dtype, integers)
    expected = alone(*given, last)
    for threads in (1, 2, 3):
        aten.set_num_threads(threads)
        assert_same(together(*given, last), expected)
    assert (sum_bags(*given, int(last)) is None) is (dtype is not aten.float32)


def test_many_bags_are_shared_by_threads():
    tables = [aten.randn(1000, 64) for _ in range(5)]
    indices = [aten.randint(0, 1000, (3000,)) for _ in range(5)]
    offsets = [aten.arange(0, 3000, 3 + at) for at in range(5)]
    expected = alone(tables, indices, offsets)
    for threads in (1, 2, 5):
        aten.set_num_threads(threads)
        made = sum_bags(tables, indices, offsets, 0)
        assert made is not None
        assert_same(made, expected)


def test_layouts():
    tables, indices, offsets = shelf(4)
    laid = aten.randint(0, 40, (50, 4))
    apart = [laid.select(1, at) for at in range(4)]
    assert_same(together(tables, apart, offsets), alone(tables, apart, offsets))
    assert_same(alone(tables, apart, offsets), alone(tables, [a.clone() for a in apart], offsets))
    turned = [table.t().contiguous().t() for table in tables]
    assert_same(together(turned, indices, offsets), alone(turned, indices, offsets))
    parts = [aten.randn(50, 200)[:, 5:90] for _ in tables]
    assert_same(together(parts, indices, offsets), alone(parts, indices, offsets))
    repeated = [aten.tensor([7]).expand(50) for _ in tables]
    assert_same(together(tables, repeated, offsets), alone(tables, repeated, offsets))


def test_none_and_nothing():
    assert together([], [], []) == []
    tables, indices, offsets = shelf(3)
    nothing = [one[:0] for one in indices]
    begins = [aten.tensor([0, 0]) for _ in offsets]
    assert_same(together(tables, nothing, begins), alone(tables, nothing, begins))
    no_bags = [one[:0] for one in offsets]
    assert_same(together(tables, nothing, no_bags), alone(tables, nothing, no_bags))


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (1, aten.tensor([0, 1, 40, 2]), "out of range"),
        (1, aten.tensor([0, 1, -1, 2]), "out of range"),
        (1, aten.tensor([0.5]), "scalar types"),
        (2, aten.tensor([0, 3, 2]), "do not fall"),
        (2, aten.tensor([1, 3]), "begin with 0"),
        (2, aten.tensor([0, 300]), "number of indices"),
    ],
)
def test_what_is_wrong_is_refused_as_alone(place, wrong, message):
    given = shelf(3)
    given[0][1] = given[0][1][:40]
    given[place][1] = wrong
    for call in (alone, together):
        with pytest.raises((RuntimeError, IndexError), match=message):
            call(*given)


def test_lists_of_different_lengths():
    tables, indices, offsets = shelf(3)
    with pytest.raises(RuntimeError, match="2 and 3 for 3 tables"):
        together(tables, indices[:2], offsets)


def targets(compiled):
    return [node.target for node in compiled.programs()[0].graph.nodes]


def bags(tables, places, offsets, mode="sum"):
    return [
        functional.embedding_bag(places[at], table, offsets, mode=mode)
        for at, table in enumerate(tables)
    ]


def operands(count):
    tables = [aten.randn(20, 6) for _ in range(count)]
    return tables, aten.randint(0, 20, (count, 9)), aten.tensor([0, 4, 5])


@pytest.mark.parametrize(("count", "is_one"), [(2, False), (3, True), (26, True)])
def test_compiled_programs_call_them_at_once(count, is_one):
    def function(tables, places, offsets):
        return aten.cat([one * 2 for one in bags(tables, places, offsets)], 1)

    given = operands(count)
    compiled = aten.compile(function)
    with aten.no_grad():
        assert aten.equal(compiled(*given), function(*given))
    called = targets(compiled)
    assert called.count("fused.embedding_bags.default") == is_one
    assert called.count("aten._embedding_bag.default") == (0 if is_one else count)


def test_bags_that_wait_for_others_come_after_them():
    def function(tables, places, offsets):
        first = bags(tables, places, offsets)
        more = (first[0].sum(1) > 0).long().repeat(3)
        chosen = aten.stack([(one + more) % 20 for one in places])
        second = bags(tables, chosen, offsets)
        return aten.stack(first), aten.stack(second), second[1] - first[2]

    given = operands(4)
    compiled = aten.compile(function)
    with aten.no_grad():
        for one, other in zip(compiled(*given), function(*given), strict=True):
            assert aten.equal(one, other)
    assert targets(compiled).count("fused.embedding_bags.default") == 2


def test_what_is_no_plain_sum_stays_as_it_is():
    def means(tables, places, offsets):
        return bags(tables, places, offsets, "mean")

    def sizes(tables, places, offsets):
        bag = aten.ops.aten._embedding_bag
        return [bag(table, one, offsets)[:3] for table, one in zip(tables, places, strict=True)]

    for function in (means, sizes):
        compiled = aten.compile(function)
        with aten.no_grad():
            compiled(*operands(4))
        assert "fused.embedding_bags.default" not in targets(compiled)


def test_gradients():
    tables, places, offsets = operands(5)
    tables = [table.requires_grad_() for table in tables]

    def function(tables, places, offsets):
        return aten.stack(bags(tables, places, offsets)).square().sum()

    compiled = aten.compile(function)
    found = aten.autograd.grad(compiled(tables, places, offsets), tables)
    expected = aten.autograd.grad(function(tables, places, offsets), tables)
    for one, other in zip(found, expected, strict=True):
        aten.testing.assert_close(one, other)


def test_kernels_that_somebody_registers_are_met():
    given = operands(4)
    compiled = aten.compile(lambda *given: aten.stack(bags(*given)))
    with aten.no_grad():
        expected = compiled(*given)
        library = aten.library.Library("aten", "IMPL", "CPU")
        count = []

        def counted(table, *others):
            count.append(1)
            rows = aten.zeros(3, 6)
            return rows, rows.long()[:, 0], rows.long()[:, 0], rows.long()[:, 0]

        try:
            with pytest.warns(UserWarning, match="is overridden"):
                library.impl("_embedding_bag", counted)
            assert aten.equal(compiled(*given), aten.zeros(4, 3, 6))
        finally:
            library._destroy()
        assert len(count) == 4
        assert aten.equal(compiled(*given), expected)


def test_a_table_that_is_written_to_between():
    def function(tables, places, offsets):
        first = bags(tables[:2], places, offsets)
        tables[0].mul_(2)
        return aten.stack([*first, *bags(tables, places, offsets)])

    given = operands(4)
    other = [one.clone() for one in given[0]], *given[1:]
    with aten.no_grad():
        found, expected = aten.compile(function)(*given), function(*other)
    assert aten.equal(found, expected)
    assert aten.equal(given[0][0], other[0][0])
