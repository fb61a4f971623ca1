"""What tensors tell of themselves as operators, and operators under other names, against torch."""

from __future__ import annotations

import itertools

import pytest
from comparison import assert_same, from_torch, translated
from derivatives import compare, numbers, outcome, torch

import aten

TENSORS = [
    torch.ones(3, 4),
    torch.ones(3, 4).t(),
    torch.ones(6, 4)[1::2],
    torch.ones(()),
    torch.ones(0, 2),
    torch.ones(2, 3).int(),
    torch.ones(2).bool(),
    torch.ones(2).to(torch.uint8),
    torch.ones(2).to(torch.complex64),
    torch.ones(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
]
PLAIN = [
    *("is_complex", "is_conj", "is_contiguous", "is_floating_point", "is_neg", "is_signed"),
    *("is_inference", "is_distributed", "storage_offset", "sym_storage_offset", "dim"),
    *("sym_is_contiguous", "get_device", "_is_zerotensor", "is_pinned"),
]


@pytest.mark.parametrize("name", PLAIN)
def test_questions(name):
    for tensor in TENSORS:
        assert compare(name, tensor) or name == "get_device"


def test_questions_about_more():
    for tensor, dim in itertools.product(TENSORS, (0, 1, -1, 4)):
        compare("stride.int", tensor, dim)
        compare("sym_stride.int", tensor, dim)
    for one, other in itertools.product(TENSORS, TENSORS):
        assert compare("is_same_size", one, other)
    x = aten.ones(3, 4)
    assert aten.ops.aten.is_set_to(x, x.view(3, 4)) is True
    assert aten.ops.aten.is_set_to(x, x.t()) is False
    assert aten.ops.aten.is_contiguous.memory_format(x, memory_format=aten.contiguous_format)


def test_types():
    for one, other in itertools.product(TENSORS, TENSORS):
        ours = aten.ops.aten.result_type.Tensor(from_torch(one), from_torch(other))
        assert_same(ours, torch.result_type(one, other))
        types = one.dtype, other.dtype
        assert_same(aten.ops.aten.promote_types(*translated(types)), torch.promote_types(*types))
        assert aten.ops.aten.can_cast(*translated(types)) is torch.can_cast(*types)
    for one, number in itertools.product(TENSORS, (True, 2, 2.5, 1j)):
        told = aten.ops.aten.result_type
        assert_same(told.Scalar(from_torch(one), number), torch.result_type(one, number))
        assert_same(told.Scalar_Tensor(number, from_torch(one)), torch.result_type(number, one))
        assert_same(told.Scalar_Scalar(number, 2), torch.result_type(number, 2))


@pytest.mark.parametrize(
    "name", ["Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"]
)
def test_conversions(name):
    for tensor in TENSORS[:8]:
        assert compare(f"_cast_{name}", tensor)


def test_conversions_of_one_name():
    for tensor in TENSORS:
        assert compare("to_dense", tensor)
        assert compare("to_dense", tensor, torch.float64)
        assert compare("_shape_as_tensor", tensor)
        assert compare("_lazy_clone", tensor, strides=False)
    assert compare("dequantize.self", torch.ones(3).double())
    assert compare("_dim_arange", torch.ones(3, 5), -1)
    assert compare("_reshape_from_tensor", torch.arange(6), torch.tensor([2, 3]))
    assert not compare("_reshape_from_tensor", torch.arange(6), torch.tensor([[2, 3]]))


def test_sequences():
    sequences = [torch.arange(3.0), torch.arange(5.0), torch.empty(0)]
    for first, side in itertools.product((False, True), ("right", "left")):
        assert compare("pad_sequence", sequences, first, 7.5, side)
        wide = [one[:, None].expand(-1, 2) for one in sequences]
        assert compare("pad_sequence", wide, first, 0.0, side)
    assert not compare("pad_sequence", [], False, 0.0, "right")
    assert not compare("pad_sequence", sequences, False, 0.0, "up")
    assert not compare("pad_sequence", [torch.ones(2), torch.ones(2, 2)], False, 0.0, "right")
    tensors = [torch.ones(2, 3), torch.arange(4.0).view(2, 2).t(), torch.tensor(5.0)]
    assert compare("flatten_dense_tensors", tensors)
    assert compare("unflatten_dense_tensors", torch.arange(11.0), tensors)


@pytest.mark.parametrize("element", ["float32", "float64", "int64", "bool", "complex64"])
def test_other_names(element):
    x = (numbers(3, 4) * 3).to(getattr(torch, element))
    compare("_logcumsumexp", x, 1)
    compare("_logcumsumexp.out", x, 1, out=x.new_empty(0))
    compare("_aminmax", x)
    compare("_aminmax.dim", x, 1, True)
    compare("_aminmax.out", x, out0=x.new_empty(0), out1=x.new_empty(0))
    compare("_aminmax.dim_out", x, 0, out0=x.new_empty(0), out1=x.new_empty(0))
    assert compare("_stack", [x, x], 1)
    assert compare("_stack.out", [x, x], -1, out=x.new_empty(0))
    assert compare("_unsafe_view", x, [4, 3])
    assert compare("_unsafe_view.out", x, [12], out=x.new_empty(0))
    assert compare("_reshape_alias_copy", x, [2, 3], [1, 2], strides=False)
    compare("linalg_matmul", x, x.t())
    compare("linalg_matmul.out", x, x.t(), out=x.new_empty(0))
    whole = numbers(3, 4)
    assert compare("slice_inverse", whole, torch.ones(3, 4)[1:], 0, 1, 3, 1)
    assert not compare("slice_inverse", whole[:1].clone(), torch.ones(3, 4)[1:], 0, 1, 3, 1)


@pytest.mark.parametrize("element", ["float32", "int64", "bool"])
def test_running_extremes(element):
    x = (numbers(3, 4) * 3).to(getattr(torch, element))
    for name, dim in itertools.product(("_cummax_helper", "_cummin_helper"), (0, 1)):
        values, indices = torch.empty_like(x), torch.empty(3, 4, dtype=torch.int64)
        assert compare(name, x, values, indices, dim)


@pytest.mark.parametrize("element", ["float32", "int32", "uint8", "bool"])
def test_sums_without_what_is_below_zero(element):
    one, other = (numbers(3, 4, seed=s).to(getattr(torch, element)) for s in (1, 2))
    for alpha in (1, 2):
        compare("_add_relu.Tensor", one, other, alpha=alpha)
        compare("_add_relu.Scalar", one, 2, alpha)
        compare("_add_relu_.Tensor", one.clone(), other, alpha=alpha)
        compare("_add_relu.out", one, other, alpha=alpha, out=one.new_empty(0))


def test_products():
    one, other = torch.arange(-6, 6).view(3, 4).to(torch.int8), torch.ones(4, 2).to(torch.int8)
    assert compare("_int_mm", one, other)
    assert compare("_int_mm", one.t(), other.new_ones(3, 5) * -128)
    assert compare("_int_mm.out", one, other, out=torch.zeros(3, 2).int())
    for wrong in ((one, other.t()), (one.int(), other.int()), (one[0], other)):
        assert not compare("_int_mm", *wrong)
    for sizes in ((3,), (3, 2, 2)):
        assert compare("_compute_linear_combination", numbers(*sizes), numbers(2, 3))
    with pytest.raises(RuntimeError):  # torch reads what is not there
        aten.ops.aten._compute_linear_combination(aten.ones(3, 2), aten.ones(2, 4))
    matrix = torch.eye(3) + 0.5
    factor = torch.linalg.cholesky(matrix)
    assert compare("_cholesky_solve_helper", numbers(3, 2), factor, False, strides=False)


def test_changed_copies():
    x, indices = numbers(4, 3), torch.tensor([1, 3])
    call = (x, [indices], numbers(2, 3))
    assert compare("_index_put_impl", *call)
    assert compare("_index_put_impl.out", *call, out=torch.empty(0))
    assert compare("embedding_renorm", x, indices, 0.5, 2.0)
    assert compare("embedding_renorm.out", x, indices, 0.5, 2.0, out=torch.empty(0))
    assert compare("set.source_Tensor", x, numbers(2))
    assert compare("set", x)
    assert compare("set.source_Tensor_out", x, numbers(2), out=torch.empty(0))


def test_where_tensors_lie():
    (copy,) = aten.ops.aten._to_cpu([aten.ones(2)])
    assert copy.tolist() == [1.0, 1.0]
    assert outcome(aten, "is_vulkan_available", (), {})[0] is False
