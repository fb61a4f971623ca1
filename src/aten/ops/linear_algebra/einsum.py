"""Einstein's summation: an equation and sizes become a plan, which is run on operands.

Labels are followed once for each equation and sizes; what is left to do for each call is to move
dimensions and to multiply, two operands at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op

# A dimension's name: a letter's code; dimensions that "..." stands for count down from -1, the
# last of them.
Labels = tuple[int, ...]
Shape = tuple[int, ...]
# Up to so many operands the best of all orders is looked for.
_FEW_OPERANDS = 6


class Layout(NamedTuple):
    """How an operand is brought into place: diagonals, sums, order of dimensions, shape.

    What is empty, or None, is not needed.
    """

    diagonals: tuple[tuple[int, int], ...]
    squeezed: Shape
    summed: Shape
    order: Shape | None
    shape: Shape | None


class Product(NamedTuple):
    """The product of two operands: of matrices, or of elements; and its shape."""

    places: tuple[int, int]
    left: Layout
    right: Layout
    of_matrices: bool
    shape: Shape


class Plan(NamedTuple):
    operands: tuple[Layout, ...]
    products: tuple[Product, ...]
    result: Layout


@op
def einsum(
    equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None
) -> Tensor:
    """Sums products over the labels that `equation` does not name after "->".

    Without "->" the labels that occur once remain, in the alphabet's order. `path` says in pairs
    which operands to contract next, the result going last; without it, an order is found that
    keeps what is in between small. Raises RuntimeError for equations that do not fit.
    """
    if not tensors:
        raise RuntimeError("einsum: expected at least one operand")
    shapes = tuple(tuple(tensor.shape) for tensor in tensors)
    plan = _plan_for(shapes)(equation, shapes, None if path is None else tuple(path))
    operands = [
        _laid_out(tensor, layout) for tensor, layout in zip(tensors, plan.operands, strict=True)
    ]
    for product in plan.products:
        one, two = product.places
        right, left = operands.pop(max(one, two)), operands.pop(min(one, two))
        if one > two:
            left, right = right, left
        operands.append(_multiplied(left, right, product))
    return _laid_out(operands[0], plan.result)


def _plan_for(shapes: tuple[Shape, ...]) -> Callable[..., Plan]:
    """What plans for shapes: remembered, where sizes are numbers and not symbols."""
    known = all(type(size) is int for shape in shapes for size in shape)
    return _plan if known else _plan.__wrapped__


def _laid_out(tensor: Tensor, layout: Layout, *, same_type: bool = False) -> Tensor:
    diagonals, squeezed, summed, order, shape = layout
    for first, second in diagonals:
        tensor = tensor.diagonal(0, first, second).movedim(-1, first)
    if squeezed:
        tensor = tensor.squeeze(squeezed)
    if summed:
        tensor = tensor.sum(summed, dtype=tensor.dtype if same_type else None)
    if order is not None:
        tensor = tensor.permute(order)
    return tensor if shape is None else tensor.reshape(shape)


def _multiplied(left: Tensor, right: Tensor, product: Product) -> Tensor:
    # Sums of integers are wider, which matrix products would refuse and multiplication does not.
    first = _laid_out(left, product.left, same_type=product.of_matrices)
    second = _laid_out(right, product.right, same_type=product.of_matrices)
    if not product.of_matrices:
        return first * second
    made = first.bmm(second) if first.dim() == 3 else first.mm(second)
    return made if made.shape == product.shape else made.reshape(product.shape)


@lru_cache(maxsize=256)
def _plan(equation: str, shapes: tuple[Shape, ...], path: Shape | None) -> Plan:
    named, output = _read(equation, [len(shape) for shape in shapes])
    pairs = [_without_repeats(labels, shape) for labels, shape in zip(named, shapes, strict=True)]
    sizes = _common_sizes([(labels, shape) for labels, shape, _ in pairs])
    for label in output:
        if label not in sizes:
            raise RuntimeError(f"einsum: {_name(label)} of the output is in no operand")
    terms, operands = [], []
    for labels, shape, diagonals in pairs:
        repeated = tuple(
            place for place, label in enumerate(labels) if shape[place] != sizes[label]
        )
        terms.append(tuple(label for place, label in enumerate(labels) if place not in repeated))
        operands.append(Layout(diagonals, repeated, (), None, None))
    order = _cheap_order(terms, output, sizes) if path is None else _given_order(path, len(terms))
    products = []
    for one, two in order:
        others = [term for place, term in enumerate(terms) if place not in (one, two)]
        needed = set(output).union(*others)
        product, labels = _product((one, two), terms[one], terms[two], needed, sizes)
        products.append(product)
        terms = [*others, labels]
    return Plan(tuple(operands), tuple(products), _layout(terms[0], output))


def _without_repeats(
    labels: Labels, shape: Shape
) -> tuple[Labels, Shape, tuple[tuple[int, int], ...]]:
    """Labels and sizes of the diagonals over dimensions of the same label, and these."""
    remaining, sizes, diagonals = list(labels), list(shape), []
    for label in labels:
        while remaining.count(label) > 1:
            first = remaining.index(label)
            second = remaining.index(label, first + 1)
            if sizes[first] != sizes[second]:
                raise RuntimeError(
                    f"einsum: dimensions of one operand are both {_name(label)} but have sizes "
                    f"{sizes[first]} and {sizes[second]}"
                )
            diagonals.append((first, second))
            del remaining[second], sizes[second]
    return tuple(remaining), tuple(sizes), tuple(diagonals)


def _common_sizes(operands: Sequence[tuple[Labels, Shape]]) -> dict[int, int]:
    """The size of each label; operands may have size 1 where others have more."""
    sizes: dict[int, int] = {}
    for labels, shape in operands:
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            if 1 not in (known, size) and known != size:
                raise RuntimeError(f"einsum: {_name(label)} has sizes {known} and {size}")
            sizes[label] = size if known == 1 else known
    return sizes


def _product(
    places: tuple[int, int],
    left: Labels,
    right: Labels,
    needed: set[int],
    sizes: Mapping[int, int],
) -> tuple[Product, Labels]:
    """The product of two operands, summed over labels that are not needed any more."""
    batch = tuple(label for label in left if label in right and label in needed)
    folded = tuple(label for label in left if label in right and label not in needed)
    rows = tuple(label for label in left if label not in right and label in needed)
    columns = tuple(label for label in right if label not in left and label in needed)
    labels = (*batch, *rows, *columns)
    shape = tuple(sizes[label] for label in labels)
    if not folded:
        ones = [
            (*(sizes[label] if label in own else 1 for label in labels),) for own in (left, right)
        ]
        layouts = (
            _layout(left, batch + rows, ones[0]),
            _layout(right, batch + columns, ones[1]),
        )
        return Product(places, *layouts, False, shape), labels
    count, height, depth, width = (
        prod(sizes[label] for label in group) for group in (batch, rows, folded, columns)
    )
    batches = (count,) if batch else ()
    layouts = (
        _layout(left, batch + rows + folded, (*batches, height, depth)),
        _layout(right, batch + folded + columns, (*batches, depth, width)),
    )
    return Product(places, *layouts, True, shape), labels


def _layout(labels: Labels, wanted: Labels, shape: Shape | None = None) -> Layout:
    """Dimensions `labels` in the order of `wanted`, summed over the others, seen as `shape`."""
    summed = tuple(place for place, label in enumerate(labels) if label not in wanted)
    kept = tuple(label for label in labels if label in wanted)
    order = None if kept == wanted else tuple(kept.index(label) for label in wanted)
    if shape is not None and len(shape) == len(wanted) and 1 not in shape:
        shape = None
    return Layout((), (), summed, order, shape)


def _read(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of operands of these ranks, and those of the output."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(f"einsum: {equation!r} has {len(terms)} terms for {len(ranks)} operands")
    named = [_labels(term, rank) for term, rank in zip(terms, ranks, strict=True)]
    hidden = max(sum(label < 0 for label in labels) for labels in named)
    return named, _output_labels(right, hidden) if arrow else _implied_output(named, hidden)


def _labels(term: str, rank: int) -> Labels:
    """The labels of the dimensions of an operand with `rank` dimensions."""
    before, ellipsis, after = term.partition("...")
    letters = _letters(before) + _letters(after)
    hidden = rank - len(letters)
    if hidden < 0 or (hidden and not ellipsis):
        raise RuntimeError(f"einsum: {term!r} names {len(letters)} dimensions of {rank}")
    return (*_letters(before), *range(-hidden, 0), *_letters(after))


def _letters(text: str) -> Labels:
    for letter in text:
        if not (letter.isascii() and letter.isalpha()):
            raise RuntimeError(f"einsum: {letter!r} is neither a letter nor part of '...'")
    return tuple(map(ord, text))


def _output_labels(text: str, hidden: int) -> Labels:
    before, ellipsis, after = text.partition("...")
    output = (*_letters(before), *(range(-hidden, 0) if ellipsis else ()), *_letters(after))
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(f"einsum: the output has {_name(label)} twice")
    return output


def _implied_output(named: Sequence[Labels], hidden: int) -> Labels:
    every = [label for labels in named for label in labels if label >= 0]
    return (*range(-hidden, 0), *sorted(label for label in every if every.count(label) == 1))


def _name(label: int) -> str:
    return repr(chr(label)) if label >= 0 else f"dimension {label} of '...'"


def _given_order(path: Sequence[int], count: int) -> list[tuple[int, int]]:
    """The pairs that `path` lists. Raises RuntimeError where it does not fit `count` operands."""
    pairs = list(zip(path[::2], path[1::2], strict=False))
    if len(path) != 2 * (count - 1) and not (count == 1 and list(path) == [0]):
        raise RuntimeError(f"einsum: a path for {count} operands has {2 * count - 2} numbers")
    for step, (one, two) in enumerate(pairs):
        if one == two or not (0 <= one < count - step and 0 <= two < count - step):
            raise RuntimeError(
                f"einsum: {one}, {two} in path are not two operands of {count - step}"
            )
    return pairs


def _cheap_order(
    terms: Sequence[Labels], output: Labels, sizes: Mapping[int, int]
) -> list[tuple[int, int]]:
    """The order with the fewest multiplications for few operands; greedily a good one for many.

    Pfeifer, Haegeman, Verstraete: Faster identification of optimal contraction sequences (2014).
    """
    current = [1 << place for place in range(len(terms))]
    kept = _KeptLabels(terms, output, sizes)
    if len(terms) > _FEW_OPERANDS:
        return _greedy_order(current, kept)
    order: list[tuple[int, int]] = []

    def contract(group: int) -> None:
        if group.bit_count() == 1:
            return
        one, two = kept.best_split(group)
        contract(one)
        contract(two)
        order.append(_joined(current, one, two))

    contract((1 << len(terms)) - 1)
    return order


def _greedy_order(current: list[int], kept: _KeptLabels) -> list[tuple[int, int]]:
    """Contracts next the pair that takes the fewest multiplications, ties from the left."""
    order = []
    while len(current) > 1:
        pair = min(combinations(current, 2), key=lambda pair: kept.work(*pair))
        order.append(_joined(current, *pair))
    return order


def _joined(current: list[int], one: int, two: int) -> tuple[int, int]:
    """The places of two groups in `current`, in which their union, last, replaces them."""
    places = current.index(one), current.index(two)
    current[:] = [group for group in current if group not in (one, two)] + [one | two]
    return min(places), max(places)


class _KeptLabels:
    """What the contraction of a group of operands keeps, and costs; groups are bit sets."""

    def __init__(self, terms: Sequence[Labels], output: Labels, sizes: Mapping[int, int]) -> None:
        self.terms = terms
        self.output = output
        self.sizes = sizes
        self.splits: dict[int, tuple[int, int, int]] = {}

    def labels(self, group: int) -> set[int]:
        inside, outside = set[int](), set(self.output)
        for place, term in enumerate(self.terms):
            (inside if group >> place & 1 else outside).update(term)
        return inside & outside

    def work(self, one: int, two: int) -> int:
        """The multiplications of contracting two groups that are contracted already."""
        return prod(self.sizes[label] for label in self.labels(one) | self.labels(two))

    def best_split(self, group: int) -> tuple[int, int]:
        return self._best(group)[1:]

    def _best(self, group: int) -> tuple[int, int, int]:
        """The least multiplications for a group, and the two that it is contracted from."""
        if group.bit_count() == 1:
            return 0, group, 0
        if group not in self.splits:
            self.splits[group] = min(
                (
                    self._best(part)[0]
                    + self._best(group ^ part)[0]
                    + self.work(part, group ^ part),
                    part,
                    group ^ part,
                )
                for part in _parts(group)
            )
        return self.splits[group]


def _parts(group: int) -> Iterator[int]:
    """The proper subsets of a group that have its lowest member."""
    lowest = group & -group
    part = (group - 1) & group
    while part:
        if part & lowest:
            yield part
        part = (part - 1) & group


def sublist_equation(arguments: Sequence[object]) -> tuple[str, list[object]]:
    """Equation and operands of `(operand, labels, operand, labels, …, output labels)`.

    Raises ValueError for labels that are not numbers from 0 to 51.
    """
    terms = [_term(labels) for labels in arguments[1::2]]
    equation = ",".join(terms)
    if len(arguments) % 2:
        equation += f"->{_term(arguments[-1])}"
    return equation, list(arguments[:-1:2] if len(arguments) % 2 else arguments[::2])


def _term(labels: object) -> str:
    return "".join(_symbols(labels))


def _symbols(labels: object) -> Iterator[str]:
    if not isinstance(labels, Sequence):
        raise TypeError(f"einsum: expected a list of labels, got {type(labels).__name__}")
    for label in labels:
        if label is Ellipsis:
            yield "..."
        elif isinstance(label, int) and 0 <= label < 52:
            yield chr(ord("A" if label < 26 else "a") + label % 26)
        else:
            raise ValueError(f"einsum: {label!r} is not a label; expected a number from 0 to 51")
