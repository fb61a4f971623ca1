# %% device, the usual line
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.arange(6, dtype=torch.float32).to(device)
print(device, x)

# %% device, three kinds
import torch

if torch.cuda.is_available():
    device = "cuda"
elif torch.backends.mps.is_available():
    device = "mps"
else:
    device = "cpu"
print(f"Using {device} device")
x = torch.ones(2, 3, device=device)

# %% accelerator of new versions
import torch

device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
print(f"Using {device} device")

# %% device from arguments
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
parser.add_argument("--half", action="store_true")
args = parser.parse_args([])
device = torch.device(args.device)
dtype = torch.float16 if args.half and device.type != "cpu" else torch.float32
x = torch.zeros(1, 3, 4, 4, device=device, dtype=dtype)

# %% seed everything
import os
import random

import numpy as np
import torch


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


seed_everything(42)
x = torch.randn(4)

# %% cudnn flags by import
import torch
import torch.backends.cudnn as cudnn

cudnn.benchmark = True
cudnn.deterministic = False
enabled = cudnn.enabled

# %% TF32 flags
import torch

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.set_float32_matmul_precision("high")
precision = torch.get_float32_matmul_precision()
torch.set_float32_matmul_precision("highest")

# %% deterministic
import torch

torch.use_deterministic_algorithms(True)
on = torch.are_deterministic_algorithms_enabled()
torch.use_deterministic_algorithms(False)

# %% gradients off for the whole script
import torch

torch.set_grad_enabled(False)
on = torch.is_grad_enabled()
x = torch.ones(3).exp()
torch.set_grad_enabled(True)

# %% no_grad around inference
import torch

x = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
with torch.no_grad():
    y = torch.softmax(x, dim=-1)
    inside = torch.is_grad_enabled()
outside = torch.is_grad_enabled()

# %% no_grad over a function
import torch


@torch.no_grad()
def predict(x):
    return torch.sigmoid(x) > 0.5, torch.is_grad_enabled()


found, enabled = predict(torch.tensor([-1.0, 1.0]))

# %% inference_mode
import torch


@torch.inference_mode()
def run(x):
    return x * 2


with torch.inference_mode():
    mode = torch.is_inference_mode_enabled()
    y = run(torch.arange(3))

# %% threads
import torch

torch.set_num_threads(2)
torch.set_num_interop_threads(1)
count = torch.get_num_threads()

# %% the version
import torch

