"""Joined and rearranged tensors: what is compiled gives what the operator's own function gives."""

import warnings
from importlib import import_module

import pytest

import aten
from aten.registry import operator

joining, rearranging, padding = (
    import_module(f"aten.ops.{name}")
    for name in ("shape.joining", "shape.rearranging", "windows.padding")
)

_TYPES = [
    aten.bool,
    aten.uint8,
    aten.int16,
    aten.bfloat16,
    aten.int32,
    aten.float64,
    aten.complex64,
    aten.complex128,
    aten.uint32,
]


def _numbers(*sizes, dtype=aten.float32):
    count = 1
    for size in sizes:
        count *= size
    return (aten.arange(count) % 97 - 40).to(dtype).reshape(sizes)


def _tensors(dtype):
    """Tensors of several ranks and layouts."""
    base = _numbers(4, 6, 5, dtype=dtype)
    images = _numbers(2, 3, 4, 5, dtype=dtype)
    return [
        base[0, 0, 0],
        base[0, 0],
        base[0],
        base[1].t(),
        base,
        base.transpose(0, 2),
        base.permute(2, 0, 1)[1:, ::2],
        base[:, :1].expand(4, 3, 5),
        base[:, :0],
        base[0, 0, :0],
        images,
        images.contiguous(memory_format=aten.channels_last),
        images[:, :1],
        images.view(2, 3, 2, 2, 5),
        _numbers(1, 2, 1, 2, 1, 3, 2, dtype=dtype).transpose(1, 3),
    ]


_ONE_TENSOR = [
    *[("flip", rearranging.flip, (dims,)) for dims in [(), (0,), (-1,), (0, 1), (0, 2), (1, 1)]],
    *[
        ("roll", rearranging.roll, arguments)
        for arguments in [
            ((0,),),
            ((3,),),
            ((-7,),),
            ((1,), (0,)),
            ((-2,), (-1,)),
            ((9,), (1,)),
            ((1, 2), (0, 1)),
            ((2, 3), (1, 1)),
            ((1, 1, 1), (0, 1, 2)),
            ((1, 2), (0,)),
            ((1,), (7,)),
        ]
    ],
    *[
        ("repeat", rearranging.repeat, (times,))
        for times in [(), (2,), (1, 3), (2, 1, 2), (0, 2, 1), (2, 1, 1, 3), (-1, 1, 1, 1)]
    ],
    *[
        (name, getattr(rearranging, name), (diagonal,))
        for name in ("tril", "triu")
        for diagonal in (0, 1, -2, 99, -99, 1 << 62, -(1 << 62))
    ],
    *[
        ("constant_pad_nd", padding.constant_pad_nd, (pad, value))
        for pad in [(), (1, 2), (0, 0), (-1, 1), (1, 0, 0, 2), (-2, 1, 3, -1), (1, 1, 1, 1, 1, 1)]
        for value in (0, 2)
    ],
    ("constant_pad_nd", padding.constant_pad_nd, ((1,), 0)),
    ("constant_pad_nd", padding.constant_pad_nd, ((-9, 1), 0)),
    ("constant_pad_nd", padding.constant_pad_nd, ((1 << 62, 1 << 62), 0)),
]


