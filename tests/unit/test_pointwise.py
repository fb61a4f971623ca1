"""Mechanics of pointwise kernels: shapes, strides, memory, numbers, promotion and checks."""

from __future__ import annotations

import itertools
import math
import warnings

import pytest

import aten
from aten.backends.cpu.kernels.moving.iterator import contains_zero
from aten.prims import Number
from aten.registry import operator

slice_of = operator("slice.Tensor")
as_strided = operator("as_strided")


def counting(*shape: int, dtype: aten.dtype = aten.float32) -> aten.Tensor:
    return aten.arange(math.prod(shape), dtype=dtype).reshape(shape)


# Shapes and strides


@pytest.mark.parametrize(
    ("shape", "strides"), [((9, 1), (1, 9)), ((1, 7, 5), (1, 5, 1)), ((2, 9, 1), (9, 1, 30))]
)
def test_single_elements_lend_no_strides_to_results_of_row_major_operands(shape, strides):
    x = aten.empty_strided(shape, strides).fill_(1)
    fresh = [
        aten.special.entr,  # Rarely met: no code of it is known at the first of these calls.
        aten.neg,
        lambda x: x > aten.zeros(shape),
        lambda x: aten.where(x > 0, x, aten.zeros(shape)),
    ]
    expected = aten.zeros(shape).stride()
    assert [call(x).stride() for call in fresh] == [expected] * len(fresh)
    assert [call(x).stride() for call in fresh] == [expected] * len(fresh)
    assert [call(x.to("meta")).stride() for call in fresh[:2]] == [expected] * 2


def test_operands_broadcast_at_their_last_dimensions() -> None:
    result = aten.add(aten.tensor([[1.0], [2.0]]), aten.tensor([10.0, 20.0, 30.0]))
    assert result.tolist() == [[11.0, 21.0, 31.0], [12.0, 22.0, 32.0]]


def test_sizes_that_do_not_match_are_named() -> None:
    with pytest.raises(RuntimeError, match=r"tensor a \(2\) must match .* b \(3\) .* dimension 1"):
        aten.add(counting(4, 2), counting(4, 3))


def test_an_empty_dimension_wins_over_one() -> None:
    assert tuple(aten.add(counting(0, 3), counting(1, 3)).shape) == (0, 3)
    assert tuple(aten.add(counting(0), aten.tensor(1.0)).shape) == (0,)


def test_a_result_keeps_its_operands_order_and_closes_gaps() -> None:
    permuted = counting(2, 3, 4).permute(2, 0, 1)
    assert aten.neg(permuted).stride() == permuted.stride()
    gaps = slice_of(counting(4, 6), 1, 0, 6, 2)
    assert aten.neg(gaps).stride() == (3, 1)
    assert aten.neg(gaps).tolist() == [[-6.0 * row - 2.0 * i for i in range(3)] for row in range(4)]


def test_a_result_repeats_no_place_though_operands_span_what_they_have() -> None:
    repeated = counting(4).as_strided((2, 2), (0, 3))
    total = repeated + repeated
    assert total.stride() == (2, 1)
    total[0].zero_()
    assert total.tolist() == [[0.0, 0.0], [0.0, 6.0]]


def test_sixty_four_dimensions() -> None:
    deep = counting(*(1,) * 61, 2, 3, 2)
    turned = deep.permute(*reversed(range(64)))
    assert (turned + turned).permute(*reversed(range(64))).flatten().tolist() == [
        2.0 * i for i in range(12)
    ]


def test_many_dimensions_that_do_not_coalesce() -> None:
    cube = counting(*(2,) * 12)
    turned = cube.permute(*reversed(range(12)))
    total = cube + turned
    assert total.permute(*reversed(range(12))).tolist() == total.tolist()


@pytest.mark.parametrize("count", [1, 15, 16, 17, 131, 70_001])
def test_every_count_of_elements_is_computed_once(count: int) -> None:
    ones = aten.zeros(count)
    ones.add_(1)
    assert ones.sum().item() == count


# Memory


def test_a_result_may_be_written_over_an_operand() -> None:
    value = counting(5)
    assert aten.mul(value, value, out=value) is value
    assert value.tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]


def test_partial_overlap_is_refused() -> None:
    value = counting(6)
    with pytest.raises(RuntimeError, match="single memory location"):
        slice_of(value, 0, 1, 6).add_(slice_of(value, 0, 0, 5))


def test_elements_of_two_strides_may_interleave() -> None:
    value = counting(6)
    aten.add(slice_of(value, 0, 0, 6, 2), 1, out=slice_of(value, 0, 1, 6, 2))
    assert value.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_repeated_elements_are_read_from_a_copy_where_they_are_written() -> None:
    value = counting(6)
    repeated = value.as_strided((2, 2), (0, 3), 1)
    aten.add(repeated, 1, out=value.as_strided((2, 2), (1, 2), 1))
    assert value.tolist() == [0.0, 2.0, 2.0, 5.0, 5.0, 5.0]


