# %% ids and a mask
import torch

input_ids = torch.tensor([[101, 2023, 2003, 102, 0, 0]])
attention_mask = (input_ids != 0).long()
lengths = attention_mask.sum(dim=1)
last = input_ids[torch.arange(input_ids.size(0)), lengths - 1]

# %% mean pooling
import torch


def mean_pooling(token_embeddings, attention_mask):
    expanded = attention_mask.unsqueeze(-1).expand(token_embeddings.size()).float()
    return torch.sum(token_embeddings * expanded, 1) / torch.clamp(expanded.sum(1), min=1e-9)


x = torch.arange(2 * 3 * 4, dtype=torch.float32).view(2, 3, 4)
pooled = mean_pooling(x, torch.tensor([[1, 1, 0], [1, 0, 0]]))
pooled = torch.nn.functional.normalize(pooled, p=2, dim=1)

# %% cosine similarity of sentences
import torch
import torch.nn.functional as F

a = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
b = torch.tensor([[1.0, 2.0, 2.0], [1.0, 0.0, 0.0]])
similarity = F.cosine_similarity(a, b)
matrix = F.normalize(a) @ F.normalize(b).T
best = matrix.argmax(dim=-1)

# %% padding sequences
import torch
from torch.nn.utils.rnn import pad_sequence

sequences = [torch.tensor([1, 2, 3]), torch.tensor([4, 5]), torch.tensor([6])]
padded = pad_sequence(sequences, batch_first=True, padding_value=0)
lengths = torch.tensor([len(s) for s in sequences])
mask = torch.arange(padded.size(1))[None, :] < lengths[:, None]

# %% padding with numpy
import numpy as np
import torch

texts = [[1, 2, 3], [4], [5, 6]]
width = max(map(len, texts))
ids = torch.as_tensor(np.array([t + [0] * (width - len(t)) for t in texts]), dtype=torch.long)

# %% greedy decoding
import torch

torch.manual_seed(0)
table = torch.randn(10, 10)
ids = torch.tensor([[3]])
for _ in range(5):
    logits = table[ids[:, -1]]
    next_id = torch.argmax(logits, dim=-1, keepdim=True)
    ids = torch.cat([ids, next_id], dim=-1)
print(ids.tolist())

# %% sampling with a temperature
import torch
import torch.nn.functional as F

torch.manual_seed(0)
logits = torch.tensor([[1.0, 2.0, 0.5, -1.0]])
probs = F.softmax(logits / 0.7, dim=-1)
token = torch.multinomial(probs, num_samples=1)

# %% top-k filtering
import torch

logits = torch.tensor([[1.0, 3.0, 2.0, -1.0, 0.5]])
k = 2
values, _ = torch.topk(logits, k)
logits[logits < values[:, [-1]]] = -float("Inf")
probs = torch.softmax(logits, dim=-1)

# %% nucleus filtering
import torch
import torch.nn.functional as F

logits = torch.tensor([2.0, 1.0, 0.5, 0.1, -2.0])
sorted_logits, sorted_indices = torch.sort(logits, descending=True)
cumulative = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
remove = cumulative > 0.8
remove[..., 1:] = remove[..., :-1].clone()
remove[..., 0] = 0
filtered = logits.masked_fill(remove.scatter(0, sorted_indices, remove), float("-inf"))

# %% a repetition penalty
import torch

logits = torch.tensor([[1.0, -2.0, 3.0, 0.5]])
ids = torch.tensor([[2, 1]])
score = torch.gather(logits, 1, ids)
score = torch.where(score < 0, score * 1.2, score / 1.2)
logits.scatter_(1, ids, score)

# %% a causal mask
import torch

size = 4
mask = torch.triu(torch.ones(size, size), diagonal=1).bool()
bias = torch.zeros(size, size).masked_fill(mask, float("-inf"))
lower = torch.tril(torch.ones(size, size)).view(1, 1, size, size)

# %% attention by hand
import math

import torch
import torch.nn.functional as F

torch.manual_seed(1)
q, k, v = (torch.randn(1, 2, 4, 8) for _ in range(3))
scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
scores = scores.masked_fill(torch.tril(torch.ones(4, 4)) == 0, float("-inf"))
y = F.softmax(scores, dim=-1) @ v
y = y.transpose(1, 2).contiguous().view(1, 4, 16)

# %% rotary positions
import torch


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