def _outcome(call, *arguments, **keywords):
    """What a call gives, in comparable words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = call(*arguments, **keywords)
    except Exception as error:
        return type(error), str(error)
    return made.dtype, tuple(made.shape), made.stride(), made.is_conj(), str(made.tolist())


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
def test_rearranged_tensors(dtype) -> None:
    for tensor in _tensors(dtype):
        for name, function, arguments in _ONE_TENSOR:
            expected = _outcome(function, tensor, *arguments)
            found = _outcome(operator(f"aten::{name}"), tensor, *arguments)
            assert found == expected, (name, arguments, tuple(tensor.shape), tensor.stride())


def _partners(tensor):
    """Lists of tensors to join with this one, some of which do not fit."""
    half = tensor.narrow(0, 0, tensor.size(0) // 2) if tensor.dim() else tensor
    return [
        (tensor,),
        (tensor, tensor),
        (tensor, half, tensor.clone()),
        (tensor,) * 20,
        (tensor, aten.empty(0)),
        (tensor, tensor.to(aten.float64)),
        (tensor, tensor.t() if tensor.dim() == 2 else tensor.reshape(-1)),
        (tensor, tensor.flip(0) if tensor.dim() else tensor),
    ]


@pytest.mark.parametrize("name", ["cat", "stack"])
@pytest.mark.parametrize("dtype", _TYPES, ids=str)
def test_joined_tensors(name, dtype) -> None:
    function, compiled = getattr(joining, name), operator(f"aten::{name}")
    for tensor in _tensors(dtype):
        for tensors in _partners(tensor):
            for dim in range(-tensor.dim() - 1, tensor.dim() + 2):
                expected = _outcome(function, tensors, dim)
                assert _outcome(compiled, tensors, dim) == expected, (tuple(tensor.shape), dim)
                assert _outcome(compiled, list(tensors), dim) == expected


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_joined_into_given_tensors(name) -> None:
    function, compiled = getattr(joining, name), operator(f"aten::{name}.out")
    for tensor in _tensors(aten.float32):
        for tensors in _partners(tensor):
            for dim in range(-1, tensor.dim() + 1):
                try:
                    sizes = function(tensors, dim).shape
                except Exception:
                    sizes = (1,)
                for make in (
                    lambda: aten.full(sizes, 7.0),
                    lambda: aten.full(sizes, 7.0, dtype=aten.float64),
                    lambda: aten.full(sizes, 7),
                    lambda: aten.full((*sizes, 2), 7.0)[..., 0],
                    lambda: aten.empty(0),
                ):
                    one, other = make(), make()
                    expected = _outcome(function, tensors, dim, out=one)
                    assert _outcome(compiled, tensors, dim, out=other) == expected
                    assert str(other.tolist()) == str(one.tolist())


def test_joining_into_one_of_the_tensors_is_refused() -> None:
    whole = _numbers(4)
    for part in (whole[:2], whole):
        with pytest.raises(RuntimeError, match="shares memory"):
            aten.cat((part, part), out=whole)
    assert whole.tolist() == _numbers(4).tolist()


def test_a_given_tensor_counts_the_write() -> None:
    out = aten.zeros(4)
    before = out._version
    aten.cat((aten.ones(2), aten.ones(2)), out=out)
    assert out._version > before


@pytest.mark.parametrize(
    "write",
    [
        lambda out, half: aten.cat((half, half), out=out),
        lambda out, half: aten.stack((half, half), out=out.view(2, -1)),
        lambda out, half: aten.cat((half, half.to(aten.float64)), out=out),
        lambda out, half: aten.cat((half[::2], half[1::2], half), out=out),
        lambda out, half: out.normal_(),
    ],
)
def test_writing_parts_a_tensor_from_its_lazy_copies(write) -> None:
    out, half = aten.zeros(1 << 17), aten.ones(1 << 16)
    copy, before = out.clone(), half.clone()
    write(out, half)
    assert bool((out != 0).all())
    assert not bool(copy.any())
    assert aten.equal(before, half)


def test_lazy_conjugates_are_joined_as_what_they_read_as() -> None:
    lazy = aten.tensor([1 + 2j, 3 - 1j]).conj()
    assert aten.cat((lazy, lazy)).tolist() == [1 - 2j, 3 + 1j] * 2
    assert lazy.flip(0).tolist() == [3 + 1j, 1 - 2j]
    assert lazy.repeat(2).tolist() == [1 - 2j, 3 + 1j] * 2


@pytest.mark.parametrize("sizes", [(700, 901), (3, 300, 517), (630_011,), (90_001, 7), (7, 90_001)])
def test_large_tensors_have_the_same_elements_for_any_number_of_threads(sizes) -> None:
    tensor = aten.arange(1_200_000)[: _numbers(*sizes).numel()].to(aten.float32).view(sizes)
    turned = tensor.transpose(0, -1)
    calls = [
        lambda: aten.cat((tensor, tensor), 0),
        lambda: aten.cat((tensor, tensor.narrow(-1, 0, 3), tensor), -1),
        lambda: aten.stack((tensor, tensor, tensor), tensor.dim()),
        lambda: aten.cat((turned, turned), 0),
        lambda: tensor.flip(-1),
        lambda: turned.flip(0),
        lambda: tensor.roll(5, -1),
        lambda: turned.repeat(*(2,) * tensor.dim()),
        lambda: aten.nn.functional.pad(tensor, (3, 2)),
        *[(lambda: tensor.tril(3)), (lambda: turned.triu(-2))] * (tensor.dim() > 1),
    ]
    threads = aten.get_num_threads()
    try:
        aten.set_num_threads(1)
        alone = [call() for call in calls]
        aten.set_num_threads(3)
        for expected, call in zip(alone, calls, strict=True):
            assert aten.equal(call(), expected)
    finally:
        aten.set_num_threads(threads)
    assert aten.equal(alone[0].narrow(0, 0, sizes[0]), tensor)
    assert aten.equal(alone[2].select(-1, 1), tensor)
    assert aten.equal(alone[3].narrow(0, turned.size(0), turned.size(0)), turned)
    assert aten.equal(alone[4].flip(-1), tensor)
    assert aten.equal(alone[6].roll(-5, -1), tensor)
