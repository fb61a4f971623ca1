"""Factories without an oracle: what they promise about memory, devices and speed paths."""

import pytest

import aten


def test_every_factory_honours_the_meta_device() -> None:
    made = [
        aten.empty(2, 3, device="meta"),
        aten.zeros(2, 3, device="meta"),
        aten.full((2, 3), 1.5, device="meta"),
        aten.arange(6, device="meta"),
        aten.linspace(0, 1, 6, device="meta"),
        aten.eye(2, 3, device="meta"),
        aten.ones_like(aten.zeros(2), device="meta"),
        aten.scalar_tensor(1, device="meta"),
    ]
    assert all(tensor.is_meta and tensor.data_ptr() == 0 for tensor in made)


@pytest.mark.parametrize("device", ["cuda", "mps", "xla:1"])
def test_devices_without_a_backend_are_named(device: str) -> None:
    with pytest.raises(RuntimeError, match=device.partition(":")[0]):
        aten.zeros(2, device=device)


def test_layouts_and_pinned_memory_are_refused() -> None:
    with pytest.raises(RuntimeError, match="strided"):
        aten.zeros(2, layout=aten.sparse_coo)
    with pytest.raises(RuntimeError, match="pin_memory"):
        aten.ones(2, pin_memory=True)
    with pytest.raises(RuntimeError, match="pin_memory"):
        aten.arange(2, pin_memory=True)


def test_requires_grad_false_is_what_happens_anyway() -> None:
    assert not aten.zeros(2, requires_grad=False).requires_grad
    with pytest.raises(TypeError, match="requires_grad"):
        aten.sum(aten.zeros(2), requires_grad=False)


def test_sizes_beyond_memory_raise() -> None:
    with pytest.raises(RuntimeError, match=r"memory|overflow"):
        aten.empty(1 << 45, 1 << 10)
    with pytest.raises(RuntimeError, match="overflow"):
        aten.zeros(1 << 40, 1 << 40)


def test_out_is_resized_with_a_warning_where_it_held_elements() -> None:
    out = aten.ones(3)
    with pytest.warns(UserWarning, match="resized"):
        result = aten.zeros(2, 2, out=out)
    assert result is out
    assert out.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_out_of_a_lower_category_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be written"):
        aten.cat([aten.zeros(2)], out=aten.empty(0, dtype=aten.int64))


def test_several_outs_are_all_filled() -> None:
    values, places = aten.empty(0), aten.empty(0, dtype=aten.int64)
    result = aten.max(aten.tensor([[1.0, 5.0], [7.0, 2.0]]), 1, out=(values, places))
    assert result[0] is values
    assert values.tolist() == [5.0, 7.0]
    assert places.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("element", "value"),
    [
        (aten.uint8, 200),
        (aten.int16, -2),
        (aten.bfloat16, 1.5),
        (aten.float32, -0.0),
        (aten.int64, -(1 << 40)),
        (aten.complex128, 1.5 - 2.0j),
    ],
)
def test_every_element_is_filled(element: aten.dtype, value: complex) -> None:
    for count in (0, 1, 3, 7, 8, 15, 16, 17, 63, 64, 65, 127, 129, 300, 40_000, 300_001):
        made = aten.full((count,), value, dtype=element)
        assert made.dtype is element
        assert str(set(made.tolist())) == str({value} if count else set())