def test_an_expanded_tensor_is_not_written_to() -> None:
    with pytest.raises(RuntimeError, match="more than one element"):
        aten.zeros(1).expand(3).add_(1)


def test_in_place_never_grows_the_operand() -> None:
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match .* \[2, 3\]"):
        counting(3).add_(counting(2, 3))


def test_out_is_resized_and_a_warning_says_so_if_it_held_elements() -> None:
    fresh = aten.empty(0)
    aten.add(counting(2, 3), 1, out=fresh)
    assert tuple(fresh.shape) == (2, 3)
    with pytest.warns(UserWarning, match=r"shape \[5\].*\[2, 3\]"):
        aten.add(counting(2, 3), 1, out=aten.zeros(5))


def test_a_write_counts_as_a_version() -> None:
    value = counting(3)
    before = value._version
    value.add_(1)
    assert value._version == before + 1


def test_no_element_of_out_is_converted_that_casting_forbids() -> None:
    with pytest.raises(RuntimeError, match="Float can't be cast to the desired output type Long"):
        counting(3, dtype=aten.int64).add_(1.5)


# Numbers and promotion


@pytest.mark.parametrize(
    ("number", "element"),
    [(True, "int32"), (2, "int32"), (2.5, "float32"), (2j, "complex64")],
)
def test_a_number_only_raises_the_category(number: Number, element: str) -> None:
    assert (aten.tensor([1], dtype=aten.int32) * number).dtype.name == element


def test_numbers_keep_their_value() -> None:
    ones = aten.tensor([1])
    assert (ones & True).tolist() == [1]
    assert (ones + (2**63 - 1)).tolist() == [-(2**63)]
    assert (aten.tensor([1.0]) * 2**63).tolist() == [2.0**63]


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_numbers_no_machine_integer_holds_are_refused(number: int) -> None:
    with pytest.raises(OverflowError):
        aten.tensor([1]) + number


def test_a_tensor_without_dimensions_ranks_below_one_with() -> None:
    single = aten.tensor([1.0])
    assert (single + aten.tensor(1.0, dtype=aten.float64)).dtype is aten.float32
    assert (aten.tensor([1]) + aten.tensor(1.0, dtype=aten.float64)).dtype is aten.float64


def test_small_exponents_get_code_of_their_own() -> None:
    three = aten.tensor([3.0, -0.5])
    assert (three**2).tolist() == [9.0, 0.25]
    assert (three**-1).tolist() == [pytest.approx(1 / 3), -2.0]
    assert (aten.tensor([3]) ** 2.0).dtype is aten.float32


