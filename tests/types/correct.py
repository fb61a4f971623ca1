"""Programs that are right: type checkers find nothing in them, and they run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

import aten
import aten.nn.functional as F  # noqa: N812
from aten import Generator, Size, Tensor, linalg

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: object, expected: object) -> None:
        """Checkers compare; running does not."""


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    return F.softmax(scores, dim=-1) @ value


class Linear:
    """A layer as people write it without modules."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        self.weight: aten.Tensor = aten.randn(outputs, inputs) / inputs**0.5
        self.bias = aten.zeros(outputs) if bias else None

    def __call__(self, x: aten.Tensor) -> aten.Tensor:
        return F.linear(x, self.weight, self.bias)


def batches(rows: Tensor, size: int) -> Iterator[Tensor]:
    for start in range(0, rows.size(0), size):
        yield rows[start : start + size]
    yield from rows.split(size)


def accuracy(logits: Tensor, labels: Tensor) -> float:
    return (logits.argmax(dim=1) == labels).float().mean().item()


def to_list(x: Tensor) -> list[float]:
    return x.tolist()


def to_array(x: Tensor) -> np.ndarray:  # type: ignore[type-arg, unused-ignore]
    return x.numpy()


def sizes(x: Tensor) -> tuple[int, int]:
    rows, columns = x.shape
    return rows, columns


x = aten.randn(4, 6)
index = aten.tensor([0, 2])
assert_type(x, Tensor)
assert_type(x.shape, Size)
assert_type(x.shape[0], int)
assert_type(x.size(), Size)
assert_type(x.size(0), int)
assert_type(x.dtype, aten.dtype)
assert_type(x.device, aten.device)
assert_type(x.numel(), int)
assert_type(x.is_floating_point(), bool)

# Numbers, lists and arrays come out.
total: float = x.sum().item()
count = int(x.numel()) + int(x.gt(0).sum().item())
array = x.numpy()
first: float = float(x[0, 0])
listed: list[list[float]] = x.tolist()
print(f"{total:.3f} {count} {array.shape} {first:.2f} {len(listed)} {x.mean():.3f}")
print(round(x.std().item(), 3), math.sqrt(abs(x.max().item())), bool(x.any()))

# Dimensions: one, several, as a list or one by one.
assert_type(x.sum(0), Tensor)
x.sum(dim=(0, 1), keepdim=True)
x.mean([0, 1])
aten.amax(x, dim=[0])
x.permute(1, 0).reshape(-1).view(2, -1).permute((1, 0))
x.reshape([6, 4]).expand(2, 6, 4).repeat(1, 2, 1).flip(0).flip([0, 1])
aten.zeros(3)
aten.zeros(2, 3, dtype=aten.float64)
aten.ones((2, 3), device="cpu")
aten.empty(x.shape).fill_(1.5)
aten.full((2, 2), 7, dtype=aten.int32)
aten.arange(10).view(*sizes(aten.zeros(2, 5)))
aten.rand(*x.shape)
x.squeeze().unsqueeze(0).squeeze(0).squeeze((0, 1))
x.roll(1, 0).roll(shifts=(1, 1), dims=(0, 1))
aten.tensor([1, 2], dtype=float)
aten.zeros(2, dtype=int)
x.to(aten.float64).to("cpu").to(dtype=aten.float32, copy=True)

# Named results, also unpacked, also as out=.
largest: aten.return_types.max = x.max(dim=1)
assert_type(largest.values, Tensor)
assert_type(largest.indices, Tensor)
values, indices = x.topk(2)
assert_type(values, Tensor)
aten.sort(x, descending=True).indices[:, 0]
aten.max(x, 0, out=(aten.empty(6), aten.empty(6, dtype=aten.int64)))
aten.topk(x, 2, out=(values, indices))
u, s, vh = linalg.svd(x, full_matrices=False)
assert_type(linalg.svd(x).S, Tensor)
assert_type(linalg.slogdet(x @ x.T).logabsdet, Tensor)
assert_type(aten.linalg.eigh(x @ x.mT).eigenvalues, Tensor)
q, r = aten.linalg.qr(x)
variance, mean = aten.var_mean(x, dim=1)
mantissa, exponent = aten.frexp(x)
low, high = aten.aminmax(x)
hist, edges = aten.histogram(x, bins=4)

# Operators of Python, with numbers on either side.
y = 2 * x + 1 - x / 3 + x**2 - 1.5 * -x + (1 - x) // 2 % 3 + abs(x)
y += 1
y -= x
y *= 0.5
z = (x > 0) & (x < 1) | ~(x == 0) ^ (x != 1)
assert_type(z, Tensor)
assert_type(x @ y.T, Tensor)
complex_numbers = x * 1j
assert_type(complex_numbers.real, Tensor)
matched = 1 in aten.arange(3)

# Indices.
x[0]
x[..., None, 0]
x[1:3, ::2]
x[index]
x[[0, 1], [1, 2]]
x[x > 0] = 0.0
x[0, 1] = 3
x[:, 0] = aten.arange(4)
x[np.array([0, 1])]
x[index[0]]
rows = list(x)
assert_type(rows[0], Tensor)
for row in x:
    row.add_(1)

