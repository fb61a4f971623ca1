"""Programs that one process captures and another one reads.

python tests/unit/kept_programs.py FOLDER    # exports, compiles and runs all of them
"""

import sys
from pathlib import Path

import aten
from aten import nn


class Normalized(nn.Module):
    """A perceptron with norms: kernels of several operators, and weights in strips."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 130), nn.Linear(130, 48, bias=False)
        self.norm = nn.LayerNorm(48)

    def forward(self, x):
        return self.norm(self.second(nn.functional.gelu(self.first(x)))).softmax(-1)


class Convolved(nn.Module):
    """Batch norms that convolutions take in, and a residual."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 16, 3, padding=1)
        self.register_buffer("scale", aten.rand(16, 1, 1))
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        hidden = nn.functional.relu(self.norm(self.first(x)))
        return nn.functional.silu(self.second(hidden) + hidden) * self.scale.exp()


class Attending(nn.Module):
    """Attention over an embedding that the results share, and several results in a dict."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 32)
        self.query = nn.Linear(32, 96)

    def forward(self, places, mask):
        hidden = self.table(places)
        q, k, v = self.query(hidden).chunk(3, -1)
        made = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return {"scores": made @ self.table.weight.t(), "sums": (hidden.sum(), hidden.amax(-1))}


class Wide(nn.Module):
    """A matrix that is laid out in many pieces, and read by two products."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(aten.randn(3000, 260))
        self.turned = nn.Parameter(aten.randn(260, 3001))

    def forward(self, x):
        return nn.functional.linear(x, self.weight), (x + 1) @ self.turned


class Recurrent(nn.Module):
    """An LSTM, whose weights are laid out in blocks."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 24, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0].tanh()


class Rectified(nn.Module):
    """Products that are cut off, one of which is laid out in many pieces."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(300, 2500), nn.Linear(2500, 60)

    def forward(self, x):
        return nn.functional.relu6(self.second(nn.functional.relu(self.first(x))))


class Shelved(nn.Module):
    """Bags of several tables, which are one call with as many results."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(30, 12, mode="sum") for _ in range(5))

    def forward(self, places):
        offsets = aten.arange(0, 8, 2)
        return aten.stack([one(places[:, at], offsets) for at, one in enumerate(self.tables)])


class Embedded(nn.Module):
    """Elements at indices, which kernels of several operators read."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(40, 24), nn.Embedding(9, 24)
        self.norm = nn.LayerNorm(24)

    def forward(self, ids, chosen):
        hidden = self.norm(self.words(ids) + self.places(ids % 9))
        return hidden, self.words.weight[ids - 40].relu().sum(-1), hidden.gather(2, chosen).neg()


class Averaged(nn.Module):
    """Folds by themselves between convolutions and products: of few elements, of so many that they
    are cut into pieces, and with two results."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 20, 3), nn.Linear(20, 5)

    def forward(self, x):
        hidden = self.first(x)
        deviation, mean = aten.std_mean(self.first(x.flip(0)), (1, 3))
        return self.last(hidden.mean((-2, -1))), self.first(2 * x).amax(), deviation @ mean.t()


class Picking(nn.Module):
    """Rows in the order of their sums, normalized; then halved while they are large."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        rows = x[x.sum(1).topk(3)[1]]
        weights = (self.layer(rows) @ rows.t()).softmax(-1) * 2
        (halved,) = aten.while_loop(lambda w: w.sum() > 1, lambda w: (w / 2,), (weights,))
        return halved


PROGRAMS = {
    "normalized": (Normalized, lambda: (aten.randn(7, 64),)),
    "convolved": (Convolved, lambda: (aten.randn(2, 3, 9, 11),)),
    "averaged": (Averaged, lambda: (aten.randn(2, 3, 150, 170),)),
    "attending": (Attending, lambda: (aten.arange(12).view(2, 6), aten.randn(6, 6))),
    "wide": (Wide, lambda: (aten.randn(5, 260),)),
    "rectified": (Rectified, lambda: (aten.randn(2, 3, 300),)),
    "shelved": (Shelved, lambda: (aten.arange(40).view(8, 5) % 29,)),
    "recurrent": (Recurrent, lambda: (aten.randn(3, 5, 16),)),
    "embedded": (
        Embedded,
        lambda: (aten.arange(36).view(4, 9), aten.arange(72).view(4, 9, 2) % 24),
    ),
}

# Of which a first part is a program.
PARTED = {"picking": (Picking, lambda: (aten.randn(9, 6),))}

# Part of what a kept program is known by: as many for those who write and those who read.
THREADS = 2


def main(folder):
    aten.manual_seed(3)
    aten.set_num_threads(THREADS)
    for name, (kind, arguments) in {**PROGRAMS, **PARTED}.items():
        module, args = kind().eval(), arguments()
        with aten.no_grad():
            aten.export.save(aten.export.export(module, args), folder / f"{name}.pt2")
            compiled = aten.compile(aten.export.load(folder / f"{name}.pt2").module())
            found = [compiled(*args) for _ in range(3)]
        aten.save({"args": args, "found": found}, folder / f"{name}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
