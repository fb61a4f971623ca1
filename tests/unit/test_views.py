"""Views: shared memory, and no way out of it."""

import pytest

import aten


def test_views_of_views_share_one_storage() -> None:
    base = aten.arange(24).view(2, 3, 4)
    views = [
        base.t() if base.dim() == 2 else base.transpose(0, 2),
        base.unfold(2, 2, 1),
        base.diagonal(0, 1, 2),
        base.split(1, 1)[2],
        base.expand(5, 2, 3, 4),
        base.flatten(),
        base.unflatten(2, (2, -1)),
        base.movedim(0, -1),
        base.view(aten.int32),
    ]
    assert all(view.untyped_storage() is base.untyped_storage() for view in views)


def test_reshape_copies_only_where_it_must() -> None:
    base = aten.arange(6).view(2, 3)
    assert base.reshape(3, 2).data_ptr() == base.data_ptr()
    assert base.t().reshape(6).data_ptr() != base.data_ptr()


@pytest.mark.parametrize(
    "window",
    [((7,), (1,), 0), ((2,), (6,), 0), ((1,), (1,), 6), ((2, 2), (5, 1), 0), ((2,), (1 << 62,), 0)],
)
def test_windows_beyond_the_storage_are_refused(window) -> None:
    with pytest.raises(RuntimeError, match="out of bounds"):
        aten.arange(6).as_strided(*window)


def test_out_variants_of_joins_write_where_they_are_told() -> None:
    out = aten.zeros(4, dtype=aten.float64)
    result = aten.cat([aten.ones(2), aten.ones(2)], out=out)
    assert result is out
    assert out.tolist() == [1.0] * 4
    with pytest.raises(RuntimeError, match="single memory location"):
        aten.cat([aten.ones(2), aten.ones(2)], out=aten.zeros(1).expand(4))
