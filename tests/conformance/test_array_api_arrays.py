"""Functions that make, rearrange, search and sort arrays, beside array-api-strict."""

import math

import numpy as np
import pytest
from array_api_cases import (
    ALL,
    BOOLS,
    DATA,
    DTYPES,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    REAL,
    agree,
    arrays,
    axes_of,
    axis_of,
    both,
    broadcasting,
    compare,
    few,
    numbers,
    shapes,
    some,
    strict,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import aten
from aten import array_api as xp

pytestmark = pytest.mark.usefixtures("double")


# Making


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@pytest.mark.parametrize("dtype", [None, *ALL])
@few
@given(shape=shapes() | st.integers(0, 5))
def test_filled_alike(name, dtype, shape):
    keywords = {} if dtype is None else {"dtype": np.dtype(dtype)}
    if name == "empty":
        found = xp.empty(shape, **({} if dtype is None else {"dtype": getattr(xp, dtype)}))
        assert found.shape == np.empty(shape).shape
        assert found.dtype is getattr(xp, dtype or "float64")
        return
    agree(name, shape, **keywords)
    x = np.ones(shape, "int16")
    agree(f"{name}_like", x, **keywords)


def test_empty_like():
    x = xp.empty_like(xp.ones((2, 3), dtype=xp.int8))
    assert (x.shape, x.dtype) == ((2, 3), xp.int8)
    x = xp.empty_like(aten.ones(2, 3), dtype=xp.float64)
    assert (x.shape, x.dtype) == ((2, 3), xp.float64)


@few
@DATA
def test_full(data):
    name = data.draw(st.sampled_from(ALL))
    value = data.draw(numbers(name)).item()
    shape = data.draw(shapes() | st.integers(0, 5))
    agree("full", shape, value, dtype=np.dtype(name))
    agree("full_like", np.ones(shape, name), value)
    agree("full_like", np.ones(shape), value, dtype=np.dtype(name))
    if not isinstance(value, int) or abs(value) < 2**63:
        agree("full", shape, value)


@few
@DATA
def test_eye(data):
    rows, columns = data.draw(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 6)))
    k = data.draw(st.integers(-9, 9))
    agree("eye", rows, columns, k=k, dtype=np.dtype(data.draw(st.sampled_from(NUMERIC))))
    agree("eye", rows, k=k)


@few
@DATA
def test_arange(data):
    name = data.draw(st.none() | st.sampled_from(REAL))
    low = 0 if name in DTYPES["unsigned"] else -100
    number = st.integers(low, 100)
    if name is None or name in FLOATS:
        number |= st.floats(-100, 100, width=16)
    start, stop = data.draw(number), data.draw(st.none() | number)
    step = data.draw(number.filter(lambda v: abs(v) > 0.05))
    assume(stop is None or step > 0 or name not in DTYPES["unsigned"])
    keywords = {} if name is None else {"dtype": np.dtype(name)}
    found = xp.arange(start, stop, step, **({} if name is None else {"dtype": getattr(xp, name)}))
    first, last = (0, start) if stop is None else (start, stop)
    assert found.shape == (max(math.ceil((last - first) / step), 0),)
    if all(isinstance(v, int) for v in (first, last, step)):
        agree("arange", start, stop, step, **keywords)
    else:
        expected = first + step * np.arange(found.shape[0], dtype=np.float64)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-4)
    with pytest.raises(ValueError, match="step"):
        xp.arange(0, 5, 0)


def test_arange_of_large_numbers():
    assert xp.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert xp.arange(3, dtype=xp.uint64).tolist() == [0, 1, 2]
    assert xp.arange(2**64 - 1, 2**64 - 6, -2, dtype=xp.uint64).tolist() == [
        2**64 - 1,
        2**64 - 3,
        2**64 - 5,
    ]
    assert xp.arange(0.5, 3, dtype=xp.uint16).tolist() == [0, 1, 2]
    assert xp.arange(1e-200, 3e-200, 1e-200).shape == (2,)
    assert xp.arange(5, 0).shape == (0,)
    assert xp.arange(5, 0).dtype is xp.int64
    assert xp.arange(5.0, 0).dtype is xp.float64


