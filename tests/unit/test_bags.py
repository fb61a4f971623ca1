"""Sums, means and maxima of bags of rows, against the same in NumPy, row by row."""

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.indexing.bags import fold_bags


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def folded(table, bags, mode, weights):
    """The fold of each bag of (place, index), in the order of its rows."""
    made = numpy.zeros((len(bags), table.shape[1]), table.dtype)
    for bag, chosen in enumerate(bags):
        if mode == 2 and chosen:
            made[bag] = numpy.maximum.reduce([table[index] for _, index in chosen])
            continue
        for place, index in chosen:
            scaled = table[index] if weights is None else table[index] * weights[place]
            made[bag] += scaled
        if mode == 1:
            made[bag] /= table.dtype.type(max(len(chosen), 1))
    return made


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("columns", [1, 64, 213])
@pytest.mark.parametrize("element", ["float32", "float64", "float16"])
@pytest.mark.parametrize("padding", [-1, 3])
def test_against_numpy(mode, columns, element, padding):
    generator = numpy.random.default_rng(columns)
    table = generator.standard_normal((20, columns)).astype(element)
    indices = generator.integers(0, 20, 300).astype("int32" if columns == 1 else "int64")
    offsets = numpy.sort(generator.integers(0, 300, 40))
    offsets[0] = 0
    ends = [*offsets[1:].tolist(), 300]
    wide = table.astype("float32") if element == "float16" else table
    weights = generator.standard_normal(300).astype(element) if mode == 0 else None
    bags = [
        [(place, indices[place]) for place in range(begin, end) if indices[place] != padding]
        for begin, end in zip(offsets, ends, strict=True)
    ]
    wide_weights = None if weights is None else weights.astype(wide.dtype)
    expected = folded(wide, bags, mode, wide_weights).astype(element)
    layouts = (aten.from_numpy(table), aten.from_numpy(table.T.copy()).t())
    for threads in (1, 4):
        aten.set_num_threads(threads)
        for given in layouts:
            made, bag_of, kept, origins = fold_bags(
                given,
                aten.from_numpy(indices),
                aten.from_numpy(offsets),
                mode,
                None if weights is None else aten.from_numpy(weights),
                40,
                padding,
            )
            assert numpy.asarray(made).tobytes() == expected.tobytes()
            assert kept.tolist() == [len(bag) for bag in bags]
            places = numpy.searchsorted(offsets, numpy.arange(300), "right") - 1
            assert (numpy.asarray(bag_of) == places).all()
            if mode < 2:
                assert origins.numel() == 0
                continue
            for bag, chosen in enumerate(bags):
                firsts = numpy.asarray(origins)[bag]
                if not chosen:
                    assert (firsts == 0).all()
                    continue
                assert (table[firsts, numpy.arange(columns)] == expected[bag]).all()


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("columns", [0, 3, 16, 31, 128, 213])
@pytest.mark.parametrize("narrow", [False, True])
def test_sums_of_rows_as_they_are(element, columns, narrow):
    """Bags longer than what is read at once, rows apart, and tables that no cache holds."""
    generator = numpy.random.default_rng(columns)
    size = 20_000 if columns == 128 else 30
    wide = generator.standard_normal((size, columns + 5)).astype(element)
    wide[7, :columns:2] = numpy.nan
    wide[8, :columns:3] = -0.0
    table = wide[:, :columns]
    indices = generator.integers(0, size, 400).astype("int32" if narrow else "int64")
    indices[::9] = 8
    indices[5] = 7
    offsets = numpy.array([0, 0, 1, 64, 130, 130, 395])
    ends = [*offsets[1:].tolist(), 400]
    for padding, mode in ((-1, 0), (8, 0), (-1, 1), (8, 1)):
        bags = [
            [(place, indices[place]) for place in range(begin, end) if indices[place] != padding]
            for begin, end in zip(offsets, ends, strict=True)
        ]
        expected = folded(table, bags, mode, None)
        for threads in (1, 4):
            aten.set_num_threads(threads)
            made, bag_of, kept, _ = fold_bags(
                aten.from_numpy(wide)[:, :columns],
                aten.from_numpy(indices),
                aten.from_numpy(offsets),
                mode,
                None,
                len(offsets),
                padding,
                False,
            )
            assert numpy.asarray(made).tobytes() == expected.tobytes()
            assert kept.tolist() == [len(bag) for bag in bags]
            assert bag_of.numel() == 0


@pytest.mark.parametrize("columns", [1, 3, 8, 31, 128, 213])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_bfloat16_are_those_of_float32_rounded_once(columns, mode, weighted):
    """Rows where they lie, rows apart, and rows whose columns are apart, which are copied."""
    generator = aten.Generator().manual_seed(columns)
    whole = aten.randn(30, 2 * columns, generator=generator).to(aten.bfloat16)
    whole[3, 0], whole[4, -1] = float("nan"), -0.0
    indices = aten.randint(0, 30, (200,), generator=generator)
    offsets = aten.tensor([0, 0, 1, 70, 150])
    weights = None
    if weighted:
        weights = aten.randn(200, generator=generator).to(aten.bfloat16)
        mode = 0
    for table in (whole[:, :columns].clone(), whole[:, columns:], whole[:, ::2]):
        for padding in (-1, 3):
            given = (indices, offsets, mode)
            made = fold_bags(table, *given, weights, 5, padding)[0]
            wide = None if weights is None else weights.float()
            expected = fold_bags(table.float().contiguous(), *given, wide, 5, padding)[0]
            assert aten.equal(made.isnan(), expected.isnan())
            expected = expected.to(aten.bfloat16)
            assert made.nan_to_num().tolist() == expected.nan_to_num().tolist()


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", [0, 2])
def test_all_numbers_of_half_types_stay_what_they_are(element, mode):
    """Rows alone in their bags, widened and rounded as runs."""
    bits = aten.arange(1 << 16).to(aten.int16)
    table = bits.view(getattr(aten, element)).view(512, 128)
    each = aten.arange(512)
    made = fold_bags(table, each, each, mode, None, 512, -1)[0]
    assert aten.equal(made.isnan(), table.isnan())
    assert aten.equal(made.nan_to_num(0, 1e9, -1e9), table.nan_to_num(0, 1e9, -1e9))


