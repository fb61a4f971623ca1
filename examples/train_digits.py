"""Train a small network on handwritten digits, and say how many of the others it reads.

python examples/train_digits.py [FOLDER]

Draws the loss of each step and which digits are read as which to digits_loss.png and
digits_confusion.png in a folder, this one unless another is given.
"""

from __future__ import annotations

import sys
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


def train() -> tuple[list[float], aten.Tensor]:
    """The loss of each step, and how often each digit of the test pictures is read as which.

    The latter is (10, 10): a row for what is written, a column for what is read.
    """
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
    losses = []
    for _ in tqdm(range(EPOCHS), desc="epochs"):
        for pictures, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(moved(pictures)), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
    model.eval()
    pictures, labels = digits("test")
    with aten.no_grad():
        read = model(pictures).argmax(1)
    return losses, aten.bincount(10 * labels + read, minlength=100).reshape(10, 10)


def draw(losses: list[float], confusion: aten.Tensor, folder: Path) -> None:
    """The losses as a curve, and the confusion matrix, as pictures in a folder."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.semilogy(losses, linewidth=0.8)
    axes.set_xlabel("step")
    axes.set_ylabel("cross-entropy of a batch")
    figure.savefig(folder / "digits_loss.png", dpi=120)

    figure, axes = pyplot.subplots(figsize=(5, 5), layout="constrained")
    axes.imshow(confusion.double().log1p().numpy(), cmap="Blues")
    for written, row in enumerate(confusion.tolist()):
        for read, count in enumerate(row):
            if count:
                color = "white" if written == read else "black"
                axes.text(read, written, str(count), ha="center", va="center", color=color)
    axes.set_xticks(range(10))
    axes.set_yticks(range(10))
    axes.set_xlabel("read as")
    axes.set_ylabel("written")
    figure.savefig(folder / "digits_confusion.png", dpi=120)


if __name__ == "__main__":
    began = time.perf_counter()
    losses, confusion = train()
    accuracy = float(confusion.diagonal().sum() / confusion.sum())
    print(f"accuracy {accuracy:.4f} in {time.perf_counter() - began:.1f} s")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    draw(losses, confusion, folder)
    print(f"drawn to {folder / 'digits_loss.png'} and {folder / 'digits_confusion.png'}")