@few
@DATA
def test_linspace(data):
    name = data.draw(st.sampled_from([None, *FLOATS, *DTYPES["complex"]]))
    number = st.integers(-100, 100) | st.floats(-100, 100, width=16)
    if name in DTYPES["complex"]:
        number |= st.complex_numbers(max_magnitude=100, width=64)
    start, stop = data.draw(number), data.draw(number)
    keywords = {} if name is None else {"dtype": np.dtype(name)}
    for endpoint in (True, False):
        num = data.draw(st.integers(0, 20))
        mine = xp.linspace(start, stop, num, endpoint=endpoint, **both_named(keywords)[0])
        theirs = strict.linspace(start, stop, num, endpoint=endpoint, **both_named(keywords)[1])
        assert str(mine.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
        np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=1e-5, atol=1e-4)
        if num:
            assert complex(mine[0]) == complex(np.asarray(start, np.asarray(mine).dtype))
        if num > 1 and endpoint:
            assert complex(mine[-1]) == complex(np.asarray(stop, np.asarray(mine).dtype))


def both_named(keywords):
    found = {key: both(value) for key, value in keywords.items()}
    return {k: v[0] for k, v in found.items()}, {k: v[1] for k, v in found.items()}


def test_linspace_of_complex_ends():
    assert xp.linspace(0, 1j, 2).dtype is xp.complex128
    assert xp.linspace(0, 1, 3, dtype=xp.int64).tolist() == [0, 0, 1]


@few
@DATA
def test_meshgrid(data):
    name = data.draw(st.sampled_from(ALL))
    count = data.draw(st.integers(1, 4))
    vectors = [data.draw(arrays(name, shapes(min_dims=1, max_dims=1))) for _ in range(count)]
    for indexing in ("xy", "ij"):
        agree("meshgrid", *vectors, indexing=indexing)
    with pytest.raises(ValueError, match="one dtype"):
        xp.meshgrid(xp.ones(1), xp.ones(1, dtype=xp.int8))


@pytest.mark.parametrize("name", ["tril", "triu"])
@few
@DATA
def test_triangles(name, data):
    agree(name, some(data, NUMERIC, min_dims=2), k=data.draw(st.integers(-6, 6)))


@few
@DATA
def test_asarray_of_numbers(data):
    name = data.draw(st.sampled_from(ALL))
    x = data.draw(arrays(name))
    agree("asarray", x.tolist(), dtype=np.dtype(name))
    if x.size and name in ("bool", "int64", "float64", "complex128"):
        agree("asarray", x.tolist())
    assert xp.asarray(xp.asarray(x), dtype=xp.complex128).dtype is xp.complex128


def test_asarray_of_mixed_numbers():
    for values in (
        [True, False],
        [True, 2],
        [1, 2.0],
        [1.0, 2j],
        [[1], [True]],
        [],
        3,
        2.5,
        1j,
        True,
    ):
        agree("asarray", values)


def test_asarray_copies():
    x = xp.arange(3)
    buffer = bytearray(b"abc")
    for source in (x, aten.arange(3), np.arange(3)):
        assert xp.asarray(source, copy=True).data_ptr() != xp.asarray(source).data_ptr()
        assert xp.asarray(source).data_ptr() == xp.asarray(source, copy=False).data_ptr()
        with pytest.raises(ValueError, match="alias"):
            xp.asarray(source, dtype=xp.float32, copy=False)
    shared = xp.asarray(buffer, dtype=xp.uint8, copy=False)
    shared[0] = ord("z")
    assert buffer == b"zbc"
    with pytest.raises(ValueError, match="alias"):
        xp.asarray([1, 2], copy=False)
    assert xp.asarray(xp.unstack(xp.ones((2, 3)))).shape == (2, 3)
    assert xp.asarray([x[0], 2, x[1]]).tolist() == [0, 2, 1]


# Rearranging


@few
@DATA
def test_reshape(data):
    x = some(data, ALL)
    shape = data.draw(st.permutations(x.shape))
    agree("reshape", x, tuple(shape))
    agree("reshape", x, (x.size,))
    if x.size:
        agree("reshape", x, (-1,))
        agree("reshape", x, (1, -1, 1))
    made = xp.reshape(xp.asarray(x), (x.size,), copy=True)
    np.testing.assert_array_equal(np.asarray(made), x.reshape(-1))


