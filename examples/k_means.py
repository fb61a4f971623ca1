"""k-means (Lloyd's algorithm) on three clouds of points."""

from __future__ import annotations

import aten


def k_means(points: aten.Tensor, count: int, steps: int) -> tuple[aten.Tensor, aten.Tensor]:
    """Centers (count, d) of points (n, d), and the number of each point's center.

    The first center is the first point; each further one is the point farthest from the others.
    """
    centers = points[:1]
    for _ in range(1, count):
        farthest = aten.cdist(points, centers).amin(1).argmax()
        centers = aten.cat([centers, points[farthest][None]])
    nearest = aten.zeros(len(points), dtype=aten.int64)
    for _ in range(steps):
        nearest = aten.cdist(points, centers).argmin(1)
        sums = aten.zeros_like(centers).index_add_(0, nearest, points)
        centers = sums / aten.bincount(nearest, minlength=count)[:, None]
    return centers, nearest


aten.manual_seed(0)
truth = aten.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
labels = aten.randint(0, 3, (3000,))
points = truth[labels] + 0.5 * aten.randn((3000, 2))

centers, nearest = k_means(points, 3, 10)
# Which of the true centers each of ours is.
matching = aten.cdist(centers, truth).argmin(1)
print("centers found:", sorted(matching.tolist()))
print("off by less than 0.05:", bool(((centers - truth[matching]).norm(dim=1) < 0.05).all()))
print("points at their center:", bool((matching[nearest] == labels).to(aten.float32).mean() > 0.99))
