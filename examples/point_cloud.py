"""A million points moved to the origin and scaled into the unit ball."""

from __future__ import annotations

import aten

aten.manual_seed(0)
cloud = aten.rand((1_000_000, 3)) * aten.tensor([4.0, 2.0, 1.0]) + aten.tensor([10.0, -5.0, 0.5])

centered = cloud - cloud.mean(0)
radius = centered.norm(dim=1).max()
normalized = centered / radius

print("mean:", [round(value, 3) for value in cloud.mean(0).tolist()])
print("centered:", bool((normalized.mean(0).abs() < 1e-6).all()))
print("largest radius:", round(normalized.norm(dim=1).max().item(), 6))