major, minor = (int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
has_cuda = torch.version.cuda is not None
print("CUDA available:", torch.cuda.is_available())
print("devices:", torch.cuda.device_count())

# %% the default dtype
import torch

torch.set_default_dtype(torch.float64)
x = torch.tensor([1.0, 2.0])
kind = torch.get_default_dtype()
torch.set_default_dtype(torch.float32)

# %% the default device
import torch

torch.set_default_device("cpu")
x = torch.ones(2)
where = torch.get_default_device()
torch.set_default_device(None)

# %% a model without memory on meta
import torch

with torch.device("meta"):
    weight = torch.empty(4096, 4096)
    bias = torch.zeros(4096)
size = weight.numel() * weight.element_size()
meta = weight.is_meta

# %% memory report where there may be a GPU
import torch


def memory():
    if not torch.cuda.is_available():
        return 0.0
    return torch.cuda.max_memory_allocated() / 2**30


gigabytes = memory()
torch.cuda.empty_cache()
allocated = torch.cuda.memory_allocated()

# %% synchronize for timing
import time

import torch


def timed(function, *arguments):
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    result = function(*arguments)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return result, time.perf_counter() - start >= 0


y, positive = timed(torch.matmul, torch.eye(3), torch.ones(3, 3))

# %% autocast switched off
import torch

use_amp = torch.cuda.is_available()
with torch.autocast("cuda", enabled=use_amp):
    y = torch.ones(2, 2) @ torch.ones(2, 2)

# %% autocast of long ago
import torch

with torch.cuda.amp.autocast(enabled=False):
    y = torch.ones(3) * 2

# %% out of memory caught
import torch

try:
    x = torch.ones(4)
except torch.cuda.OutOfMemoryError if hasattr(torch.cuda, "OutOfMemoryError") else RuntimeError:
    x = None

# %% half on GPUs, float on processors
import torch

dtype = torch.bfloat16 if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else torch.float32
x = torch.linspace(0, 1, 5, dtype=dtype)

# %% print options
import torch

torch.set_printoptions(precision=3, sci_mode=False)
print(torch.tensor([1.23456, 1e-5, 1000.0]))
torch.set_printoptions(profile="default")

# %% a generator of its own
import torch

generator = torch.Generator(device="cpu").manual_seed(1234)
latents = torch.randn((1, 4, 8, 8), generator=generator)
noise = torch.rand(3, generator=generator)
index = torch.randint(0, 10, (4,), generator=generator)

# %% forked random numbers
import torch

torch.manual_seed(0)
with torch.random.fork_rng():
    torch.manual_seed(7)
    inner = torch.rand(2)
outer = torch.rand(2)
state = torch.get_rng_state()
first = torch.rand(1)
torch.set_rng_state(state)
again = torch.rand(1)

# %% types in annotations
from typing import List, Optional, Tuple, Union

import torch
from torch import Tensor


def scale(x: Tensor, factor: Optional[Union[float, torch.Tensor]] = None) -> Tuple[Tensor, torch.dtype]:
    return (x if factor is None else x * factor), x.dtype


y, kind = scale(torch.ones(2), 3.0)
device: torch.device = y.device
shape: torch.Size = y.shape
names: List[torch.Tensor] = [y]

# %% dtype by name
import torch

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
x = torch.ones(2, dtype=DTYPES["bf16"])
other = getattr(torch, "float64")
y = x.to(other)

# %% is it a tensor
import torch

x = torch.ones(2)
checks = [
    torch.is_tensor(x),
    isinstance(x, torch.Tensor),
    torch.is_floating_point(x),
    torch.is_complex(x),
    isinstance(x, torch.FloatTensor),
    x.is_cuda,
    x.requires_grad,
    x.grad is None,
]

# %% constants
import torch

mask = torch.full((2, 2), -torch.inf).triu(1)
angle = torch.tensor(torch.pi / 2).sin()
column = torch.arange(3)[:, torch.newaxis]
bad = torch.tensor(torch.nan).isnan()

# %% the device of a tensor decides
import torch

x = torch.ones(2, 3)
mask = torch.zeros(x.shape, device=x.device, dtype=torch.bool)
like = torch.zeros_like(x, memory_format=torch.preserve_format)
empty = x.new_zeros(3)
index = x.get_device()

# %% attention backends
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

q = torch.randn(1, 2, 4, 8, generator=torch.Generator().manual_seed(0))
with sdpa_kernel(SDPBackend.MATH):
    y = F.scaled_dot_product_attention(q, q, q, is_causal=True)

# %% capability of the processor
import torch

capable = torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
flash = torch.backends.cuda.flash_sdp_enabled()
built = torch.backends.cuda.is_built()

# %% quiet warnings, and a logger
import logging
import warnings

import torch

warnings.filterwarnings("ignore", category=UserWarning)
logger = logging.getLogger(__name__)
logger.info("torch %s, %d threads", torch.__version__, torch.get_num_threads())
x = torch.zeros(1)

# %% code that may be compiled or scripted
import torch


@torch.jit.ignore
def width(x):
    return x.shape[-1]


@torch.compiler.disable
def forward(x):
    if torch.jit.is_scripting() or torch.jit.is_tracing() or torch.compiler.is_compiling():
        return x
    return x / width(x)


y = forward(torch.ones(2, 4))

# %% a module of one's own
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x).relu()


net = Net().eval()
with torch.no_grad():
    y = net(torch.ones(1, 4))
names = [name for name, _ in net.named_parameters()]

# %% an optimizer
import torch

weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
(weight * weight).sum().backward()
optimizer.step()
gradient, values = weight.grad, weight.tolist()
del weight

# %% a data loader
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(6)), batch_size=4)
batches = [batch[0].tolist() for batch in loader]

# %% weights in a checkpoint
import io
import torch

file = io.BytesIO()
torch.save({"weight": torch.arange(4.0), "epoch": 3}, file)
file = io.BytesIO(file.getvalue())
state = torch.load(file, map_location="cpu", weights_only=True)
del file, io
print(state["weight"], state["epoch"])

# %% compile
import torch


@torch.compile(backend="eager")
def f(x):
    return x + 1


y = f(torch.arange(3.0))

# %% a traced program
import torch

traced = torch.jit.trace(torch.nn.ReLU(), torch.ones(2))
y = traced(torch.tensor([-1.0, 2.0]))
del traced

# %% bfloat16 autocast on the processor
import torch

with torch.autocast("cpu", dtype=torch.bfloat16):
    y = torch.ones(2, 2) @ torch.ones(2, 2)

# %% vmap
import torch

f = torch.vmap(torch.dot)
products = f(torch.ones(3, 2), torch.ones(3, 2))