def test_reshape_copies():
    x = xp.reshape(xp.arange(6), (2, 3))
    assert xp.reshape(x, (3, 2)).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (3, 2), copy=False).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (3, 2), copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="copy is false"):
        xp.reshape(x.T, (6,), copy=False)
    with pytest.raises(RuntimeError):
        xp.reshape(x, (4,))


@few
@DATA
def test_concat_and_stack(data):
    names = data.draw(
        st.sampled_from([INTEGERS[:4], INTEGERS[4:], FLOATS, INEXACT, BOOLS, ["uint8", "int16"]])
    )
    shape = data.draw(shapes(min_dims=1))
    axis = axis_of(data, len(shape))
    parts = []
    for _ in range(data.draw(st.integers(1, 3))):
        size = (*shape[:axis], data.draw(st.integers(0, 3)), *shape[axis:][1:])
        parts.append(data.draw(arrays(data.draw(st.sampled_from(names)), size)))
    agree("concat", parts, axis=axis)
    agree("concat", tuple(parts), axis=None)
    alike = [data.draw(arrays(p.dtype.name, shape)) for p in parts]
    agree("stack", alike, axis=data.draw(st.integers(-len(shape) - 1, len(shape))))
    with pytest.raises(ValueError, match="at least one"):
        xp.concat([])


@few
@DATA
def test_expand_dims(data):
    x = some(data, ALL, max_dims=3)
    count = data.draw(st.integers(0, 3))
    rank = x.ndim + count
    places = data.draw(
        st.lists(
            st.integers(-rank, max(rank - 1, 0)),
            min_size=count,
            max_size=count,
            unique_by=lambda v: v % rank,
        )
    )
    found = xp.expand_dims(xp.asarray(x), tuple(places))
    np.testing.assert_array_equal(np.asarray(found), np.expand_dims(x, tuple(places)))
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
    agree("expand_dims", x, axis)
    for bad in (x.ndim + 1, -x.ndim - 2, (0, x.ndim + 2)):
        with pytest.raises(IndexError):
            xp.expand_dims(xp.asarray(x), bad)
    with pytest.raises(ValueError, match="twice"):
        xp.expand_dims(xp.asarray(x), (0, 0))


@few
@DATA
def test_squeeze(data):
    x = some(data, ALL, max_side=2, min_dims=1)
    axes = axes_of(data, x.ndim)
    axes = 0 if axes is None else axes
    single = all(x.shape[a] == 1 for a in (axes if isinstance(axes, tuple) else (axes,)))
    if single:
        agree("squeeze", x, axes)
    else:
        with pytest.raises(ValueError, match="expected one"):
            xp.squeeze(xp.asarray(x), axes)


@few
@DATA
def test_flip_and_roll(data):
    x = some(data, ALL)
    agree("flip", x, axis=axes_of(data, x.ndim))
    shift = st.integers(-9, 9)
    agree("roll", x, data.draw(shift))
    if x.ndim:
        axis = axis_of(data, x.ndim)
        agree("roll", x, data.draw(shift), axis=axis)
        axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, max_size=3))
        agree("roll", x, tuple(data.draw(shift) for _ in axes), axis=tuple(axes))
        agree("roll", x, 2, axis=tuple(axes))
    with pytest.raises(ValueError, match="shifts"):
        xp.roll(xp.ones((2, 2)), (1, 2), axis=(0,))


@few
@DATA
def test_permutations(data):
    x = some(data, ALL, min_dims=1)
    order = data.draw(st.permutations(range(x.ndim)))
    signed = tuple(a - x.ndim if data.draw(st.booleans()) else a for a in order)
    found = xp.permute_dims(xp.asarray(x), signed)
    np.testing.assert_array_equal(np.asarray(found), np.transpose(x, signed))
    agree("moveaxis", x, axis_of(data, x.ndim), axis_of(data, x.ndim))
    count = data.draw(st.integers(1, x.ndim))
    agree(
        "moveaxis",
        x,
        tuple(order[:count]),
        tuple(data.draw(st.permutations(range(x.ndim)))[:count]),
    )