# Checks


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_are_not_divided_by_zero(name: str) -> None:
    divide = getattr(aten, name)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(aten.tensor([1, 2]), 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(aten.tensor([1, 2]), aten.tensor([1, 0]))
    assert divide(aten.tensor([1.0]), 0.0).dtype is aten.float32


@pytest.mark.parametrize("element", ["int8", "int32", "int64"])
def test_the_least_integer_divided_by_minus_one_wraps(element: str) -> None:
    kind = getattr(aten, element)
    least = aten.tensor([-(1 << (8 * kind.itemsize - 1))], dtype=kind)
    assert (least // -1).tolist() == least.tolist()
    assert (least % -1).tolist() == [0]


@pytest.mark.parametrize("element", ["uint8", "int16", "int32", "int64"])
def test_zeros_are_found_in_any_layout(element: str) -> None:
    kind = getattr(aten, element)
    value = aten.ones(40, 50, dtype=kind)
    strided = slice_of(value, 1, 1, 50, 2).t()
    assert not contains_zero(strided)
    slice_of(slice_of(value, 0, 39, 40), 1, 48, 49).zero_()
    assert contains_zero(value)
    assert not contains_zero(strided)
    assert not contains_zero(aten.ones(0, dtype=kind))


def test_negative_powers_of_integers() -> None:
    with pytest.raises(RuntimeError, match="negative integer powers"):
        aten.tensor([2]) ** -3
    with pytest.raises(RuntimeError, match="negative integer powers"):
        aten.tensor([2]) ** -1
    assert (aten.tensor([2, 1, -1]) ** aten.tensor([-1, -2, -3])).tolist() == [0, 1, -1]


def test_a_number_that_does_not_fit_fills_nothing() -> None:
    value = aten.zeros(2, dtype=aten.uint8)
    for number in (256, -256, math.nan):
        with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t"):
            value.fill_(number)
    assert value.fill_(-1).tolist() == [255, 255]


def test_types_are_refused_without_elements_and_without_memory() -> None:
    for value in (aten.empty(0), aten.empty(2, device="meta")):
        with pytest.raises(NotImplementedError, match=r"bitwise_and_cpu.* 'Float'"):
            aten.bitwise_and(value, value)


def test_alpha_belongs_to_the_result_type() -> None:
    ones = aten.tensor([1, 2])
    assert aten.add(ones, ones, alpha=3).tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="alpha must not be a floating point"):
        aten.add(ones, ones, alpha=0.5)
    with pytest.raises(RuntimeError, match="Boolean alpha"):
        aten.sub(ones, ones, alpha=True)


def test_meta_and_cpu_scalars_mix_and_nothing_else_does() -> None:
    meta = aten.empty(3, device="meta")
    assert (meta + aten.tensor(1.0)).device.type == "meta"
    assert (aten.tensor(1.0) + meta).device.type == "meta"
    with pytest.raises(RuntimeError, match="same device"):
        meta + aten.tensor([1.0, 2.0, 3.0])


# Values that need care


def test_nan_and_signed_zero() -> None:
    value = aten.tensor([math.nan, 1.0])
    other = aten.tensor([1.0, math.nan])
    assert all(map(math.isnan, aten.maximum(value, other).tolist()))
    assert aten.fmax(value, other).tolist() == [1.0, 1.0]
    assert math.copysign(1.0, aten.neg(aten.tensor([0.0])).tolist()[0]) == -1.0
    assert aten.signbit(aten.tensor([-0.0, 0.0])).tolist() == [True, False]


def test_long_quotients_leave_exact_remainders() -> None:
    """Where torch's vector code gives up."""
    largest = aten.tensor([1.7976931348623157e308], dtype=aten.float64)
    assert aten.fmod(largest, 0.75).tolist() == [math.fmod(1.7976931348623157e308, 0.75)]


def test_steps_of_half_types_are_their_own() -> None:
    one = aten.tensor([1.0], dtype=aten.bfloat16)
    assert aten.nextafter(one, one * 2).tolist() == [1.0078125]


@pytest.mark.parametrize("dtype", [aten.float16, aten.bfloat16, aten.float32, aten.float64])
def test_next_numbers_towards_one_of_another_type(dtype):
    x = aten.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("nan")], dtype=dtype).repeat(9)
    for bound in (-2.5, 2.5, 0.0, -0.0, float("inf"), float("nan")):
        given = aten.tensor(bound, dtype=aten.float64)
        found = aten.nextafter(x, given)
        expected = aten.nextafter(x, given.to(dtype).repeat(54))
        assert found.view(aten.uint8).tolist() == expected.view(aten.uint8).tolist()
    least = aten.nextafter(aten.zeros(1, dtype=dtype), aten.full((1,), -1.0, dtype=dtype))
    assert least.signbit().all()
    assert (least < 0).all()


def test_warnings_stay_quiet_in_the_ordinary_case() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aten.add(counting(3), 1, out=aten.empty(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: aten.ops.aten.hardsigmoid(x, out=out),
        lambda x, out: aten.logaddexp(x, x, out=out),
        lambda x, out: aten.mm(x, x, out=out),
    ],
)
def test_a_call_that_fails_leaves_out_as_it_was(call):
    integers = aten.ones((2, 2), dtype=aten.bool)
    out = aten.zeros((0, 5), dtype=aten.bool)
    with pytest.raises((NotImplementedError, RuntimeError)):
        call(integers, out)
    assert tuple(out.shape) == (0, 5)
    assert out.stride() == (5, 1)


@pytest.mark.parametrize(
    "element", [aten.float32, aten.bfloat16, aten.float64, aten.uint8, aten.bool, aten.complex64]
)
def test_results_larger_than_the_caches(element: aten.dtype) -> None:
    # Written past the caches; the ends that fill no vector, and the result of a view, are not.
    count = (1 << 25) // element.itemsize + 1027
    x = aten.arange(count, dtype=aten.int32) % 251
    converted = x.to(element)
    if element == aten.bool:
        x = (x != 0).to(aten.int32)
    back = converted.real if element.is_complex else converted
    assert bool((back.to(aten.int32) == x).all())
    assert bool((converted == converted[0:].clone()).all())


@pytest.mark.parametrize("element", [aten.float16, aten.bfloat16, aten.float32, aten.float64])
def test_limits_keep_zeros_and_hand_on_nan(element):
    nan, infinity = float("nan"), float("inf")
    given = [0.0, -0.0, nan, 3.0, -3.0, infinity, -infinity, 0.5] * 5
    numbers = aten.tensor(given, dtype=element)
    for low, high in itertools.product((None, -1.0, 0.0, -0.0, 2.0, nan, infinity), repeat=2):
        if low is None and high is None:
            continue
        expected = []
        for value in given:
            if low is not None:
                value = low if value < low or low != low else value
            if high is not None:
                value = high if value > high or high != high else value
            expected.append(value)
        # Zeros are those that were given, whatever the bound's sign.
        assert str(numbers.clamp(low, high).tolist()) == str(expected)
        bounds = [
            one if one is None else aten.full((40,), one, dtype=element) for one in (low, high)
        ]
        assert str(aten.clamp(numbers, *bounds).tolist()) == str(expected)
