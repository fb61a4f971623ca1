# %% numbers in and out
import numpy as np
import torch

a = np.linspace(0, 1, 5)
x = torch.from_numpy(a)
y = torch.tensor(a, dtype=torch.float32)
back = y.detach().cpu().numpy()
total = float(x.sum())

# %% a spectrogram
import torch

t = torch.arange(400) / 100
wave = torch.sin(2 * torch.pi * 5 * t)
window = torch.hann_window(64)
spec = torch.stft(wave, n_fft=64, hop_length=16, window=window, return_complex=True)
power = spec.abs().pow(2)
decibel = 10 * torch.log10(power.clamp(min=1e-5))
shape = tuple(decibel.shape)

# %% mel filters
import torch

n_mels, n_freqs = 4, 9
hz = torch.linspace(0, 4000, n_freqs)
mel = 2595 * torch.log10(1 + hz / 700)
points = torch.linspace(mel[0].item(), mel[-1].item(), n_mels + 2)
slopes = points.unsqueeze(0) - mel.unsqueeze(1)
down = -slopes[:, :-2] / (points[1:-1] - points[:-2])
up = slopes[:, 2:] / (points[2:] - points[1:-1])
filters = torch.clamp(torch.min(down, up), min=0)

# %% resampling by a polyphase filter
import torch
import torch.nn.functional as F

wave = torch.sin(torch.arange(32.0)).view(1, 1, -1)
kernel = torch.sinc(torch.arange(-3, 4) / 2.0).view(1, 1, -1) / 2
y = F.conv1d(wave, kernel, stride=2, padding=3)

# %% principal components
import torch

torch.manual_seed(0)
x = torch.randn(20, 4, dtype=torch.float64)
centered = x - x.mean(dim=0, keepdim=True)
u, s, vh = torch.linalg.svd(centered, full_matrices=False)
explained = s**2 / (s**2).sum()
cov = torch.cov(centered.T)

# %% least squares
import torch

a = torch.stack([torch.ones(5), torch.arange(5.0)], dim=1)
b = torch.tensor([1.0, 3.0, 5.0, 7.0, 9.0]).unsqueeze(1)
solution = torch.linalg.lstsq(a, b).solution
residual = (a @ solution - b).norm()

# %% nearest neighbours
import torch

points = torch.tensor([[0.0, 0.0], [1.0, 1.0], [4.0, 4.0]])
queries = torch.tensor([[0.9, 0.8], [3.0, 3.5]])
distances = torch.cdist(queries, points)
nearest = distances.topk(2, largest=False)

# %% interpolation in a table
import torch

xs = torch.tensor([0.0, 1.0, 2.0, 4.0])
ys = torch.tensor([0.0, 10.0, 15.0, 20.0])
q = torch.tensor([0.5, 3.0])
i = torch.searchsorted(xs, q).clamp(1, len(xs) - 1)
w = (q - xs[i - 1]) / (xs[i] - xs[i - 1])
y = torch.lerp(ys[i - 1], ys[i], w)

# %% normalizing features
import torch

x = torch.arange(12.0).reshape(4, 3)
std, mean = torch.std_mean(x, dim=0)
z = (x - mean) / (std + 1e-8)
low, high = torch.aminmax(x)
scaled = (x - low) / (high - low)

# %% quantiles
import torch

x = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0])
median = x.median()
quartiles = torch.quantile(x, torch.tensor([0.25, 0.75]))
histogram = torch.histc(x, bins=4, min=0, max=8)

# %% groups
import torch

keys = torch.tensor([0, 1, 0, 2, 1])
values = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
sums = torch.zeros(3).scatter_add_(0, keys, values)
unique, inverse, counts = torch.unique(keys, return_inverse=True, return_counts=True)
means = sums / counts

# %% one row for each group
import torch

out = torch.full((3,), float("-inf")).scatter_reduce(
    0, torch.tensor([0, 1, 0]), torch.tensor([1.0, 2.0, 3.0]), reduce="amax"
)

# %% a moving average
import torch

x = torch.arange(10.0)
windows = x.unfold(0, 3, 1).mean(-1)
cumulative = torch.cumsum(x, 0)
same = (cumulative[2:] - torch.cat([torch.zeros(1), cumulative[:-3]])) / 3