@few
@DATA
def test_repeat(data):
    x = some(data, ALL, min_dims=1)
    times = data.draw(st.integers(0, 3))
    axis = axis_of(data, x.ndim)
    agree("repeat", x, times)
    agree("repeat", x, times, axis=axis)
    kind = data.draw(st.sampled_from(INTEGERS[:4]))
    agree("repeat", x, data.draw(arrays(kind, (x.shape[axis],), low=0, high=3)), axis=axis)
    agree("repeat", x, data.draw(arrays(kind, (x.size,), low=0, high=3)))
    agree("repeat", x, data.draw(arrays(kind, (1,), low=0, high=3)), axis=axis)


@few
@DATA
def test_tile_and_unstack(data):
    x = some(data, ALL, min_dims=1, max_dims=3)
    agree("tile", x, tuple(data.draw(st.lists(st.integers(0, 3), max_size=4))))
    agree("unstack", x, axis=axis_of(data, x.ndim))


@few
@DATA
def test_broadcast_to(data):
    shape, other = data.draw(broadcasting(2))
    x = data.draw(arrays(data.draw(st.sampled_from(ALL)), shape))
    agree("broadcast_to", x, np.broadcast_shapes(shape, other))
    with pytest.raises(RuntimeError):
        xp.broadcast_to(xp.ones((2, 3)), (3, 3))
    for bad in (((2,), (3,)), ((2, 1), (3, 1))):
        with pytest.raises(ValueError, match="common shape"):
            xp.broadcast_shapes(*bad)
    assert xp.broadcast_shapes() == ()


# Searching and sorting


def without_nan(x):
    return not (x.dtype.kind in "fc" and np.isnan(x).any())


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@few
@DATA
def test_extremes(name, data):
    x = some(data, REAL, min_dims=1, min_side=1)
    assume(without_nan(x))
    for keepdims in (False, True):
        agree(
            name, x, axis=data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1)), keepdims=keepdims
        )


@few
@DATA
def test_nonzero(data):
    x = some(data, ALL, min_dims=1)
    agree("nonzero", x)
    agree("count_nonzero", x, axis=axes_of(data, x.ndim), keepdims=data.draw(st.booleans()))
    with pytest.raises(ValueError, match="without dimensions"):
        xp.nonzero(xp.ones(()))


@few
@DATA
def test_where(data):
    first, second, third = data.draw(broadcasting(3))
    names = data.draw(
        st.sampled_from([BOOLS, INTEGERS[:4], INTEGERS[4:], FLOATS, DTYPES["complex"]])
    )
    condition = data.draw(arrays("bool", first))
    x1 = data.draw(arrays(data.draw(st.sampled_from(names)), second))
    x2 = data.draw(arrays(data.draw(st.sampled_from(names)), third))
    agree("where", condition, x1, x2)
    agree("where", condition, x1, x1.dtype.type(1).item())
    agree("where", condition, x2.dtype.type(0).item(), x2)


@few
@DATA
def test_searchsorted(data):
    name = data.draw(st.sampled_from(REAL))
    x1 = data.draw(arrays(name, shapes(min_dims=1, max_dims=1)))
    x2 = data.draw(arrays(name))
    assume(without_nan(x1) and without_nan(x2))
    for side in ("left", "right"):
        agree("searchsorted", np.sort(x1), x2, side=side)
        agree("searchsorted", x1, x2, side=side, sorter=np.argsort(x1))
        agree("searchsorted", np.sort(x1), 1, side=side)


@few
@DATA
def test_sort(data):
    x = some(data, REAL, min_dims=1)
    assume(without_nan(x))
    for descending in (False, True):
        axis = axis_of(data, x.ndim)
        agree("sort", x, axis=axis, descending=descending)
        agree("argsort", x, axis=axis, descending=descending)
        agree("sort", x, axis=axis, descending=descending, stable=False)


