"""What tensors look like."""

import pytest

import aten


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: aten.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: aten.tensor([[1, -20], [300, 4]]), "tensor([[  1, -20],\n        [300,   4]])"),
        (lambda: aten.tensor([1.5, 1e-5]), "tensor([1.5000e+00, 1.0000e-05])"),
        (lambda: aten.tensor([True, False]), "tensor([ True, False])"),
        (lambda: aten.tensor(2.5, dtype=aten.float64), "tensor(2.5000, dtype=aten.float64)"),
        (lambda: aten.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: aten.tensor([float("nan"), float("-inf")]), "tensor([nan, -inf])"),
        (lambda: aten.empty(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
        (lambda: aten.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (lambda: aten.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ],
)
def test_repr(tensor, text: str) -> None:
    assert repr(tensor()) == text


def test_a_large_tensor_prints_its_edges_only() -> None:
    text = repr(aten.zeros(3000, 3000))
    assert len(text) < 500
    assert text.count("...") == 7


def test_options_are_kept_and_reset() -> None:
    try:
        aten.set_printoptions(precision=1, linewidth=30)
        assert aten.get_printoptions()["precision"] == 1
        assert repr(aten.tensor([0.25])) == "tensor([0.2])"
        assert "\n" in repr(aten.arange(20))
    finally:
        aten.set_printoptions(profile="default")
    assert repr(aten.tensor([0.25])) == "tensor([0.2500])"
