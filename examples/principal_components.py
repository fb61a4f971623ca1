"""Principal components of the handwritten digits, drawn as a picture.

    python examples/principal_components.py [PICTURE]

The picture needs matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import aten


def principal_components(rows: aten.Tensor, count: int) -> tuple[aten.Tensor, aten.Tensor]:
    """Rows (n, d) in `count` coordinates of greatest variance, and the share of each."""
    centered = rows - rows.mean(0)
    _, sizes, directions = aten.linalg.svd(centered, full_matrices=False)
    variances = sizes.square()
    return centered @ directions[:count].t(), variances[:count] / variances.sum()


def draw(places: aten.Tensor, labels: aten.Tensor, path: str) -> None:
    """A scatter plot of places (n, 2), a color for each label."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 5), layout="constrained")
    across, up = places.t().numpy()
    dots = axes.scatter(across, up, c=labels.numpy(), cmap="tab10", s=9)
    axes.legend(*dots.legend_elements(), title="digit", loc="upper right", fontsize="small")
    axes.set_xlabel("first component")
    axes.set_ylabel("second component")
    figure.savefig(path, dpi=120)


data = np.load(Path(aten.__file__).parent / "examples" / "digits" / "digits_train.npz")
images = aten.from_numpy(data["x"]).reshape((len(data["x"]), -1)).to(aten.float32)
places, shares = principal_components(images, 2)
print("images:", tuple(images.shape))
print("share of the variance:", [round(share, 3) for share in shares.tolist()])
print("uncorrelated:", abs((places[:, 0] * places[:, 1]).mean().item()) < 1e-3)
if len(sys.argv) > 1:
    draw(places, aten.from_numpy(data["labels"]), sys.argv[1])
    print("drawn to", sys.argv[1])