@few
@DATA
def test_take(data):
    x = some(data, ALL, min_dims=1, min_side=1)
    axis = axis_of(data, x.ndim)
    n = x.shape[axis]
    kind = data.draw(st.sampled_from(INTEGERS[:4]))
    places = data.draw(arrays(kind, shapes(max_dims=1, min_dims=1), low=-n, high=n - 1))
    agree("take", x, places, axis=axis)
    agree("take", x.reshape(-1), places)
    shape = [*x.shape]
    shape[axis] = data.draw(st.integers(0, 5))
    along = data.draw(arrays(kind, tuple(shape), low=-n, high=n - 1))
    agree("take_along_axis", x, along, axis=axis)
    single = tuple(s if d == axis % x.ndim else 1 for d, s in enumerate(shape))
    narrow = data.draw(arrays(kind, single, low=-n, high=n - 1))
    found = xp.take_along_axis(xp.asarray(x), xp.asarray(narrow), axis=axis)
    wide = np.broadcast_to(narrow, tuple(shape))
    np.testing.assert_array_equal(
        np.asarray(found), np.take_along_axis(x, wide.astype(np.int64), axis)
    )


def test_take_refuses():
    x = xp.ones((2, 3))
    with pytest.raises(ValueError, match="axis must be given"):
        xp.take(x, xp.asarray([0]))
    for name in ("take", "take_along_axis"):
        with pytest.raises(IndexError):
            getattr(xp, name)(x, xp.asarray([[3]]), axis=1)
    with pytest.raises(ValueError, match="dimensions"):
        xp.take_along_axis(x, xp.asarray([0]))


@few
@DATA
def test_isin(data):
    name = data.draw(st.sampled_from(INTEGERS))
    element = st.integers(0, 6)
    x1 = data.draw(hnp.arrays(name, shapes(), elements=element))
    x2 = data.draw(hnp.arrays(name, shapes(), elements=element))
    for invert in (False, True):
        for left, right in ((x1, x2), (x1, 3), (3, x2)):
            # The oracle forgets `invert`.
            found = xp.isin(both(left)[0], both(right)[0], invert=invert)
            expected = np.isin(left, right, invert=invert)
            compare("isin", found, strict.asarray(np.asarray(expected)))


def test_isin_of_other_types():
    nan = math.nan
    assert xp.isin(xp.asarray([1.0, nan, -0.0]), xp.asarray([nan, 0.0])).tolist() == [
        False,
        False,
        True,
    ]
    assert xp.isin(xp.asarray([1j, 2j]), xp.asarray([1j])).tolist() == [True, False]
    assert xp.isin(xp.asarray([True, False]), xp.asarray([True])).tolist() == [True, False]
    assert xp.isin(
        xp.asarray([2**63], dtype=xp.uint64), xp.asarray([2**63], dtype=xp.uint64)
    ).tolist() == [True]


def different(x):
    """The distinct elements in order of appearance; every NaN is one."""
    found = []
    for value in x.reshape(-1).tolist():
        if value != value or value not in found:
            found.append(value)
    return found


@few
@DATA
def test_unique(data):
    name = data.draw(st.sampled_from(ALL))
    element = numbers(name)
    if name not in BOOLS:
        element |= st.sampled_from([np.dtype(name).type(v) for v in (0, 1, 2)])
    if name in INEXACT:
        element |= st.sampled_from([np.dtype(name).type(v) for v in (math.nan, -0.0)])
    x = data.draw(hnp.arrays(name, shapes(), elements=element))
    flat = x.reshape(-1).tolist()
    array = xp.asarray(x)
    found = xp.unique_all(array)
    values = found.values.tolist()
    assert found.values.dtype is array.dtype
    assert {one.dtype for one in found[1:]} == {xp.int64}
    assert len(values) == len(different(x))
    assert found.inverse_indices.shape == x.shape
    for value, index, count in zip(
        values, found.indices.tolist(), found.counts.tolist(), strict=True
    ):
        if value == value:
            assert flat.index(value) == index
            assert flat.count(value) == count
        else:
            assert flat[index] != flat[index]
            assert count == 1
    inverse = found.inverse_indices.tolist() if x.ndim else [found.inverse_indices.item()]
    for value, place in zip(flat, np.asarray(inverse).reshape(-1).tolist(), strict=True):
        assert values[place] == value or value != value != values[place]
    # The parts of it are the same.
    for parts, names in (
        (xp.unique_counts(array), ("values", "counts")),
        (xp.unique_inverse(array), ("values", "inverse_indices")),
    ):
        assert parts._fields == names
        for field in names:
            np.testing.assert_array_equal(
                np.asarray(getattr(parts, field)), np.asarray(getattr(found, field))
            )
    np.testing.assert_array_equal(np.asarray(xp.unique_values(array)), np.asarray(found.values))
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