# %% einsum
import torch

a, b = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
c = torch.einsum("ij,jk->ik", a, b)
trace = torch.einsum("ii", torch.eye(3))
outer = torch.einsum("i,j->ij", torch.arange(2.0), torch.arange(3.0))

# %% einsum over heads
import torch

q = torch.arange(24.0).view(1, 3, 2, 4)
k = q.flip(1)
scores = torch.einsum("bqhd,bkhd->bhqk", q, k)

# %% fancy indexing
import torch

x = torch.arange(24).view(2, 3, 4)
a = x[..., -1]
b = x[:, [0, 2]]
c = x[torch.tensor([1, 0]), :, torch.tensor([2, 3])]
d = x[x % 2 == 0]
e = x[:, None, 1:, ::2]
x[0, 1] = -1
x[x > 20] = 0

# %% index_select and gather
import torch

x = torch.arange(12.0).view(3, 4)
rows = torch.index_select(x, 0, torch.tensor([2, 0]))
picked = x.gather(1, torch.tensor([[0], [3], [1]]))
taken = torch.take(x, torch.tensor([0, 5, 11]))
along = torch.take_along_dim(x, x.argsort(descending=True), dim=1)

# %% masked operations
import torch

x = torch.arange(6.0)
mask = x > 2
chosen = torch.masked_select(x, mask)
filled = x.masked_fill(~mask, 0.0)
where = torch.where(mask, x, torch.zeros_like(x))
any_, all_ = mask.any().item(), mask.all().item()

# %% reshaping
import torch

x = torch.arange(24)
a = x.view(2, 3, -1)
b = a.permute(2, 0, 1).contiguous()
c = b.flatten(1)
d = x.reshape(4, 6).t()
e = torch.squeeze(a.unsqueeze(1), 1)
f = torch.movedim(a, 0, -1)
parts = torch.split(x, [4, 8, 12])
chunks = x.chunk(5)

# %% legacy constructors
import torch

a = torch.Tensor([1, 2, 3])
b = torch.FloatTensor(2, 2).zero_()
c = torch.LongTensor([4, 5])
d = a.type(torch.LongTensor)
e = a.type()

# %% legacy signatures
import torch

m = torch.ones(2)
v = torch.zeros(2)
m.mul_(0.9).add_(0.1, torch.tensor([1.0, 2.0]))
v.addcmul_(0.5, m, m)
y = torch.addcdiv(torch.zeros(2), 2, m, m + 1)

# %% dtype juggling
import torch

x = torch.tensor([1.7, -2.3])
a = x.int()
b = x.half().float()
c = x.to(torch.int64)
d = x.bool()
e = x.long().double()
kind = torch.promote_types(torch.int32, torch.float16)
limits = (torch.finfo(torch.float16).max, torch.iinfo(torch.int8).min)

# %% bytes per parameter
import torch

weights = {"a": torch.zeros(10, 10), "b": torch.zeros(10, dtype=torch.float16)}
count = sum(w.numel() for w in weights.values())
size = sum(w.numel() * w.element_size() for w in weights.values())
print(f"{count:,} parameters, {size / 1024:.2f} KiB")

# %% a state dictionary filtered
from collections import OrderedDict

import torch

state = OrderedDict([("module.fc.weight", torch.ones(2, 3)), ("module.fc.bias", torch.zeros(2))])
state = {k.replace("module.", ""): v.clone() for k, v in state.items()}
half = {k: v.half() if v.is_floating_point() else v for k, v in state.items()}

# %% int8 by hand
import torch

w = torch.linspace(-1, 1, 8).view(2, 4)
scale = w.abs().amax(dim=1, keepdim=True) / 127
q = torch.clamp(torch.round(w / scale), -128, 127).to(torch.int8)
error = (q.float() * scale - w).abs().max()

# %% an exponential moving average
import torch

average = torch.zeros(3)
for step in range(3):
    average.lerp_(torch.full((3,), float(step)), 0.1)
other = torch.zeros(3)
other.mul_(0.99).add_(torch.ones(3), alpha=0.01)

# %% a state-space scan
import torch

