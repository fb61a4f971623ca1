"""Train a small transformer to write like the documentation of Python's standard library.

It reads and writes single characters. python examples/train_transformer.py [STEPS]
"""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Iterable

import aten
from aten import nn

try:
    from tqdm import tqdm  # type: ignore[import-untyped, unused-ignore]
except ImportError:

    def tqdm(steps: Iterable[int], **settings: object) -> Iterable[int]:
        return steps


MODULES = "collections functools itertools json logging os pathlib random re string statistics"
WINDOW = 64  # characters seen at once
BATCH = 32
WIDTH = 96
STEPS = 400


def documentation() -> str:
    """What the modules, their functions and classes say of themselves."""
    found = []
    for name in MODULES.split():
        module = importlib.import_module(name)
        members = [one for _, one in sorted(vars(module).items()) if callable(one)]
        found += [inspect.getdoc(one) or "" for one in (module, *members)]
    text = "\n".join(dict.fromkeys(found))
    return "".join(one for one in text if one.isascii())


class Writer(nn.Module):
    """Characters (N, L) to scores of the next ones, (N, L, characters)."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(characters, WIDTH)
        self.places = nn.Embedding(WINDOW, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, 2, nn.LayerNorm(WIDTH), enable_nested_tensor=False
        )
        self.scores = nn.Linear(WIDTH, characters)

    def forward(self, numbers: aten.Tensor) -> aten.Tensor:
        length = numbers.shape[1]
        rows = self.characters(numbers) + self.places(aten.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        scores: aten.Tensor = self.scores(self.layers(rows, mask=mask, is_causal=True))
        return scores


def train(text: str, steps: int = STEPS) -> tuple[Writer, list[float]]:
    """The trained model, and the loss of each step."""
    aten.manual_seed(0)
    places = {one: number for number, one in enumerate(sorted(set(text)))}
    data = aten.tensor([places[one] for one in text])
    model = Writer(len(places))
    optimizer = aten.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = aten.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS)
    losses = []
    for _ in tqdm(range(steps), desc="steps"):
        starts = aten.randint(0, len(data) - WINDOW - 1, (BATCH, 1))
        windows = data[starts + aten.arange(WINDOW + 1)]
        optimizer.zero_grad()
        scores = model(windows[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return model, losses


def sample(model: Writer, text: str, start: str, count: int) -> str:
    """A start, and `count` characters that the model goes on with, drawn by their likelihood."""
    model.eval()
    characters = sorted(set(text))
    numbers = [characters.index(one) for one in start]
    for _ in range(count):
        with aten.no_grad():
            scores = model(aten.tensor([numbers[-WINDOW:]]))[0, -1]
        numbers.append(int(aten.multinomial(scores.div(0.7).softmax(0), 1)))
    return "".join(characters[one] for one in numbers)


if __name__ == "__main__":
    began = time.perf_counter()
    text = documentation()
    model, losses = train(text, int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}, {len(text)} characters of text")
    print(sample(model, text, "Return the ", 300))
    print(f"{time.perf_counter() - began:.1f} s")
