"""The compiled way through an index: taken only where it does what the operators would do."""

import pytest

import aten
from aten import DispatchKey, registry


def test_a_kernel_of_the_users_is_called() -> None:
    select = registry.operator("aten::select.int")
    calls = []

    mine = aten.ones(3)

    def kernel(self: aten.Tensor, dim: int, index: int) -> aten.Tensor:
        calls.append((dim, index))
        return mine

    tensor = aten.arange(6).view(2, 3)
    assert tensor[1].tolist() == [3, 4, 5]
    handle = select.register(DispatchKey.CPU, kernel)
    try:
        assert tensor[1] is mine
        assert calls == [(0, 1)]
        assert tensor[1:].tolist() == [[3, 4, 5]]
    finally:
        handle.destroy()
    assert tensor[1].tolist() == [3, 4, 5]


def test_a_trace_shows_every_operator(capsys: pytest.CaptureFixture[str]) -> None:
    with aten.trace_dispatch():
        aten.arange(6).view(2, 3)[0, 1:, None]
    printed = capsys.readouterr()
    for name in ("select", "slice", "unsqueeze"):
        assert f"compiled view {name}" in printed.out + printed.err


def test_views_share_and_bump_the_version() -> None:
    tensor = aten.zeros(2, 3)
    row = tensor[0]
    before = tensor._version
    row[1] = 5
    assert tensor.tolist() == [[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]
    tensor[aten.tensor([True, False])] = 1
    assert tensor._version == before + 2
    assert row.tolist() == [1.0, 1.0, 1.0]


def test_indices_that_would_leave_memory_raise() -> None:
    tensor = aten.arange(6).view(2, 3)
    for index in (2, -3, (0, 3), (0, 0, 0), [5], (slice(None), [-4])):
        with pytest.raises(IndexError):
            tensor[index]
        with pytest.raises(IndexError):
            tensor[index] = 0
    with pytest.raises(IndexError, match="64"):
        tensor[(None,) * 70]
    for operator in (aten.index_select, aten.gather):
        with pytest.raises((IndexError, RuntimeError)):
            operator(tensor, 0, aten.tensor([9, 9]))
