"""Products of matrices and vectors: a batch of them is one product of more dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops
from aten.transforms.batching.call import Call, one_by_one, writes


def _product(call: Call, left: str, right: str) -> Any:
    """`left` @ `right`, of as many dimensions each, and at least two."""
    first, second = call.given[left], call.given[right]
    rank = max(first.dim(), second.dim())
    return call.rows(ops.aten.matmul(_aligned(call, first, rank), _aligned(call, second, rank)))


def _aligned(call: Call, given: Tensor, rank: int) -> Tensor:
    value: Tensor = call.inner(given)
    if call.has(given):
        for _ in range(rank - given.dim()):
            value = ops.aten.unsqueeze(value, 1)
    return value


def mm(call: Call) -> Any:
    """A batch of products; one where the second matrix is the same for every row."""
    sizes = call.given["self"].dim(), call.given["mat2"].dim()
    return one_by_one(call) if sizes != (2, 2) else _product(call, "self", "mat2")


def bmm(call: Call) -> Any:
    """As `mm`, of one dimension more."""
    first, second = call.given["self"], call.given["mat2"]
    if first.dim() != 3 or second.dim() != 3 or first.shape[0] != second.shape[0]:
        return one_by_one(call)
    return _product(call, "self", "mat2")


def mv(call: Call) -> Any:
    """A batch of matrices with a batch of columns; vectors alone are the rows of a product."""
    matrix, vector = call.given["self"], call.given["vec"]
    if matrix.dim() != 2 or vector.dim() != 1 or matrix.shape[1] != vector.shape[0]:
        return one_by_one(call)
    if not call.has(matrix):
        return call.rows(ops.aten.matmul(call.inner(vector), ops.aten.t(matrix)))
    columns = ops.aten.unsqueeze(call.inner(vector), -1)
    return call.rows(ops.aten.squeeze(ops.aten.matmul(call.inner(matrix), columns), -1))


def dot(call: Call) -> Any:
    """A batch of rows with a batch of columns."""
    first, second = call.given["self"], call.given["tensor" if "tensor" in call.given else "other"]
    if first.dim() != 1 or second.dim() != 1 or first.shape != second.shape:
        return one_by_one(call)
    left = ops.aten.unsqueeze(call.inner(first), -2)
    right = ops.aten.unsqueeze(call.inner(second), -1)
    found = ops.aten.matmul(left, right)
    return call.rows(ops.aten.squeeze(found, [-2, -1]))


def addmm(call: Call) -> Any:
    """β·self + α·product, by operators on rows."""
    names = {"addmm": ("mat1", "mat2"), "baddbmm": ("batch1", "batch2"), "addmv": ("mat", "vec")}
    name = call.op.name
    if writes(call.op) or name not in names:
        return one_by_one(call)
    first, second = (call.given[one] for one in names[name])
    multiply: Callable[..., Any] = {
        "addmm": ops.aten.mm,
        "baddbmm": ops.aten.bmm,
        "addmv": ops.aten.mv,
    }[name]
    product = multiply(first, second)
    alpha, beta = call.given["alpha"], call.given["beta"]
    if alpha != 1:
        product = ops.aten.mul(product, alpha)
    if beta == 0:
        return product
    added = call.given["self"]
    return ops.aten.add(product, added if beta == 1 else ops.aten.mul(added, beta))


def matmul(call: Call) -> Any:
    """With both operands of at least two dimensions one product of more dimensions."""
    first, second = call.given["self"], call.given["other"]
    if first.dim() == 1 and second.dim() == 1:
        return ops.aten.dot(first, second)
    if first.dim() == 1 and second.dim() >= 2:
        return ops.aten.squeeze(ops.aten.matmul(ops.aten.unsqueeze(first, 0), second), -2)
    if second.dim() == 1 and first.dim() >= 2:
        return ops.aten.squeeze(ops.aten.matmul(first, ops.aten.unsqueeze(second, -1)), -1)
    if first.dim() == 0 or second.dim() == 0:
        return one_by_one(call)
    return _product(call, "self", "other")


def linear(call: Call) -> Any:
    """One product for the whole batch where the weight is the same for every row."""
    weight, bias = call.given["weight"], call.given["bias"]
    if not call.has_any((weight, bias)):
        return call.run()
    if weight.dim() != 2:
        return one_by_one(call)
    product = ops.aten.matmul(call.given["input"], ops.aten.t(weight))
    return product if bias is None else ops.aten.add(product, bias)


MATRICES: dict[str, Callable[[Call], Any]] = {
    "mm": mm,
    "bmm": bmm,
    "mv": mv,
    "dot": dot,
    "addmm": addmm,
    "baddbmm": addmm,
    "addmv": addmm,
    "matmul": matmul,
    "linear": linear,
}
