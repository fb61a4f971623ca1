"""Shape, view, copy and creation operators against torch, on every dtype and on odd layouts."""

import pytest
from comparison import compare

torch = pytest.importorskip("torch")

DTYPES = [
    getattr(torch, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
        "complex32 complex64 complex128"
    ).split()
]
FLOAT8 = [
    getattr(torch, f"float8_{name}")
    for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")
]


def numbered(*shape, dtype=torch.float32):
    count = 1
    for size in shape:
        count *= size
    values = torch.arange(count).reshape(shape)
    return (values % 3 == 1) if dtype is torch.bool else values.to(dtype)


LAYOUTS = {
    "0-d": lambda dtype: numbered(dtype=dtype).reshape(()),
    "1-d": lambda dtype: numbered(6, dtype=dtype),
    "matrix": lambda dtype: numbered(3, 4, dtype=dtype),
    "transposed": lambda dtype: numbered(2, 3, 4, dtype=dtype).transpose(0, 2),
    "expanded": lambda dtype: numbered(1, 3, 1, dtype=dtype).expand(2, 3, 4),
    "sliced": lambda dtype: numbered(6, 7, dtype=dtype)[1::2, ::3],
    "channels last": lambda dtype: numbered(2, 3, 2, 2, dtype=dtype).contiguous(
        memory_format=torch.channels_last
    ),
    "empty": lambda dtype: numbered(0, 3, dtype=dtype),
}
MOVES = {
    "flip": lambda t, x: t.flip(x, (0,)),
    "flip both": lambda t, x: x.flip(0, -1),
    "flip none": lambda t, x: t.flip(x, ()),
    "flip twice": lambda t, x: t.flip(x, (0, 0)),
    "fliplr": lambda t, x: t.fliplr(x),
    "flipud": lambda t, x: t.flipud(x),
    "roll": lambda t, x: x.roll(2),
    "roll far": lambda t, x: t.roll(x, (-7, 5), (0, 1)),
    "roll lengths": lambda t, x: t.roll(x, (1, 2), (0,)),
    "roll beyond": lambda t, x: t.roll(x, 1, 9),
    "rot90": lambda t, x: t.rot90(x),
    "rot90 back": lambda t, x: t.rot90(x, -1, (1, 0)),
    "rot90 same": lambda t, x: t.rot90(x, 1, (0, 0)),
    "repeat": lambda t, x: x.repeat(2, 1, 3, *[1] * max(0, x.dim() - 3)),
    "repeat zero": lambda t, x: x.repeat(*[0] * (x.dim() + 1)),
    "repeat few": lambda t, x: x.repeat(3),
    "repeat negative": lambda t, x: x.repeat(*[-1] * (x.dim() + 1)),
    "tile": lambda t, x: x.tile(2),
    "tile more": lambda t, x: t.tile(x, (2, 1, 2, 1, 1)),
    "diag": lambda t, x: t.diag(x, 1),
    "diag_embed": lambda t, x: t.diag_embed(x, -1),
    "diag_embed dims": lambda t, x: t.diag_embed(x, 1, 0, 2),
    "diag_embed same": lambda t, x: t.diag_embed(x, 0, 1, 1),
    "diagflat": lambda t, x: t.diagflat(x, 1),
    "tril": lambda t, x: x.tril(),
    "triu": lambda t, x: t.triu(x, 1),
    "triu far": lambda t, x: t.triu(x, -(2**62)),
    "expand_copy": lambda t, x: t.expand_copy(x, (2, *x.shape)),
    "permute_copy": lambda t, x: t.permute_copy(x, tuple(range(x.dim()))[::-1]),
    "view_copy": lambda t, x: t.view_copy(x, (-1,)),
    "unbind_copy": lambda t, x: t.unbind_copy(x),
    "narrow_copy": lambda t, x: x.narrow_copy(0, 1, 2),
    "as_strided_copy": lambda t, x: t.as_strided_copy(x, (2,), (1,)),
    "tensor_split": lambda t, x: t.tensor_split(x, 4),
    "tensor_split at": lambda t, x: x.tensor_split((1, 5, -1), -1),
    "hsplit": lambda t, x: t.hsplit(x, 3),
    "vsplit": lambda t, x: x.vsplit((1,)),
    "dsplit": lambda t, x: t.dsplit(x, 2),
    "unsafe_split": lambda t, x: t.unsafe_split(x, 2),
    "atleast": lambda t, x: [t.atleast_1d(x), t.atleast_2d(x), t.atleast_3d(x, x)],
    "stacks": lambda t, x: [t.dstack((x, x)), t.column_stack((x, x)), t.row_stack((x, x))],
    "moveaxis": lambda t, x: t.moveaxis(x, 0, -1),
    "adjoint": lambda t, x: t.adjoint(x).resolve_conj(),
    "H": lambda t, x: x.H.resolve_conj(),
    "mT": lambda t, x: x.mT,
    "sum_to_size": lambda t, x: x.sum_to_size(1) if x.dim() else x,
    "contiguous": lambda t, x: x.contiguous(),
    "real": lambda t, x: x.real,
    "imag": lambda t, x: x.imag,
    "resize": lambda t, x: x.clone().resize_(2, 2).shape,
    "squeeze_": lambda t, x: x.unsqueeze(0).squeeze_(),
    "transpose_": lambda t, x: x.clone().transpose_(0, -1),
    "t_": lambda t, x: x.clone().t_(),
    "unsqueeze_": lambda t, x: x.clone().unsqueeze_(-1),
    "swapaxes_": lambda t, x: x.clone().swapaxes_(0, 1),
    "as_strided_": lambda t, x: x.clone().as_strided_((2, 2), (1, 1)),
    "copy": lambda t, x: t.ops.aten.copy(x, x[:1] if x.dim() else x),
    "copy wrong": lambda t, x: t.ops.aten.copy(x[:1], x),
}