a, b = torch.tensor([0.9, 0.5]), torch.tensor([1.0, 2.0])
h = torch.zeros(2)
outputs = []
for u in torch.arange(4.0):
    h = a * h + b * u
    outputs.append(h)
y = torch.stack(outputs)

# %% diffusion's betas
import torch

betas = torch.linspace(0.0001**0.5, 0.02**0.5, 10, dtype=torch.float32) ** 2
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, dim=0)
previous = torch.cat([torch.tensor([1.0]), alphas_cumprod[:-1]])
torch.manual_seed(0)
noise = torch.randn(1, 2)
noisy = alphas_cumprod[5].sqrt() * torch.ones(1, 2) + (1 - alphas_cumprod[5]).sqrt() * noise

# %% positions of time steps
import math

import torch

timesteps = torch.tensor([1, 10])
half = 4
freqs = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
args = timesteps[:, None].float() * freqs[None]
emb = torch.cat([torch.cos(args), torch.sin(args)], dim=-1)

# %% quaternions
import torch

q = torch.nn.functional.normalize(torch.tensor([[1.0, 0.2, 0.3, 0.4]]), dim=-1)
w, x, y, z = torch.unbind(q, -1)
matrix = torch.stack(
    [
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ],
    -1,
).reshape(-1, 3, 3)
unit = torch.allclose(matrix @ matrix.mT, torch.eye(3), atol=1e-6)

# %% rays of a camera
import torch

i, j = torch.meshgrid(torch.arange(4.0), torch.arange(3.0), indexing="xy")
directions = torch.stack([(i - 2) / 5, -(j - 1.5) / 5, -torch.ones_like(i)], dim=-1)
rays = torch.sum(directions[..., None, :] * torch.eye(3), dim=-1)
weights = 1 - torch.exp(-torch.relu(rays[..., 0]))
transmittance = torch.cumprod(torch.cat([torch.ones(3, 1), 1 - weights + 1e-10], -1), -1)[:, :-1]

# %% a policy's action
import torch
from torch.distributions import Categorical

torch.manual_seed(1)
probs = torch.softmax(torch.tensor([0.1, 0.5, 0.2]), dim=-1)
m = Categorical(probs)
action = m.sample()
log_prob = m.log_prob(action)
entropy = m.entropy()

# %% a Gaussian policy
import torch
from torch.distributions.normal import Normal

torch.manual_seed(1)
dist = Normal(torch.zeros(2), torch.ones(2))
action = dist.sample()
value = dist.log_prob(action).sum(-1)

# %% a variational bound
import torch
import torch.distributions as D

p = D.Normal(torch.tensor([0.5]), torch.tensor([2.0]))
q = D.Normal(torch.zeros(1), torch.ones(1))
kl = D.kl_divergence(p, q)

# %% compared in a test
import torch

torch.testing.assert_close(torch.ones(3) + 1e-7, torch.ones(3))
try:
    torch.testing.assert_close(torch.ones(3), torch.zeros(3))
    failed = False
except AssertionError:
    failed = True

# %% weights by hand
import torch
import torch.nn as nn

torch.manual_seed(0)
w = nn.init.xavier_uniform_(torch.empty(3, 5))
b = nn.init.zeros_(torch.empty(3))
k = torch.nn.init.kaiming_normal_(torch.empty(4, 3, 3, 3), mode="fan_out", nonlinearity="relu")

# %% a network of functions
import torch
import torch.nn.functional as F

torch.manual_seed(0)
w1, b1, w2, b2 = torch.randn(8, 4), torch.zeros(8), torch.randn(2, 8), torch.zeros(2)


def model(x):
    x = F.relu(F.linear(x, w1, b1))
    x = F.dropout(x, p=0.5, training=False)
    return F.log_softmax(F.linear(x, w2, b2), dim=1)


y = model(torch.ones(3, 4))

# %% a CNN of functions
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 1, 12, 12)
x = F.max_pool2d(F.relu(F.conv2d(x, torch.randn(4, 1, 3, 3) * 0.1)), 2)
x = F.batch_norm(x, torch.zeros(4), torch.ones(4))
x = F.adaptive_avg_pool2d(x, 1)
x = torch.flatten(x, 1)
x = F.leaky_relu_(x, 0.2)
