"""Devices, views and the three ways to write a result."""

from __future__ import annotations

import aten

x = aten.arange(6, dtype=aten.float32).reshape((2, 3))

# The meta device has shapes, types and strides, but no elements: what would come out, for nothing.
plan = x.to("meta") @ aten.empty((3, 1_000_000), device="meta")
print("on meta:", tuple(plan.shape), plan.dtype)

# Views share memory: a transpose, a slice and another shape of the same six numbers.
transposed, middle, flat = x.t(), x[:, 1:2], x.view(6)
print("transposed:", tuple(transposed.shape), transposed.stride())
print("the same memory:", transposed.data_ptr() == x.data_ptr() == flat.data_ptr())
print("one element further:", middle.data_ptr() - x.data_ptr() == x.element_size())

# A fresh result; the operand itself; a tensor of one's own.
fresh = aten.add(x, 1)
print("add leaves the operand:", x[0].tolist())
out = aten.empty((2, 3))
print("out= is what is returned:", aten.add(x, 1, out=out) is out)
print("add_ changes the operand, and all its views:", x.add_(1) is x, flat.tolist())
assert fresh.equal(out)
assert out.equal(x)
