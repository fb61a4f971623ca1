"""A device of our own in a page: registering primitives is all it takes to run operators.

The device, "privateuseone", computes with the `array` module. Its memory is the host's, so copies
to and from it need no code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import aten
from aten import backends, library

backends.register_backend("PrivateUse1", opset="prims")
prims = library.Library("prims", "IMPL", "PrivateUse1")


def on_host(tensor: aten.Tensor) -> list[float]:
    """The elements of a device tensor, in row-major order."""
    return tensor.to("cpu").reshape(-1).tolist()


def on_device(values: Sequence[float], like: aten.Tensor, shape: Sequence[int]) -> aten.Tensor:
    """A device tensor with these elements."""
    return aten.tensor(values, dtype=like.dtype).reshape(tuple(shape)).to(like.device)


def elementwise(name: str, function: Callable[..., float]) -> None:
    """Register `function` of Python floats as the primitive `name`."""

    def kernel(*operands: aten.Tensor) -> aten.Tensor:
        rows = zip(*map(on_host, operands), strict=True)
        return on_device([function(*row) for row in rows], operands[0], operands[0].shape)

    prims.impl(name, kernel)


def fold(name: str, function: Callable[[Sequence[float]], float]) -> None:
    """Register `function` of a row as the reduction primitive `name`."""

    def kernel(inp: aten.Tensor, dims: Sequence[int], *, output_dtype: None = None) -> aten.Tensor:
        kept = [dim for dim in range(inp.dim()) if dim not in dims]
        shape = [inp.shape[dim] for dim in kept]
        rows = inp.to("cpu").permute((*kept, *dims)).reshape((math.prod(shape), -1)).tolist()
        return on_device([function(row) for row in rows], inp, shape)

    prims.impl(name, kernel)


elementwise("add", lambda left, right: left + right)
elementwise("sub", lambda left, right: left - right)
elementwise("mul", lambda left, right: left * right)
elementwise("div", lambda left, right: left / right)
elementwise("exp", math.exp)
fold("amax", max)
fold("sum", math.fsum)


def main() -> None:
    x = aten.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]).to("privateuseone")
    print((x + x).to("cpu").tolist())
    print((x + 0.5).to("cpu").tolist())
    print(aten.softmax(x, dim=-1).to("cpu").tolist())


if __name__ == "__main__":
    main()