# Functions of sequences.
aten.cat([x, y])
aten.stack((x, y), dim=1)
aten.cat(x.chunk(2), dim=0)
parts: tuple[Tensor, ...] = x.split([1, 3])
aten.concat(tuple(row[None] for row in x))
aten.einsum("ij,kj->ik", x, y)
grid = aten.meshgrid(aten.arange(2), aten.arange(3), indexing="ij")
aten.broadcast_tensors(x, aten.zeros(6))
aten.where(x > 0, x, 0.0)
aten.where(x > 0, 1.0, 0.0)
found = aten.where(x > 0)
assert_type(aten.nonzero(x), Tensor)
assert_type(aten.nonzero(x, as_tuple=True), tuple[Tensor, ...])
x.clamp(min=0).clamp(0, 1).clamp_(max=0.5)
aten.clamp(x, aten.zeros(6), aten.ones(6))
aten.add(x, 1, alpha=2)
aten.add(x, y, out=aten.empty(4, 6))
x.add(y, alpha=0.5).mul_(2).sqrt_().sub(1)
aten.quantile(x, 0.5)
aten.quantile(x, aten.tensor([0.1, 0.9]), dim=0)
aten.linspace(0, 1, 5)
aten.normal(0.0, 1.0, (2, 2))
aten.eye(3)
aten.logsumexp(x, dim=1)
aten.cumsum(x, 0)
assert_type(aten.unique(index), Tensor)
assert_type(index.unique(return_counts=True), tuple[Tensor, ...])
assert_type(aten.atleast_2d(index), Tensor)
assert_type(x.type(), str)
assert_type(x.type(aten.float64), Tensor)
aten.bincount(index)
aten.multinomial(aten.ones(4), 2, generator=Generator().manual_seed(0))
aten.allclose(x, y, atol=1e-3)
assert_type(aten.equal(x, y), bool)
assert_type(aten.is_tensor(x), bool)

# Layers.
image = aten.randn(1, 3, 8, 8)
weight = aten.randn(4, 3, 3, 3)
assert_type(F.conv2d(image, weight, padding=1, stride=2), Tensor)
F.conv2d(image, weight, None, (1, 1), padding="same")
assert_type(F.max_pool2d(image, 2), Tensor)
pooled, places = F.max_pool2d(image, 2, return_indices=True)
F.avg_pool2d(image, (2, 2), stride=2)
F.adaptive_avg_pool2d(image, (1, 1)).flatten(1)
F.interpolate(image, scale_factor=2.0, mode="bilinear", align_corners=False)
F.cross_entropy(x, aten.zeros(4, dtype=aten.int64), label_smoothing=0.1).item()
F.layer_norm(x, (6,), aten.ones(6), aten.zeros(6), eps=1e-6)
F.relu(F.gelu(F.silu(x)), inplace=True)
F.dropout(x, p=0.1, training=False)
F.embedding(index, x)
F.pad(image, (1, 1, 1, 1), value=0.0)
F.one_hot(index, num_classes=3)
F.scaled_dot_product_attention(image, image, image, is_causal=True)
F.normalize(x, dim=-1)
F.mse_loss(x, aten.zeros_like(x), reduction="sum")
F.batch_norm(image, aten.zeros(3), aten.ones(3))
attention(image, image, image)
print(accuracy(x, aten.zeros(4, dtype=aten.long)), to_list(x[0]), to_array(x).sum())
print(Linear(6, 2)(x).shape, sum(len(part) for part in batches(x, 2)))

# Namespaces.
aten.fft.ifft(aten.fft.fft(x, n=8, dim=-1)).real
aten.fft.rfft(x, norm="ortho")
aten.special.expit(x)
aten.special.logsumexp(x, 1)
aten.linalg.norm(x, ord="fro")
aten.linalg.solve(aten.eye(4), x)
aten.linalg.lstsq(x, y).solution
aten.ops.aten.add.Tensor(x, y, alpha=2)
assert_type(aten.ops.aten.softmax(x, 0), Tensor)
aten.from_numpy(np.ones(3)).numpy()
aten.signal.windows.hann(8)
aten.finfo(aten.float32).eps
aten.manual_seed(0)


def names(dims: Sequence[int]) -> Tensor:
    return aten.randn(dims).sum(dims[0] - 2 if len(dims) == 1 else 0)


names([2])


@aten.profiler.record_function("layer")
def layer(x: Tensor, width: int = 2) -> Tensor:
    return F.linear(x, aten.ones(width, x.shape[-1]))


plan = aten.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
with aten.profiler.profile(
    activities=[aten.profiler.ProfilerActivity.CPU],
    schedule=plan,
    on_trace_ready=lambda prof: print(prof.key_averages().table(row_limit=2)),
    record_shapes=True,
) as profile:
    for _ in range(3):
        with aten.profiler.record_function("step"):
            assert_type(layer(x, width=3), Tensor)
        profile.step()
print([event.name for event in profile.events()], len(profile.key_averages()))
