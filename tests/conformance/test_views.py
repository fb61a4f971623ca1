"""Views, reshaping and joining against torch: shapes, strides, offsets, values, errors."""

import pytest
from comparison import compare

torch = pytest.importorskip("torch")


def numbered(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = 1
    for size in shape:
        count *= size
    return torch.arange(count).reshape(shape).to(dtype)


LAYOUTS = {
    "0-d": torch.tensor(3.0),
    "1-d": numbered(6),
    "2-d": numbered(2, 3),
    "3-d": numbered(2, 3, 4),
    "transposed": numbered(2, 3, 4).transpose(0, 2),
    "permuted": numbered(2, 3, 4).permute(1, 2, 0),
    "expanded": numbered(2, 1, 3).expand(2, 4, 3),
    "sliced": numbered(4, 6)[1::2, ::3],
    "offset": numbered(4, 6)[2:],
    "ones": numbered(1, 3, 1),
    "4-d channels last": numbered(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    "empty": torch.empty(0, 3),
    "empty inside": torch.empty(2, 0, 3),
    "empty transposed": torch.empty(2, 0, 3).transpose(0, 1),
    "one element": numbered(1, 1),
    "square": numbered(4, 4),
    "7-d": numbered(2, 1, 2, 1, 2, 1, 2).transpose(0, 4),
}
VIEWS = {
    "alias": lambda t, x: t.ops.aten.alias(x),
    "detach": lambda t, x: x.detach(),
    "t": lambda t, x: x.t(),
    "T": lambda t, x: x.T if x.dim() == 2 else x.t(),
    "mT": lambda t, x: x.mT if x.dim() else x,
    **{
        f"transpose {a} {b}": lambda t, x, a=a, b=b: x.transpose(a, b)
        for a, b in [(0, 1), (-1, 0), (1, -2), (2, 0), (5, 0), (-4, 1)]
    },
    "swapaxes": lambda t, x: t.swapaxes(x, 0, -1),
    "permute reversed": lambda t, x: x.permute(*range(x.dim() - 1, -1, -1)),
    "permute list": lambda t, x: t.permute(x, list(range(x.dim()))),
    "permute negative": lambda t, x: x.permute(*[-1 - d for d in range(x.dim())]),
    "permute repeated": lambda t, x: x.permute(*[0] * x.dim()),
    "permute too few": lambda t, x: x.permute(0),
    **{f"unsqueeze {d}": lambda t, x, d=d: x.unsqueeze(d) for d in (0, 1, -1, -2, 3, 9, -9)},
    "squeeze": lambda t, x: x.squeeze(),
    **{f"squeeze {d}": lambda t, x, d=d: x.squeeze(d) for d in (0, -1, 1, 2, 9)},
    "squeeze two": lambda t, x: x.squeeze((0, 2)),
    "squeeze none": lambda t, x: x.squeeze(()),
    "squeeze repeated": lambda t, x: x.squeeze((0, 0)),
    "expand same": lambda t, x: x.expand(x.shape),
    "expand -1": lambda t, x: x.expand(*[-1] * x.dim()) if x.dim() else x.expand(()),
    "expand leading": lambda t, x: x.expand(5, *x.shape),
    "expand leading 1": lambda t, x: x.expand(1, *x.shape),
    "expand leading 2, 1": lambda t, x: x.expand(2, 1, *x.shape),
    "expand zero": lambda t, x: x.expand(0, *x.shape),
    "expand wrong": lambda t, x: x.expand(7),
    "expand leading -1": lambda t, x: x.expand(-1, *x.shape),
    "expand -2": lambda t, x: x.expand(*[-2] * x.dim()),
    **{
        f"select {d} {i}": lambda t, x, d=d, i=i: t.select(x, d, i)
        for d, i in [(0, 0), (0, 1), (-1, -1), (1, 2), (0, 99), (0, -99), (4, 0)]
    },
    **{
        f"slice {d} {start} {stop} {step}": (
            lambda t, x, a=(d, start, stop, step): t.ops.aten.slice(x, *a)
        )
        for d, start, stop, step in [
            (0, None, None, 1),
            (0, 1, None, 1),
            (-1, 0, -1, 1),
            (0, -1, 9, 1),
            (0, 3, 1, 1),
            (1, None, None, 2),
            (0, -99, 99, 3),
            (0, 0, 2**63 - 1, 1),
            (0, 0, 5, 0),
            (0, 0, 5, -1),
            (0, 0, 0, 4),
            (7, 0, 1, 1),
        ]
    },
    "as_strided": lambda t, x: t.as_strided(x, (2, 2), (1, 2)),
    "as_strided offset": lambda t, x: x.as_strided((2,), (1,), 1),
    "as_strided overlapping": lambda t, x: x.as_strided((3, 2), (0, 1)),
    "as_strided beyond": lambda t, x: x.as_strided((200,), (9,)),
    "as_strided negative": lambda t, x: x.as_strided((2,), (-1,)),
    "as_strided ranks": lambda t, x: x.as_strided((2,), (1, 1)),
    "as_strided negative offset": lambda t, x: x.as_strided((1,), (1,), -1),
    "diagonal": lambda t, x: x.diagonal(),
    "diagonal 1": lambda t, x: x.diagonal(1),
    "diagonal -1": lambda t, x: x.diagonal(-1, 0, -1),
    "diagonal far": lambda t, x: x.diagonal(99),
    "diagonal same": lambda t, x: x.diagonal(0, 1, 1),
    "unfold": lambda t, x: x.unfold(0, 2, 1),
    "unfold last": lambda t, x: x.unfold(-1, 1, 2),
    "unfold zero": lambda t, x: x.unfold(0, 0, 1),
    "unfold large": lambda t, x: x.unfold(0, 99, 1),
    "unfold step 0": lambda t, x: x.unfold(0, 1, 0),
    "view -1": lambda t, x: x.view(-1),
    "view same": lambda t, x: x.view(x.shape),
    "view split": lambda t, x: x.view(2, -1),
    "view ones": lambda t, x: x.view(1, *x.shape, 1),
    "view wrong": lambda t, x: x.view(5, 7),
    "view two unknown": lambda t, x: x.view(-1, -1),
    "view negative": lambda t, x: x.view(-2),
    "view zero unknown": lambda t, x: x.view(0, -1),
    "view merged": lambda t, x: x.view(-1, x.shape[-1]),
    "view int": lambda t, x: x.view(t.int32),
    "view short": lambda t, x: x.view(t.int16),
    "view double": lambda t, x: x.view(t.float64),
    "reshape -1": lambda t, x: x.reshape(-1),
    "reshape split": lambda t, x: t.reshape(x, (2, -1)),
    "reshape wrong": lambda t, x: x.reshape(5, 7),
    "reshape merged": lambda t, x: x.reshape(-1, x.shape[-1]),
    "reshape 0-d": lambda t, x: x.reshape(()),
    "reshape_as": lambda t, x: x.reshape_as(x.t()),
    "view_as": lambda t, x: x.view_as(x),
    "expand_as": lambda t, x: x.expand_as(t.ones(3, *x.shape)),
    "broadcast_to": lambda t, x: t.broadcast_to(x, (2, *x.shape)),
    "ravel": lambda t, x: x.ravel(),
    "flatten": lambda t, x: x.flatten(),
    "flatten 1": lambda t, x: t.flatten(x, 1),
    "flatten 0 1": lambda t, x: x.flatten(0, 1),
    "flatten backwards": lambda t, x: x.flatten(1, 0),
    "flatten equal": lambda t, x: x.flatten(-1, -1),
    "unflatten": lambda t, x: x.unflatten(0, (1, -1)),
    "unflatten last": lambda t, x: t.unflatten(x, -1, (3, 1)),
    "unflatten wrong": lambda t, x: x.unflatten(0, (7, 5)),
    "unflatten empty": lambda t, x: x.unflatten(0, ()),
    "narrow": lambda t, x: x.narrow(0, 1, 1),
    "narrow negative": lambda t, x: t.narrow(x, -1, -2, 2),
    "narrow zero": lambda t, x: x.narrow(0, 0, 0),
    "narrow beyond": lambda t, x: x.narrow(0, 1, 99),
    "narrow start beyond": lambda t, x: x.narrow(0, 99, 1),
    "narrow negative length": lambda t, x: x.narrow(0, 0, -1),
    "narrow tensor": lambda t, x: t.narrow(x, 0, t.tensor(1), 1),
    "narrow float tensor": lambda t, x: t.narrow(x, 0, t.tensor(1.0), 1),
    "split 1": lambda t, x: x.split(1),
    "split 2": lambda t, x: t.split(x, 2, -1),
    "split large": lambda t, x: x.split(100),
    "split 0": lambda t, x: x.split(0),
    "split negative": lambda t, x: x.split(-1),
    "split sizes": lambda t, x: x.split([1, 1]),
    "split sizes wrong": lambda t, x: x.split([1, 7]),
    "split sizes negative": lambda t, x: x.split([-1, 3]),
    "split_with_sizes": lambda t, x: t.split_with_sizes(x, [1, 2], -1),
    "chunk 2": lambda t, x: x.chunk(2),
    "chunk 3": lambda t, x: t.chunk(x, 3, -1),
    "chunk 0": lambda t, x: x.chunk(0),
    "unbind": lambda t, x: x.unbind(),
    "unbind last": lambda t, x: t.unbind(x, -1),
    "movedim": lambda t, x: x.movedim(0, -1),
    "movedim list": lambda t, x: t.movedim(x, (0, 1), (1, 0)),
    "movedim repeated": lambda t, x: t.movedim(x, (0, 0), (1, 0)),
    "movedim uneven": lambda t, x: t.movedim(x, (0, 1), (1,)),
    "contiguous": lambda t, x: x.contiguous(),
    "contiguous channels last": lambda t, x: x.contiguous(memory_format=t.channels_last),
    "clone": lambda t, x: x.clone(),
    "clone contiguous": lambda t, x: x.clone(memory_format=t.contiguous_format),
    "to float64": lambda t, x: x.to(t.float64),
    "to int": lambda t, x: x.int(),
    "to bool": lambda t, x: x.bool(),
    "to half copy": lambda t, x: x.to(t.float16, copy=True),
    "to channels last": lambda t, x: x.to(memory_format=t.channels_last),
    "cat twice": lambda t, x: t.cat([x, x]),
    "cat last": lambda t, x: t.cat((x, x), -1),
    "cat promotes": lambda t, x: t.cat([x, x.double()], dim=0),
    "cat legacy empty": lambda t, x: t.cat([t.empty(0), x, t.empty(0)]),
    "cat one": lambda t, x: t.cat([x]),
    "cat dim": lambda t, x: t.cat([x, x], 5),
    "cat different": lambda t, x: t.cat([x, t.ones(2, 9)]),
    "cat strided": lambda t, x: t.cat([x, x.clone(memory_format=t.contiguous_format)]),
    "cat out": lambda t, x: t.cat([x, x], out=t.empty(0)),
    "stack": lambda t, x: t.stack([x, x, x]),
    "stack last": lambda t, x: t.stack((x, x), -1),
    "stack different": lambda t, x: t.stack([x, t.ones(2, 9)]),
    "hstack": lambda t, x: t.hstack([x, x]),
    "vstack": lambda t, x: t.vstack([x, x]),
    "size": lambda t, x: (x.size(), x.shape, x.size(-1) if x.dim() else 0),
    "size beyond": lambda t, x: x.size(9),
    "sizes of ops": lambda t, x: t.ops.aten.sym_size.int(x, -1),
    "numel": lambda t, x: (t.numel(x), x.numel(), x.nelement()),
    "is_contiguous": lambda t, x: (
        x.is_contiguous(),
        x.is_contiguous(memory_format=t.channels_last),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view(name: str) -> None:
    for base in LAYOUTS.values():
        compare(VIEWS[name], base)


@pytest.mark.parametrize("name", VIEWS)
def test_view_of_meta(name: str) -> None:
    if name == "narrow tensor":
        pytest.skip("the index stays on the CPU")
    for base in LAYOUTS.values():
        if base.dim() == 0 and name.startswith("cat"):
            continue  # torch's own error there is an accident
        compare(VIEWS[name], base.to("meta"))


SHARING = {
    "view": lambda t, x: x.view(-1),
    "reshape": lambda t, x: x.reshape(3, 2),
    "slice": lambda t, x: t.ops.aten.slice(x, 0, 1, 2),
    "select": lambda t, x: x.select(1, 1),
    "transpose": lambda t, x: x.t(),
    "chunk": lambda t, x: x.chunk(2)[1],
    "unbind": lambda t, x: x.unbind(1)[2],
    "flatten": lambda t, x: x.flatten(),
    "expand": lambda t, x: x.select(0, 0).expand(1, 3),
    "dtype": lambda t, x: x.view(t.int32).view(t.float32),
}


@pytest.mark.parametrize("name", SHARING)
def test_views_share_memory(name: str) -> None:
    def expression(t, x):
        part = SHARING[name](t, x)
        distance = part.data_ptr() - x.data_ptr()
        part.fill_(7)
        return x, distance

    compare(expression, numbered(2, 3))


def test_conversions_give_the_tensor_itself_where_nothing_changes() -> None:
    def expression(t, x):
        return [
            one is x
            for one in (
                x.to("cpu"),
                x.to(t.float32),
                x.to(x),
                x.to(t.device("cpu"), t.float32),
                x.to(device="cpu", dtype=t.float32),
                x.float(),
                x.cpu(),
                x.contiguous(),
                x.type_as(x),
                x.to(t.float32, copy=True),
                x.to(memory_format=t.preserve_format),
                x.flatten(-1),
                t.dropout(x, 0.5, False),
                t.dropout(x, 0.0, True),
            )
        ]

    compare(expression, numbered(2, 3))


ERRORS = {
    "to nothing known": lambda t, x: x.to(colour=1),
    "to unknown device": lambda t, x: x.to("nowhere"),
    "to twice": lambda t, x: x.to(t.float32, dtype=t.float32),
    "meta to cpu": lambda t, x: x.to("meta").to("cpu"),
    "item of many": lambda t, x: x.item(),
    "truth of many": lambda t, x: bool(x),
    "truth of none": lambda t, x: bool(t.empty(0)),
    "cat nothing": lambda t, x: t.cat([]),
    "cat 0-d": lambda t, x: t.cat([t.tensor(1), x]),
    "cat meta and cpu": lambda t, x: t.cat([x, x.to("meta")]),
    "contiguous preserve": lambda t, x: x.t().contiguous(memory_format=t.preserve_format),
    "stack nothing": lambda t, x: t.stack([]),
    "dropout p": lambda t, x: t.dropout(x, 1.5, True),
    "assert sizes": lambda t, x: t.ops.aten._assert_tensor_metadata(x, [9]),
    "assert dtype": lambda t, x: t.ops.aten._assert_tensor_metadata(x, None, None, t.int8),
    "view of many types": lambda t, x: x.view("float"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    with pytest.raises(Exception):  # noqa: B017
        ERRORS[name](torch, numbered(2, 3))
    compare(ERRORS[name], numbered(2, 3))


VALUES = {
    "item": lambda t, x: x.select(0, 0).select(0, 1).item(),
    "is_nonzero": lambda t, x: t.is_nonzero(t.tensor(0.0)),
    "equal": lambda t, x: (t.equal(x, x.clone()), t.equal(x, x + 1), t.equal(x, x.t())),
    "metadata": lambda t, x: t.ops.aten._assert_tensor_metadata(
        x, [2, 3], None, t.float32, device=t.device("cpu")
    ),
    "to dtype of python": lambda t, x: x.to(int),
    "to other": lambda t, x: x.to(t.ones(1, dtype=t.int8)),
    "dropout 1": lambda t, x: t.dropout(x, 1.0, True),
    "type": lambda t, x: x.type(t.float64),
    "type name": lambda t, x: x.type().partition(".")[2],
    "complex": lambda t, x: x.to(t.complex64),
    "from bool": lambda t, x: x.bool().float(),
    "bfloat16": lambda t, x: x.bfloat16().float(),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    compare(VALUES[name], numbered(2, 3))
