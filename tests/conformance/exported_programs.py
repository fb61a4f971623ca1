"""Modules to export, with examples of their arguments, and arguments of other sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import aten
from aten import nn
from aten.export import Dim, map, scan
from aten.nn import functional

batch = Dim("batch")
length = Dim("length", min=3, max=400)
width = Dim("width", min=3)


class Case(NamedTuple):
    """A module, its arguments, its dynamic sizes, and arguments of other sizes."""

    module: Callable[..., Any]
    args: tuple[Any, ...]
    dynamic_shapes: Any = None
    others: tuple[Any, ...] | None = None


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", aten.zeros(2, 8, 4))
        self.register_buffer("seen", aten.zeros((), dtype=aten.int64), persistent=False)

    def forward(self, x: aten.Tensor, place: int = 3) -> aten.Tensor:
        self.keys[:, place : place + 1] = x
        self.seen += 1
        return self.keys.transpose(1, 2).sum(-1) * self.seen


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.embedding = nn.Embedding(11, 8)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 11)

    def forward(self, ids: aten.Tensor) -> aten.Tensor:
        places = aten.arange(ids.shape[1]).unsqueeze(-1) / ids.shape[1]
        return self.head(self.layers(self.embedding(ids) + places))


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.second = nn.Conv2d(4, 4, 3, stride=2, padding=1)
        self.third = nn.Conv2d(4, 4, 3, stride=2)
        self.norm = nn.BatchNorm2d(4)
        self.scale = aten.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x: aten.Tensor) -> aten.Tensor:
        x = functional.relu(self.norm(self.second(functional.relu(self.first(x)))))
        return self.third(x).flatten(2).transpose(1, 2) * self.scale


def _mutate(x: aten.Tensor, y: aten.Tensor) -> Any:
    x.add_(y)
    x[0].mul_(2)
    return x.view(-1)[1:], y + x


def _attend(q: aten.Tensor, k: aten.Tensor, v: aten.Tensor) -> aten.Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def _index(x: aten.Tensor, i: aten.Tensor) -> Any:
    positive = aten.where(x > 0, x, 0.0).cumsum(0)
    return x[i], x[:, None, ::2], positive, x.topk(2)[1], x.std(0)


def _triangle(x: aten.Tensor) -> aten.Tensor:
    size = x.shape[0]
    return (aten.eye(size) + aten.tril(aten.ones(size, size))) @ x


def _sizes(x: aten.Tensor, y: aten.Tensor) -> Any:
    return aten.cat([x, y], 0), x.shape[0] + y.shape[0], x.mean(), x / x.shape[0]


SCALE = aten.tensor([1.0, 2.0, 3.0])


def _either(x: aten.Tensor, y: aten.Tensor) -> Any:
    def positive(a: aten.Tensor, b: aten.Tensor) -> Any:
        return a + b * SCALE, aten.cond(a.sum() > 5, lambda c: c + 1, lambda c: c - y, (a,))

    return aten.cond(x.sum() > 0, positive, lambda a, b: (a - b, b * x), (x, y))


def _repeated(x: aten.Tensor, n: aten.Tensor) -> Any:
    start = (aten.tensor(0), x)
    return aten.while_loop(lambda i, a: i < n.sum(), lambda i, a: (i + 1, a * 2 + x), start)


def _over_rows(x: aten.Tensor, y: aten.Tensor) -> Any:
    last, kept = scan(lambda c, row: (c + row * y, {"kept": c * row}), x[0], x)
    return last, kept, map(lambda row, by: row + by, x, y)


def _function(function: Callable[..., Any]) -> nn.Module:
    return _Function(function)


def cases() -> dict[str, Case]:
    aten.manual_seed(0)
    r = aten.randn
    one, two = aten.tensor([1, 2]), aten.tensor([0, 3, 1])
    ids, more = aten.randint(0, 11, (2, 5)), aten.randint(0, 11, (3, 9))
    return {
        "linear": Case(nn.Linear(3, 4), (r(2, 3),), ({0: batch},), (r(7, 3),)),
        "image": Case(
            Image().eval(),
            (r(2, 3, 37, 29),),
            ({0: batch, 2: Dim("height", min=15), 3: Dim("wide", min=15)},),
            (r(1, 3, 40, 63),),
        ),
        "language": Case(Language().eval(), (ids,), ({0: batch, 1: length},), (more,)),
        "lstm": Case(
            nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True),
            (r(2, 4, 4),),
            ({0: batch},),
            (r(3, 4, 4),),
        ),
        "gru": Case(nn.GRU(4, 5), (r(4, 2, 4),), ({1: batch},), (r(4, 3, 4),)),
        "cache": Case(Cache(), (r(2, 1, 4),)),
        "mutation": Case(_function(_mutate), (r(3, 4), r(4)), ({0: batch}, None), (r(5, 4), r(4))),
        "attention": Case(
            _function(_attend),
            (r(2, 3, 7, 4), r(2, 3, 7, 4), r(2, 3, 7, 4)),
            ({0: batch, 2: length},) * 3,
            (r(1, 3, 9, 4), r(1, 3, 9, 4), r(1, 3, 9, 4)),
        ),
        "views": Case(
            _function(lambda x: x.view(x.shape[0], -1, 2).permute(2, 0, 1).reshape(-1)),
            (r(3, 4, 6),),
            ({0: batch, 1: length},),
            (r(2, 5, 6),),
        ),
        "pad": Case(
            _function(lambda x: functional.pad(x, (1, 2, 0, x.shape[0]))),
            (r(3, 4),),
            ({0: batch, 1: length},),
            (r(5, 6),),
        ),
        "nearest": Case(
            _function(lambda x: functional.interpolate(x, scale_factor=2.0)),
            (r(1, 2, 4, 5),),
            ({2: length, 3: width},),
            (r(1, 2, 7, 3),),
        ),
        "bilinear": Case(
            _function(
                lambda x: functional.interpolate(x, size=(x.shape[2] * 2, 9), mode="bilinear")
            ),
            (r(1, 2, 4, 5),),
            ({2: length, 3: width},),
            (r(1, 2, 7, 3),),
        ),
        "sizes": Case(
            _function(_sizes),
            (r(3, 4), r(5, 4)),
            ({0: Dim("first")}, {0: Dim("second")}),
            (r(2, 4), r(9, 4)),
        ),
        "derived": Case(
            _function(lambda x, y: x[1:] + y),
            (r(4, 2), r(3, 2)),
            ({0: batch + 1}, {0: batch}),
            (r(7, 2), r(6, 2)),
        ),
        "even": Case(
            _function(lambda x: x.view(-1, 2).sum(1)), (r(8),), ({0: 2 * batch},), (r(14),)
        ),
        "nested": Case(
            _function(lambda d, k: {"s": d["x"] + k[0], "t": (k[1].sum(), d["y"])}),
            ({"x": r(2, 3), "y": 1.5}, [r(2, 3), r(4)]),
            ({"x": {0: batch}, "y": None}, [{0: batch}, None]),
            ({"x": r(5, 3), "y": 1.5}, [r(5, 3), r(4)]),
        ),
        "chunks": Case(
            _function(lambda x: [c * 2 for c in x.chunk(3, 1)] + list(x.unbind(1)[:2])),
            (r(2, 6),),
            ({0: batch},),
            (r(5, 6),),
        ),
        "indexing": Case(
            _function(_index), (r(5, 6), one), ({0: length}, {0: batch}), (r(4, 6), two)
        ),
        "triangle": Case(_function(_triangle), (r(4, 3),), ({0: batch},), (r(6, 3),)),
        "integer": Case(
            _function(lambda x, n: x * n + aten.full((n,), 2.0).sum()),
            (r(3), 5),
            (None, Dim("n", min=2)),
            (r(3), 8),
        ),
        "norms": Case(
            nn.Sequential(nn.LayerNorm(6), nn.GELU(), nn.Softmax(-1), nn.Dropout(0.5)).eval(),
            (r(3, 6),),
            ({0: batch},),
            (r(1, 6),),
        ),
        "groups": Case(
            nn.Sequential(nn.GroupNorm(2, 4), nn.SiLU(), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1)),
            (r(2, 4, 6, 6),),
            ({0: batch},),
            (r(5, 4, 6, 6),),
        ),
        "root": Case(
            _function(lambda x: x * x.shape[0] ** -0.5), (r(3, 6),), ({0: batch},), (r(8, 6),)
        ),
        "training": Case(nn.BatchNorm1d(4), (r(3, 4),), ({0: batch},), (r(9, 4),)),
        "einsum": Case(
            _function(lambda x, y: aten.einsum("bij,bjk->bik", x, y)),
            (r(2, 3, 4), r(2, 4, 5)),
            ({0: batch}, {0: batch}),
            (r(6, 3, 4), r(6, 4, 5)),
        ),
        "dilated": Case(
            nn.Sequential(
                nn.Conv1d(2, 4, 5, stride=3, padding=2, dilation=2),
                nn.ReLU(),
                nn.ConvTranspose1d(4, 2, 3, stride=2),
            ),
            (r(2, 2, 31),),
            ({2: Dim("time", min=12)},),
            (r(2, 2, 52),),
        ),
        "cond": Case(
            _function(_either),
            (aten.ones(2, 3), r(2, 3)),
            ({0: batch}, {0: batch}),
            (-aten.ones(4, 3), r(4, 3)),
        ),
        "while_loop": Case(
            _function(_repeated), (r(3), one), ({0: batch}, None), (r(5), aten.tensor([0, 4]))
        ),
        "scan": Case(
            _function(_over_rows),
            (r(4, 3), r(3)),
            ({0: Dim("rows", min=2)}, None),
            (r(6, 3), r(3)),
        ),
    }
