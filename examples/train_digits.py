"""Train a small network on handwritten digits, and say how many of the others it reads.

python examples/train_digits.py
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import numpy

import aten
from aten import nn
from aten.utils.data import DataLoader, TensorDataset

try:
    from tqdm import tqdm  # type: ignore[import-untyped, unused-ignore]
except ImportError:

    def tqdm(steps: Iterable[int], **settings: object) -> Iterable[int]:
        return steps


FOLDER = Path(aten.__file__).parent / "examples" / "digits"
EPOCHS = 25


def digits(part: str) -> tuple[aten.Tensor, aten.Tensor]:
    """Pictures (N, 1, 8, 8) and what they show."""
    with numpy.load(FOLDER / f"digits_{part}.npz") as stored:
        return aten.from_numpy(stored["x"].copy()), aten.from_numpy(stored["labels"].copy())


def moved(pictures: aten.Tensor) -> aten.Tensor:
    """The pictures, moved by up to one dot: hands write where they please."""
    down, right = aten.randint(0, 3, (2,)).tolist()
    return nn.functional.pad(pictures, (1, 1, 1, 1))[:, :, down : down + 8, right : right + 8]


def train() -> float:
    """The share of the test pictures that is read correctly."""
    aten.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.4),
        nn.Linear(1024, 10),
    )
    optimizer = aten.optim.Adam(model.parameters(), lr=3e-3)
    schedule = aten.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    batches = DataLoader(TensorDataset(*digits("train")), batch_size=64, shuffle=True)
    for _ in tqdm(range(EPOCHS), desc="epochs"):
        for pictures, labels in batches:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(moved(pictures)), labels).backward()
            optimizer.step()
        schedule.step()
    model.eval()
    pictures, labels = digits("test")
    with aten.no_grad():
        read = model(pictures).argmax(1)
    return float((read == labels).double().mean())


if __name__ == "__main__":
    began = time.perf_counter()
    print(f"accuracy {train():.4f} in {time.perf_counter() - began:.1f} s")
