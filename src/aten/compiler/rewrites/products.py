"""Products with steady matrices, which are laid out once as kernels read them.

`fused::strips_product` is the product with a matrix in strips of columns. Kernels read such a strip
from end to end, and what they come to next is fetched while they multiply; of a matrix as it lies,
each call would pack all of it anew. Results are those of the products but for rounding, where these
would take dots or another kernel, and for products by rows they have the same bits.
`fused::strips_convolution` is the same for convolutions with few positions.
"""

from __future__ import annotations

from math import prod

from aten.backends.cpu.kernels.matrix.strips import width_of_strips
from aten.backends.cpu.kernels.windows.strip_convolutions import most_positions
from aten.compiler.calls import operator_of
from aten.compiler.rewrites.choosing import Choices
from aten.compiler.rewrites.rewriting import Rewriting
from aten.compiler.values import is_own, is_row_major
from aten.graph.ir import Graph, Node, TensorMeta

_PRODUCT, _STRIPS = "fused.strips_product.default", "fused.strips.default"
_MATRICES, _ADDED = "aten.mm.default", "aten.addmm.default"
_STRIPS_CONVOLUTION = "fused.strips_convolution.default"
# Positions of a batch from which on weights are read so often that it matters little how they lie.
_MANY_POSITIONS = 256
# Elements of a weight for which what positions see is copied.
_LEAST_COPIED = 1 << 17
_CONVOLUTION, _EPILOGUE = "aten.convolution.default", "fused.convolution_epilogue.default"


def with_weights_in_strips(graph: Graph, steady: set[Node], choices: Choices) -> Graph:
    """The graph with products by the matrices `steady`, which are computed once, in strips, where
    that is chosen."""
    rewriting = Rewriting(graph)
    laid: dict[tuple[str, str], Node] = {}
    for node in graph.nodes:
        made = rewriting.keep(node)
        if node.target in (_MATRICES, _ADDED) and _takes_strips(node, steady):
            bias, left, weight = (None, *node.args) if node.target == _MATRICES else node.args
            columns = weight.meta["val"].shape[1]
            target, before, after = _PRODUCT, (left,), (bias, columns)
        elif node.target in (_CONVOLUTION, _EPILOGUE) and _has_strips(node, steady, choices):
            image, weight, bias, *others = node.args
            columns, _, *kernel = weight.meta["val"].shape
            added, *finish = (None, "none", ())
            if node.target == _EPILOGUE:
                added, *others, activation, values = others
                finish = [activation, values]
            window = (kernel, *others[:3])
            target, before = _STRIPS_CONVOLUTION, (image,)
            after = (bias, added, columns, *window, *finish)
        else:
            continue
        rewriting.drop(made)
        # Each product has a transpose of its own, of the same weight.
        key = (weight.target, repr((weight.args, weight.kwargs)))
        if key not in laid:
            matrix = _matrix_of(rewriting, weight)
            width = width_of_strips(matrix.meta["val"].dtype.name, columns)
            laid[key] = rewriting.call(_STRIPS, matrix, width)
        made.target = target
        made.args = rewriting.of((*before, laid[key], *after))
        made.kwargs = {}
        made.meta = {"stands_for": [operator_of(node)], **node.meta}
        rewriting.nodes.append(made)
    return rewriting.finished() if laid else graph


def _matrix_of(rewriting: Rewriting, weight: Node) -> Node:
    """A matrix itself, and of a convolution's weight that of (taps and their channels, results)."""
    shape, made, call = weight.meta["val"].shape, rewriting.of(weight), rewriting.call
    if len(shape) == 2:
        return made  # type: ignore[no-any-return]
    order = [*range(2, len(shape)), 1, 0]
    by_taps = call("aten.permute.default", made, order)
    return call("aten.reshape.default", by_taps, [prod(shape[1:]), shape[0]])


def _takes_strips(node: Node, steady: set[Node]) -> bool:
    """Whether it is a product of ours by a steady matrix, and what it adds is one row."""
    *added, left, weight = node.args[:3]
    if node.target == _MATRICES:
        added = []
    nodes = [*added, left, weight]
    metas = [one.meta["val"] for one in nodes if isinstance(one, Node)]
    if len(metas) < len(nodes) or weight not in steady or not is_own(node):
        return False
    *biases, _, matrix = metas
    return (
        all(isinstance(one, TensorMeta) and one.device.type == "cpu" for one in metas)
        and {one.dtype.name for one in metas} in ({"float32"}, {"float64"})
        and all(isinstance(size, int) for size in (*matrix.shape, *matrix.stride))
        and min(matrix.shape) > 1
        and all(tuple(one.shape) == (matrix.shape[1],) for one in biases)
        and all(node.kwargs.get(name, 1) == 1 for name in ("beta", "alpha"))
        and len(node.args) <= 3
    )


def _has_strips(node: Node, steady: set[Node], choices: Choices) -> bool:
    """Whether its weight is to lie in strips.

    By the rule a window of one position is an image's only one, and others have few, and see enough
    for copies to be worth it.
    """
    if not _has_few_positions(node, steady):
        return False
    weight, result = node.args[1].meta["val"], node.meta["val"]
    batch, _, *places = result.shape
    if _sees_one(node):
        rule = prod(places) == 1
    else:
        is_large = isinstance(batch, int) and batch * prod(places) > _MANY_POSITIONS
        rule = prod(weight.shape) >= _LEAST_COPIED and (prod(places) == 1 or not is_large)
    return choices.fuses("strips", [node], steady, rule)


def _sees_one(node: Node) -> bool:
    """Whether a convolution's window is one position, and moves by one."""
    stride, padding = node.args[4:6] if node.target == _EPILOGUE else node.args[3:5]
    return {*node.args[1].meta["val"].shape[2:], *stride} == {1} and not any(padding)


def _has_few_positions(node: Node, steady: set[Node]) -> bool:
    """Whether it is a convolution of float32 images to small ones, row-major, by a steady weight:
    one that can take strips. A window that is not one position is in a plane."""
    image, weight, bias, *others = node.args
    stands_for = node.meta.get("stands_for")
    if node.target == _EPILOGUE:
        residual, _, padding, _, groups, _, _ = others
    else:
        residual, (_, padding, _, transposed, _, groups) = None, others
        stands_for = stands_for or (is_own(node) and not transposed)
    metas = [one.meta["val"] for one in (image, weight, bias, residual) if isinstance(one, Node)]
    result = node.meta["val"]
    if not (
        bool(stands_for)
        and not node.kwargs
        and weight in steady
        and all(isinstance(one, TensorMeta) and one.device.type == "cpu" for one in metas)
        and {one.dtype.name for one in metas} == {"float32"}
        and groups == 1
    ):
        return False
    window, places = metas[1].shape[2:], result.shape[2:]
    sizes = (*metas[0].shape[2:], *metas[1].shape, *places)
    if not all(isinstance(size, int) for size in sizes) or prod(places) > most_positions():
        return False
    if len(padding) != len(window):
        return False
    return (
        all(is_row_major(one) for one in (*metas, result))
        and (residual is None or metas[-1].shape == result.shape)
        and (_sees_one(node) or len(window) == 2)
    )