inv_freq = 1.0 / (10000 ** (torch.arange(0, 8, 2).float() / 8))
t = torch.arange(5, dtype=inv_freq.dtype)
freqs = torch.outer(t, inv_freq)
emb = torch.cat((freqs, freqs), dim=-1)
cos, sin = emb.cos(), emb.sin()
x = torch.arange(40.0).view(5, 8)
y = x * cos + rotate_half(x) * sin

# %% rotary positions by complex numbers
import torch

freqs = torch.outer(torch.arange(3).float(), 1.0 / 10.0 ** torch.arange(2).float())
cis = torch.polar(torch.ones_like(freqs), freqs)
x = torch.arange(12.0).view(3, 4)
y = torch.view_as_real(torch.view_as_complex(x.reshape(3, 2, 2)) * cis).flatten(1)

# %% sinusoidal positions
import math

import torch

position = torch.arange(6).unsqueeze(1)
div_term = torch.exp(torch.arange(0, 8, 2) * (-math.log(10000.0) / 8))
pe = torch.zeros(6, 1, 8)
pe[:, 0, 0::2] = torch.sin(position * div_term)
pe[:, 0, 1::2] = torch.cos(position * div_term)

# %% an RMS norm
import torch


def rms_norm(x, weight, eps=1e-6):
    variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
    return weight * (x * torch.rsqrt(variance + eps)).to(x.dtype)


y = rms_norm(torch.arange(8.0).view(2, 4), torch.ones(4))

# %% an embedding by index
import torch
import torch.nn.functional as F

table = torch.arange(20.0).view(5, 4)
ids = torch.tensor([[0, 3], [4, 1]])
rows = F.embedding(ids, table)
same = torch.equal(rows, table[ids])

# %% perplexity
import torch
import torch.nn.functional as F

logits = torch.sin(torch.arange(24.0)).view(1, 4, 6)
labels = torch.tensor([[1, 2, 3, -100]])
loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=-100)
perplexity = torch.exp(loss).item()

# %% log-probabilities of tokens
import torch

logits = torch.cos(torch.arange(15.0)).view(3, 5)
ids = torch.tensor([1, 0, 4])
logprobs = torch.log_softmax(logits, dim=-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)
total = logprobs.sum().item()

# %% labels of tokens
import torch

logits = torch.sin(torch.arange(12.0) * 2).view(1, 4, 3)
predictions = torch.argmax(logits, dim=2)
names = ["O", "B-PER", "I-PER"]
labels = [names[t.item()] for t in predictions[0]]

# %% a span as answer
import torch

start = torch.tensor([[0.1, 2.0, 0.3, -1.0]])
end = torch.tensor([[0.0, 0.5, 3.0, 0.1]])
first, last = int(torch.argmax(start)), int(torch.argmax(end)) + 1
scores = start.softmax(-1).unsqueeze(-1) * end.softmax(-1).unsqueeze(-2)
best = torch.triu(scores).flatten(1).max(dim=1)

# %% a cache of keys and values
import torch

past = None
for step in range(3):
    k = torch.full((1, 2, 1, 4), float(step))
    past = k if past is None else torch.cat((past, k), dim=-2)
repeated = past[:, :, None].expand(1, 2, 3, 3, 4).reshape(1, 6, 3, 4)

# %% CTC decoding
import torch

emission = torch.tensor([[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.9, 0.05, 0.05], [0.1, 0.1, 0.8]])
indices = torch.argmax(emission, dim=-1)
indices = torch.unique_consecutive(indices, dim=-1)
text = "".join("-ab"[i] for i in indices if i != 0)

# %% a bag of words
import torch

ids = torch.tensor([1, 1, 3, 0])
counts = torch.zeros(5).index_add_(0, ids, torch.ones(4))
same = torch.bincount(ids, minlength=5)
frequent = torch.topk(counts, 2).indices.tolist()

# %% Gumbel samples
import torch
import torch.nn.functional as F

torch.manual_seed(4)
hard = F.gumbel_softmax(torch.zeros(2, 5), tau=0.5, hard=True)
soft = F.gumbel_softmax(torch.zeros(2, 5), tau=2.0)

# %% beams
import torch

scores = torch.tensor([[-1.0, -2.0, -0.5], [-0.7, -3.0, -0.1]])
best = scores.view(-1).topk(2)
beam = torch.div(best.indices, 3, rounding_mode="floor")
token = best.indices % 3