# torch refuses rare types here in some layouts, and takes them in others.
_RARE = {"uint16", "uint32", "uint64", "complex32"}
PARTLY_REFUSED = {
    **dict.fromkeys(("flip", "flip both", "fliplr", "flipud", "rot90", "rot90 back"), _RARE),
    "sum_to_size": {"complex32"},
}
# On the meta device torch checks these otherwise: not at all, or by another type of exception.
CHECKED_OTHERWISE = {
    *("as_strided_", "roll beyond", "roll far", "roll lengths", "t_", "view_copy"),
}


def _moves():
    for name in MOVES:
        for dtype in DTYPES:
            if str(dtype).removeprefix("torch.") not in PARTLY_REFUSED.get(name, ()):
                yield name, dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "dtype"), list(_moves()), ids=str)
def test_moves(name, dtype) -> None:
    for layout in LAYOUTS.values():
        compare(MOVES[name], layout(dtype))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(MOVES.keys() - CHECKED_OTHERWISE))
def test_moves_on_the_meta_device(name) -> None:
    for layout in LAYOUTS.values():
        compare(MOVES[name], layout(torch.complex64).to("meta"))


COMBINED = {
    "meshgrid": lambda t, x, y: t.meshgrid(x, y, indexing="ij"),
    "meshgrid xy": lambda t, x, y: t.meshgrid([x, y], indexing="xy"),
    "meshgrid ab": lambda t, x, y: t.meshgrid(x, y, indexing="ab"),
    "cartesian_prod": lambda t, x, y: t.cartesian_prod(x, y),
    "combinations": lambda t, x, y: t.combinations(x),
    "combinations replaced": lambda t, x, y: t.combinations(x, 3, True),
    "combinations none": lambda t, x, y: t.combinations(x, 0),
    "combinations negative": lambda t, x, y: t.combinations(x, -1),
    "block_diag": lambda t, x, y: t.block_diag(x, y),
    "broadcast_tensors": lambda t, x, y: t.broadcast_tensors(x, y),
    "broadcast_shapes": lambda t, x, y: t.broadcast_shapes(x.shape, (1, *y.shape), 1),
    "broadcast_shapes wrong": lambda t, x, y: t.broadcast_shapes((2, 3), (4,)),
    "broadcast_shapes negative": lambda t, x, y: t.broadcast_shapes((-2,)),
    "kron": lambda t, x, y: t.kron(x, y),
    "_chunk_cat": lambda t, x, y: t._chunk_cat([x, y], 0, 2),
    "cat out": lambda t, x, y: t.cat((x, y), out=t.empty(0, dtype=x.dtype)),
    "cat out dtype": lambda t, x, y: t.cat((x, y), out=t.empty(0, dtype=t.int8)),
    "cat out overlap": lambda t, x, y: t.cat((x, y), out=x),
    "stack out": lambda t, x, y: t.stack((x, x), 1, out=t.empty(0, dtype=x.dtype)),
    "resize_as_": lambda t, x, y: x.clone().resize_as_(y).shape,
    "set_": lambda t, x, y: x.clone().set_(y),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64], ids=str)
@pytest.mark.parametrize("name", COMBINED)
def test_combinations_of_two(name, dtype) -> None:
    pairs = [((3,), (2,)), ((), (3,)), ((2, 3), (2, 1)), ((0,), (3,)), ((1, 2, 3), (2, 2))]
    for left, right in pairs:
        compare(COMBINED[name], numbered(*left, dtype=dtype), numbered(*right, dtype=dtype))


