"""Runs and windows that would lead outside of what they are made of are refused, by name."""

import math

import pytest

import aten

OFFSETS = {
    "backwards": [0, 4, 2, 6],
    "past the end": [0, 4, 9],
    "far past the end": [0, 4, 1 << 40],
    "before the begin": [-3, 4, 6],
    "last one backwards": [0, 6, 5],
}


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_that_lead_outside(name: str, reduce: str, unsafe: bool) -> None:
    offsets = aten.tensor(OFFSETS[name])
    with pytest.raises(RuntimeError, match="segment_reduce: expected offsets of runs"):
        aten.segment_reduce(aten.arange(6.0), reduce, offsets=offsets, unsafe=unsafe)


@pytest.mark.parametrize("lengths", [[-1, 4, 3], [1, 9], [1 << 62, 1 << 62, 1 << 62, 1 << 62]])
def test_lengths_that_lead_outside(lengths: list[int]) -> None:
    for unsafe in (False, True):
        with pytest.raises(RuntimeError, match="segment_reduce: "):
            aten.segment_reduce(
                aten.arange(6.0), "sum", lengths=aten.tensor(lengths), unsafe=unsafe
            )


def test_offsets_of_one_row_of_several() -> None:
    data = aten.arange(6.0).view(2, 3)
    with pytest.raises(RuntimeError, match="length -1"):
        aten.segment_reduce(data, "sum", offsets=aten.tensor([[0, 1, 3], [2, 1, 3]]), axis=1)


def test_runs_need_not_cover_everything() -> None:
    data = aten.arange(6.0)
    assert aten.segment_reduce(data, "sum", offsets=aten.tensor([1, 4, 6])).tolist() == [6, 9]
    assert aten.segment_reduce(data, "sum", offsets=aten.tensor([0, 4, 5])).tolist() == [6, 4]
    made = aten.segment_reduce(data, "sum", lengths=aten.tensor([1, 4]), unsafe=True)
    assert made.tolist() == [0, 10]


def test_what_was_there_stays() -> None:
    out, offsets = aten.full((2,), 7.0), aten.tensor([0, 9, 3])
    with pytest.raises(RuntimeError, match="expected offsets"):
        aten.ops.aten.segment_reduce.out(aten.arange(6.0), "sum", offsets=offsets, out=out)
    assert out.tolist() == [7, 7]


def fractional(rank: int, sample: float) -> tuple[aten.Tensor, list[int], list[int], aten.Tensor]:
    image = aten.arange(2.0 * 6**rank).view(1, 2, *[6] * rank)
    samples = aten.full((1, 2, rank), 0.5)
    samples[0, 1, rank - 1] = sample
    return image, [2] * rank, [3] * rank, samples


@pytest.mark.parametrize("sample", [1.0, 5.0, -0.25, 1e9, -1e30, 3e38])
@pytest.mark.parametrize("rank", [2, 3])
def test_samples_outside_of_the_unit_interval(rank: int, sample: float) -> None:
    pool = getattr(aten.ops.aten, f"fractional_max_pool{rank}d")
    image, *window = fractional(rank, sample)
    found, places = pool(image, *window)
    assert ((places >= 0) & (places < 6**rank)).all()
    assert found.equal(image.flatten(2).gather(2, places.flatten(2)).view(found.shape))


@pytest.mark.parametrize("sample", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("rank", [2, 3])
def test_samples_that_are_not_finite(rank: int, sample: float) -> None:
    pool = getattr(aten.ops.aten, f"fractional_max_pool{rank}d")
    given = fractional(rank, sample)
    made, places = aten.ones(1, 2, *[3] * rank), aten.ones(1, 2, *[3] * rank, dtype=aten.int64)
    with pytest.raises(RuntimeError, match=f"fractional_max_pool{rank}d: expected finite"):
        pool(*given)
    with pytest.raises(RuntimeError, match=f"fractional_max_pool{rank}d: expected finite"):
        pool.output(*given, output=made, indices=places)
    assert made.eq(1).all()
    assert places.eq(1).all()


@pytest.mark.parametrize("element", [aten.float16, aten.bfloat16, aten.float32])
def test_samples_that_are_drawn_are_inside(element: aten.dtype) -> None:
    aten.manual_seed(0)
    image = aten.zeros(64, 64, 4, 4, dtype=element)
    made = aten.nn.functional.fractional_max_pool2d(image, 2, output_size=2)
    assert tuple(made.shape) == (64, 64, 2, 2)
