"""The largest elements of windows, where nobody asks for their places."""

import pytest

import aten

DTYPES = [aten.float32, aten.float64, aten.bfloat16, aten.float16, aten.uint8, aten.int8]
DTYPES += [aten.int16, aten.int32, aten.int64]
WINDOWS = [
    ([3, 3], [2, 2], [1, 1], [1, 1]),
    ([2, 2], [2, 2], [0, 0], [1, 1]),
    ([3, 3], [1, 1], [1, 1], [1, 1]),
    ([5, 2], [3, 1], [2, 1], [1, 1]),
    ([2, 3], [1, 3], [0, 1], [2, 1]),
    ([3, 3], [2, 2], [1, 1], [2, 2]),
    ([1, 4], [1, 4], [0, 2], [1, 1]),
    ([7, 5], [2, 2], [3, 2], [1, 1]),
    ([4, 4], [1, 3], [1, 1], [1, 1]),
]


def image(element, *sizes):
    made = aten.randn(sizes, dtype=aten.float64) * 40
    made = made.abs() if element is aten.uint8 else made
    return made.to(element)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("ceil", [False, True])
def test_values_are_those_with_places(element, window, ceil):
    pool = aten.ops.fused.max_pool2d
    for x in (
        image(element, 2, 3, 13, 37),
        image(element, 3, 9, 8),
        image(element, 1, 2, 30, 26).transpose(2, 3),
        image(element, 2, 4, 18, 40)[:, ::2, ::2, ::2],
        image(element, 2, 3, 13, 37).to(memory_format=aten.channels_last),
        image(element, 1, 1, 6, 2100),
    ):
        expected = aten.ops.aten.max_pool2d_with_indices(x, *window, ceil)[0]
        found = pool(x, *window, ceil)
        assert aten.equal(found, expected)
        assert found.stride() == expected.stride()
        assert found.dtype is expected.dtype


@pytest.mark.parametrize("window", WINDOWS)
def test_nan_is_larger_than_all_numbers(window):
    x = aten.randn(1, 2, 12, 40)
    x[0, 0, 3, 5], x[0, 1, 0, 0], x[0, 1, 11, 39] = float("nan"), float("inf"), float("nan")
    x[0, 0, 6:, 20:] = float("-inf")
    expected = aten.ops.aten.max_pool2d_with_indices(x, *window)[0]
    found = aten.ops.fused.max_pool2d(x, *window)
    assert aten.equal(found.isnan(), expected.isnan())
    assert aten.equal(found.nan_to_num(7), expected.nan_to_num(7))


def test_compiled_programs_ask_for_no_places():
    def values(x):
        return aten.nn.functional.max_pool2d(x, 3, 2, 1).relu()

    def places(x):
        return aten.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)

    x = aten.randn(2, 3, 12, 12)
    for function, is_fused in ((values, True), (places, False)):
        compiled = aten.compile(function)
        for found, expected in zip(*map(_listed, (compiled(x), function(x))), strict=True):
            assert aten.equal(found, expected)
        targets = {node.target for node in compiled.programs()[0].graph.nodes}
        assert ("fused.max_pool2d.default" in targets) is is_fused


def _listed(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (([0, 2],), "kernel"),
        (([2, 2], [1, 1], [2, 2]), "pad"),
        (([9, 9],), "too small"),
        (([2, 2], [-1, 1]), "stride"),
    ],
)
def test_wrong_windows(window, message):
    with pytest.raises(RuntimeError, match=message):
        aten.ops.fused.max_pool2d(aten.ones(2, 3, 4, 4), *window)


def test_types_without_an_order():
    with pytest.raises(NotImplementedError):
        aten.ops.fused.max_pool2d(aten.ones(1, 1, 4, 4, dtype=aten.complex64), [2, 2])
