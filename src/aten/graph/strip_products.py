"""Products with weights of programs, which lie in strips from the second call on.

No call after that packs a matrix. The first one packs some strips at a time, and keeps nothing: the
first result does not wait for memory that only later calls repay. All calls give the bits of
`fused::strips_product`, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from aten import config
from aten._core.base.device import device
from aten._core.base.keys import DispatchKeySet, gradient_modes, thread_included
from aten._core.dispatch.dispatcher import OpOverload, registrations_so_far
from aten._core.dispatch.replaying import WriteGuard
from aten._core.memory.available import available_bytes
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import is_plain
from aten.backends.cpu.kernels.matrix.strips import multiply_piece, width_of_strips
from aten.graph.ir import Graph, Node, TensorMeta
from aten.graph.mapping import MappedFile, reread
from aten.registry import are_as_made, operator, ops

_CPU = device("cpu")
# Bytes of a matrix laid out at a time: they stay in the processors' second caches.
_PIECE = 1 << 21
# Elements of a weight from which on it is worth a look at each call.
_LEAST = 1 << 17
_LINEAR, _MATMUL = "aten.linear.default", "aten.matmul.default"
# By the target of a call, the place of the weight among its arguments.
_WEIGHTS = {
    _LINEAR: 1,
    "aten.addmm.default": 2,
    "aten.mm.default": 1,
    _MATMUL: 1,
}
# What turns a matrix, with the dimensions that it is told.
_TURNS: dict[str, list[list[int]]] = {
    "aten.t.default": [[]],
    "aten.permute.default": [[1, 0]],
    "aten.transpose.int": [[0, 1], [1, 0]],
}
# Arguments by name that change nothing.
_FACTORS = {"beta": 1, "alpha": 1}.items()
_NO_KEYS = DispatchKeySet()
_STRIPS = ("fused::strips", "fused::strips_product")


def strip_products(graph: Graph, state: Sequence[Node]) -> dict[Node, Callable[..., Any]]:
    """What computes calls of a graph whose weights are among `state`, placeholders that it does not
    write to: none where their copies would take half of the memory that is left."""
    if config.NO_PACKED_WEIGHTS.get():
        return {}
    known = frozenset(state)
    weights: dict[tuple[Node, bool], _Weight] = {}
    found: dict[Node, Callable[..., Any]] = {}
    for node in graph.nodes:
        place = _WEIGHTS.get(node.target, 0) if node.op == "call_function" else 0
        given = node.args[place] if 0 < place < len(node.args) else None
        if not isinstance(given, Node):
            continue
        source = _source(given)
        if source not in known or not _is_worth_it(given.meta.get("val")):
            continue
        is_turned = (given is not source) != (node.target == _LINEAR)
        weight = weights.setdefault((source, is_turned), _Weight())
        found[node] = StripProduct(node.target, weight)
    needed = sum(_bytes(source) for source, _ in weights)
    return found if 2 * needed <= available_bytes() else {}


def _source(weight: Node) -> Node:
    """What a weight is, or is the transpose of."""
    if weight.op != "call_function" or weight.target not in _TURNS or weight.kwargs:
        return weight
    source, *named = weight.args
    dims = named[0] if len(named) == 1 else named
    if [one % 2 for one in dims] not in _TURNS[weight.target]:
        return weight
    return source if isinstance(source, Node) else weight


def _is_worth_it(recorded: Any) -> bool:
    if not isinstance(recorded, TensorMeta) or recorded.dtype.name not in ("float32", "float64"):
        return False
    sizes = [one for one in recorded.shape if isinstance(one, int)]
    is_matrix = len(sizes) == len(recorded.shape) == 2 and min(sizes) > 1
    return is_matrix and prod(sizes) >= _LEAST


def _bytes(weight: Node) -> int:
    recorded = weight.meta["val"]
    return int(prod(recorded.shape)) * int(recorded.dtype.itemsize)


class StripProduct:
    """Calls of an operator with one weight of a program.

    Where a call means more than the kernels that operators came with, or where a write to the
    weight would not be seen, the operator computes it.
    """

    def __init__(self, target: str, weight: _Weight) -> None:
        name = target.removesuffix(".default").replace(".", "::")
        self.weight = weight
        self._operator = operator(name)
        self._place = _WEIGHTS[target]
        self._turns = target == _LINEAR
        self._takes_batches = target in (_LINEAR, _MATMUL)
        self._stands_for = (name, *_STRIPS, *_stood_for(self._operator))
        self._registrations = -1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = args[self._place]
        if self._turns:
            left, bias = args[0], args[2] if len(args) == 3 else None
        else:
            left, bias = args[-2], args[0] if self._place == 2 else None
        if not kwargs.items() <= _FACTORS or not self._serves(left, given, bias):
            return self._operator(*args, **kwargs)
        matrix = given.t() if self._turns else given
        known = self.weight.known(matrix)
        if not known.guard.sees_all:
            return self._operator(*args, **kwargs)
        rows = left if left.dim() == 2 else left.reshape(-1, matrix.shape[0])
        made = known.product(rows, bias)
        return made if rows is left else made.view(*left.shape[:-1], matrix.shape[1])

    def _serves(self, left: Any, given: Any, bias: Any) -> bool:
        """Whether operands are those of a product, and it means what it says."""
        operands = (left, given) if bias is None else (left, given, bias)
        if not all(isinstance(one, Tensor) and is_plain(one) for one in operands):
            return False
        if thread_included() != _NO_KEYS or not self._operator.is_plain(*operands):
            return False
        if not self._stands():
            return False
        if gradient_modes()[0] and any(one.requires_grad for one in operands):
            return False
        if given.dim() != 2 or given.is_inference():
            return False
        columns, depth = given.shape if self._turns else given.shape[::-1]
        return (
            left.dim() >= (1 if self._turns else 2)
            and (left.dim() == 2 or self._takes_batches)
            and left.shape[-1] == depth
            and left.dtype is given.dtype
            and (bias is None or (bias.shape == (columns,) and bias.dtype is given.dtype))
        )

    def _stands(self) -> bool:
        now = registrations_so_far()
        if now != self._registrations:
            if not are_as_made(self._stands_for):
                return False
            self._registrations = now
        return True


class _Weight:
    """What is known of a weight, or of its transpose."""

    def __init__(self) -> None:
        self._latest: _Known | None = None

    def known(self, matrix: Tensor) -> _Known:
        """What is known of the matrix, which is the weight or a view of it."""
        known = self._latest
        if known is None or not known.is_of(matrix):
            known = self._latest = _Known(matrix)
        return known

    @property
    def has_strips(self) -> bool:
        return self._latest is not None and self._latest.strips is not None


class _Known:
    """A matrix, whether it is what it was, and its strips once it has been read before."""

    def __init__(self, matrix: Tensor) -> None:
        self.guard = WriteGuard([matrix], MappedFile)
        self.strips: Tensor | None = None
        self._matrix = matrix
        self._was_read = False

    def is_of(self, matrix: Tensor) -> bool:
        return self.guard.shows(0, matrix) and self.guard.holds()

    def product(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        matrix, columns = self._matrix, self._matrix.shape[1]
        if self.strips is None:
            if not self._was_read:
                self._was_read = True
                return product_once(rows, matrix, bias, columns)
            width = width_of_strips(matrix.dtype.name, columns)
            self.strips = ops.fused.strips.default(reread(matrix), width)
        made: Tensor = ops.fused.strips_product.default(rows, self.strips, bias, columns)
        return made


def _stood_for(of: OpOverload) -> list[str]:
    """The operators that a fast path of the operator stands for."""
    told: Any = of.entry.options.get("fast_path", ("", ()))
    return [f"aten::{name}" for name in told[1]]


def product_once(
    left: Tensor, matrix: Tensor, bias: Tensor | None, columns: int, *limits: float | None
) -> Tensor:
    """`fused::strips_product` with a matrix that does not lie in strips yet, with the same bits.

    Some strips at a time are laid out and multiplied: none of them stays, nor does what was read of
    a file.
    """
    width = width_of_strips(matrix.dtype.name, columns)
    depth = matrix.shape[0]
    step = max(1, _PIECE // (depth * width * matrix.itemsize)) * width
    if step >= columns or not left.numel():
        return _whole(left, reread(matrix), bias, columns, *limits)
    # Of a matrix whose columns lie one behind the other, each piece is a stretch of the file.
    by_columns = matrix.stride(0) == 1
    source = matrix if by_columns else reread(matrix)
    out = empty_strided((left.shape[0], columns), (columns, 1), left.dtype, _CPU)
    for first in range(0, columns, step):
        piece = ops.aten.slice.Tensor(source, 1, first, first + step)
        strips = ops.fused.strips.default(reread(piece) if by_columns else piece, width)
        if not multiply_piece(out, left, strips, bias, first, *limits):
            return _whole(left, source, bias, columns, *limits)
    return out


def _whole(
    left: Tensor, matrix: Tensor, bias: Tensor | None, columns: int, *limits: float | None
) -> Tensor:
    strips = ops.fused.strips.default(matrix, width_of_strips(matrix.dtype.name, columns))
    made: Tensor = ops.fused.strips_product.default(left, strips, bias, columns, *limits)
    return made