def test_nan_is_a_maximum_and_from_nowhere():
    table = aten.tensor([[1.0, 2.0], [float("nan"), 3.0], [5.0, 3.0]])
    made, _, _, origins = fold_bags(table, aten.tensor([0, 1, 2]), aten.tensor([0]), 2, None, 1, -1)
    assert str(made.tolist()) == "[[nan, 3.0]]"
    assert origins.tolist() == [[0, 1]]


def test_an_index_that_became_wild_counts_as_the_first():
    table = aten.tensor([[1.0], [2.0], [4.0]])
    for wild in (3, -1, 1 << 40, -(1 << 40)):
        indices = aten.tensor([1, wild, 2, wild])
        for mode, expected in enumerate((8.0, 2.0, 4.0)):
            assert fold_bags(table, indices, aten.tensor([0]), mode, None, 1, -5)[0] == expected
        origins = fold_bags(table, indices[1:2], aten.tensor([0]), 2, None, 1, -5)[3]
        assert origins.tolist() == [[0]]


@pytest.mark.parametrize(
    "offsets", [[0, 3, 1], [0, 4, 3], [0, 5, 3], [0, -1, 2], [0, 2, 9], [1, 2]]
)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("include_last", [False, True])
@pytest.mark.parametrize("element", [aten.int32, aten.int64])
def test_offsets_that_lead_nowhere_are_refused(offsets, mode, include_last, element):
    indices, table = aten.tensor([0, 1, 2, 1]), aten.ones(3, 2)
    given = aten.tensor(offsets, dtype=element)
    with pytest.raises(
        (RuntimeError, IndexError), match="embedding_bag: expected offsets"
    ) as refusal:
        aten.nn.functional.embedding_bag(
            indices.to(element), table, given, mode=mode, include_last_offset=include_last
        )
    outside = offsets[0] == 0 and offsets[-1] <= 4 and not 0 <= offsets[1] <= 4
    assert refusal.type is (IndexError if outside and mode != "sum" else RuntimeError)


def test_indices_behind_the_last_offset_are_in_no_bag():
    table, indices = aten.arange(5.0).view(5, 1), aten.tensor([1, 2, 3, 4])
    for mode, expected in (("sum", [[3], [3]]), ("mean", [[1.5], [3]]), ("max", [[2], [3]])):
        made = aten.nn.functional.embedding_bag(
            indices, table, aten.tensor([0, 2, 3]), mode=mode, include_last_offset=True
        )
        assert made.tolist() == expected


def test_what_is_refused():
    table, indices, offsets = aten.zeros(4, 2), aten.tensor([0, 1]), aten.tensor([0])
    for arguments in (
        (aten.zeros(4), indices, offsets, 0, None, 1, -1),
        (table, aten.zeros(2), offsets, 0, None, 1, -1),
        (table, indices, offsets, 3, None, 1, -1),
        (table, indices, offsets, 0, None, 2, -1),
        (table, indices, offsets, 0, aten.zeros(3), 1, -1),
    ):
        with pytest.raises(ValueError, match="fold_bags"):
            fold_bags(*arguments)


@pytest.mark.parametrize("element", ["float32", "bfloat16"])
def test_the_fast_path_gives_what_the_definition_does(element):
    """Through the whole call, which takes another way for rows whose columns are apart."""
    generator = aten.Generator().manual_seed(3)
    table = aten.randn(40, 33, generator=generator).to(getattr(aten, element))
    apart = aten.empty(33, 40, dtype=table.dtype).t().copy_(table)
    indices = aten.randint(0, 40, (12, 7), generator=generator)
    made = aten.nn.functional.embedding_bag(indices, table, mode="sum")
    assert made.dtype == table.dtype
    assert aten.equal(made, aten.nn.functional.embedding_bag(indices, apart, mode="sum"))


@pytest.mark.parametrize("element", ["int32", "int64"])
@pytest.mark.parametrize("include_last", [False, True])
@pytest.mark.parametrize("count", [1, 1024, 1025, 3000])
def test_sums_of_few_and_many_bags_by_the_operator(count, include_last, element):
    """More than the fast path keeps on its stack go another way, and every row lies apart."""
    generator = numpy.random.default_rng(count)
    wide = generator.standard_normal((50, 12)).astype("float32")
    indices = generator.integers(0, 50, 2 * count).astype(element)
    offsets = numpy.sort(generator.integers(0, 2 * count, count)).astype(element)
    offsets[0] = 0
    ends = [*offsets[1:].tolist(), 2 * count]
    bags = [
        [(place, indices[place]) for place in range(begin, end)]
        for begin, end in zip(offsets, ends, strict=True)
    ]
    given = numpy.append(offsets, offsets.dtype.type(2 * count)) if include_last else offsets
    made = aten.nn.functional.embedding_bag(
        aten.from_numpy(indices),
        aten.from_numpy(wide)[:, :7],
        aten.from_numpy(given),
        mode="sum",
        include_last_offset=include_last,
    )
    assert made.numpy().tobytes() == folded(wide[:, :7], bags, 0, None).tobytes()