FACTORIES = {
    "logspace": lambda t, o: t.logspace(0, 2, 5, **o),
    "logspace base": lambda t, o: t.logspace(0, 3, 4, 2.0, **o),
    "logspace negative": lambda t, o: t.logspace(0, 3, -1, **o),
    "range": lambda t, o: t.range(1, 4, **o),
    "linspace": lambda t, o: t.linspace(1, 9, 6, **o),
    "range wrong": lambda t, o: t.range(4, 1, **o),
    "empty_permuted": lambda t, o: t.empty_permuted((2, 3, 4), (1, 2, 0), **o).stride(),
    "empty_permuted twice": lambda t, o: t.empty_permuted((2, 3), (1, 1), **o),
    "tril_indices": lambda t, o: t.tril_indices(3, 4, 1, **o),
    "triu_indices": lambda t, o: t.triu_indices(4, 3, -1, **o),
    "tril_indices negative": lambda t, o: t.tril_indices(-1, 3, **o),
    "arange out": lambda t, o: t.arange(1, 7, 2, out=t.empty(0, **o), **o),
    "zeros out": lambda t, o: t.zeros(2, 3, out=t.empty(0), **o),
    "full wraps": lambda t, o: t.full((2,), -3, **o),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [*DTYPES, None], ids=str)
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name, dtype) -> None:
    def expression(t, given):
        return FACTORIES[name](t, {} if given is None else {"dtype": given})

    tolerance = 1e-2 if dtype in (torch.float16, torch.bfloat16, torch.complex32) else 1e-5
    compare(expression, dtype, tolerance=tolerance)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_lazy_conjugates_share_memory(dtype) -> None:
    def expression(t, x):
        y = x.conj()
        shared = y.data_ptr() == x.data_ptr()
        y[0] = 3 + 4j
        y.mul_(1j)
        y.imag.add_(1)
        x.real.sub_(2)
        views = y.view(2, -1).t()[0].conj()
        total = y + x.conj() * y.imag
        return [
            shared, y.is_conj(), views.is_conj(), y.imag.is_neg(), total.is_conj(), x,
            y.resolve_conj(), views.tolist(), total, t.view_as_real(x), y.clone().is_conj(),
            x.neg().conj().conj().is_conj(), y.sum(), t.cat((y, x)), x.copy_(y).clone(),
            t.zeros_like(y).is_conj(), t.resolve_neg(y.imag).is_neg(), y.imag.tolist(),
        ]  # fmt: skip

    compare(expression, torch.tensor([1 + 2j, 3 - 1j, -2j, 4], dtype=dtype), strides=False)


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_float8_conversions(dtype) -> None:
    every_code = torch.arange(256, dtype=torch.uint8)
    for other in (torch.float16, torch.bfloat16):
        every_half = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(other)
        compare(lambda t, x, f: x.to(f).view(t.uint8), every_half, dtype)
        compare(lambda t, x, f, h: x.view(f).to(h), every_code, dtype, other)
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(-(1 << 31), 1 << 31, (20000,), generator=generator)
    near = (
        torch.arange(256).repeat_interleave(16) * 0x800000 + torch.arange(16).repeat(256) * 0x80000
    )
    numbers = torch.cat((bits, near, near - 1, near + 1)).to(torch.int32).view(torch.float32)
    compare(lambda t, x, f: x.to(f).view(t.uint8), numbers, dtype)
    compare(lambda t, x, f: x.view(f).float(), every_code, dtype)
    compare(lambda t, x, f: x.view(f).to(t.int32), every_code[:64], dtype)
    compare(lambda t, x, f: x.view(f) == x.view(f), every_code, dtype)
    compare(lambda t, x, f: x.view(f).tolist(), every_code[:120], dtype)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_float8_tensors(dtype) -> None:
    def expression(t, f):
        x = t.tensor([1.0, 0.3, -2.5, 1e9, 0.0], dtype=f)
        made = [
            x, x.clone(), x.repeat(2), x[1:3], t.zeros(2, dtype=f).fill_(2.5),
            t.full((2,), 0.3).to(f), t.cat((x, x)), x.unsqueeze(0).expand(2, 5).contiguous(),
            t.zeros_like(x), x.roll(1),
            t.ones(3).to(f), t.tensor([1 + 2j]).to(f), t.tensor([True]).to(f),
        ]  # fmt: skip
        return [one.view(t.uint8) for one in made] + [t.equal(x[:3], x[:3].clone()), x != x]

    compare(expression, dtype)
    compare(lambda t, f: t.ones(2, dtype=f) + 1, dtype)


COPIES = {
    "to meta": lambda t: t.empty(3, device="meta").copy_(t.ones(3)),
    "to meta broadcast": lambda t: t.empty(2, 3, device="meta").copy_(t.ones(3)),
    "to meta wrong": lambda t: t.empty(2, device="meta").copy_(t.ones(3)),
    "from meta": lambda t: t.ones(3).copy_(t.empty(3, device="meta")),
    "meta to meta": lambda t: t.empty(3, device="meta").copy_(t.empty(1, device="meta")),
    "to and back": lambda t: t.ones(3).to("meta").to("cpu"),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_between_devices(name) -> None:
    compare(COPIES[name])
