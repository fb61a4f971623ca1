"""Einstein's summation: an equation read into labels, operands contracted two at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import NamedTuple

from aten._core.tensor import Tensor
from aten.ops.definition import op

# A dimension's name: a letter's code; dimensions that "..." stands for count down from -1, the
# last of them.
Labels = tuple[int, ...]


class Labelled(NamedTuple):
    """A tensor and the label of each of its dimensions, no label twice."""

    tensor: Tensor
    labels: Labels


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
    named, output = _read(equation, tuple(tensor.dim() for tensor in tensors))
    operands = [
        _without_repeats(tensor, labels) for tensor, labels in zip(tensors, named, strict=True)
    ]
    sizes = _common_sizes(operands)
    for label in output:
        if label not in sizes:
            raise RuntimeError(f"einsum: {_name(label)} of the output is in no operand")
    operands = [_without_repetition(operand, sizes) for operand in operands]
    order = _given_order(path, len(operands)) if path is not None else None
    return _arranged(_contracted(operands, output, sizes, order), output)


@lru_cache(maxsize=256)
def _read(equation: str, ranks: tuple[int, ...]) -> tuple[list[Labels], Labels]:
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


def _without_repeats(tensor: Tensor, labels: Labels) -> Labelled:
    """The diagonals over dimensions of the same label."""
    if len(set(labels)) == len(labels):
        return Labelled(tensor, labels)
    remaining = list(labels)
    for label in labels:
        while remaining.count(label) > 1:
            first = remaining.index(label)
            second = remaining.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"einsum: dimensions of one operand are both {_name(label)} but have sizes "
                    f"{tensor.shape[first]} and {tensor.shape[second]}"
                )
            tensor = tensor.diagonal(0, first, second).movedim(-1, first)
            del remaining[second]
    return Labelled(tensor, tuple(remaining))


def _common_sizes(operands: Iterable[Labelled]) -> dict[int, int]:
    """The size of each label; operands may have size 1 where others have more."""
    sizes: dict[int, int] = {}
    for tensor, labels in operands:
        for label, size in zip(labels, tensor.shape, strict=True):
            known = sizes.setdefault(label, size)
            if 1 not in (known, size) and known != size:
                raise RuntimeError(f"einsum: {_name(label)} has sizes {known} and {size}")
            sizes[label] = size if known == 1 else known
    return sizes


def _without_repetition(operand: Labelled, sizes: dict[int, int]) -> Labelled:
    """The operand without dimensions of size 1 that are repeated along those of others."""
    tensor, labels = operand
    kept = [place for place, label in enumerate(labels) if tensor.shape[place] == sizes[label]]
    if len(kept) == len(labels):
        return operand
    squeezed = tensor.squeeze([place for place in range(len(labels)) if place not in kept])
    return Labelled(squeezed, tuple(labels[place] for place in kept))


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


def _contracted(
    operands: list[Labelled],
    output: Labels,
    sizes: dict[int, int],
    order: list[tuple[int, int]] | None,
) -> Labelled:
    if order is None and len(operands) == 2:
        order = [(0, 1)]
    elif order is None:
        labels = tuple(operand.labels for operand in operands)
        order = list(_small_order(labels, output, tuple(sizes.items())))
    for one, two in order:
        pair = operands[one], operands[two]
        operands = [item for place, item in enumerate(operands) if place not in (one, two)]
        needed = set(output).union(*(operand.labels for operand in operands))
        operands.append(_product(*pair, needed, sizes))
    return operands[0]


@lru_cache(maxsize=256)
def _small_order(
    terms: tuple[Labels, ...], output: Labels, sizes: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Contracts next the pair whose product grows least beyond the two, ties from the left.

    The greedy path of Smith and Gray, opt_einsum (2018).
    """
    size_of = dict(sizes)
    order = []
    current = [frozenset(term) for term in terms]

    def growth(pair: tuple[int, int]) -> int:
        made = _remaining(current, pair, output)
        return sum(
            sign * prod(size_of[label] for label in labels)
            for sign, labels in ((1, made), (-1, current[pair[0]]), (-1, current[pair[1]]))
        )

    while len(current) > 1:
        pair = min(combinations(range(len(current)), 2), key=growth)
        made = _remaining(current, pair, output)
        current = [labels for place, labels in enumerate(current) if place not in pair] + [made]
        order.append(pair)
    return tuple(order)


def _remaining(
    terms: Sequence[frozenset[int]], pair: tuple[int, int], output: Labels
) -> frozenset[int]:
    """The labels of a pair that the output or other terms have, too."""
    others = (labels for place, labels in enumerate(terms) if place not in pair)
    return (terms[pair[0]] | terms[pair[1]]) & frozenset(output).union(*others)


def _product(left: Labelled, right: Labelled, needed: set[int], sizes: dict[int, int]) -> Labelled:
    """The product of two operands, summed over labels that are not needed any more."""
    shared = [label for label in left.labels if label in right.labels]
    batch = [label for label in shared if label in needed]
    folded = [label for label in shared if label not in needed]
    # Sums of integers are wider, which matrix products would refuse and multiplication does not.
    left = _summed(left, needed.union(shared), same_type=bool(folded))
    right = _summed(right, needed.union(shared), same_type=bool(folded))
    rows = [label for label in left.labels if label not in right.labels]
    columns = [label for label in right.labels if label not in left.labels]
    labels = (*batch, *rows, *columns)
    if not folded:
        spread = _placed(left, labels) * _placed(right, labels)
        return Labelled(spread, labels)
    extents = [prod(sizes[label] for label in group) for group in (batch, rows, folded, columns)]
    count, height, depth, width = extents
    first = _arranged(left, (*batch, *rows, *folded)).reshape(count, height, depth)
    second = _arranged(right, (*batch, *folded, *columns)).reshape(count, depth, width)
    product = first.bmm(second).reshape([sizes[label] for label in labels])
    return Labelled(product, labels)


def _summed(operand: Labelled, needed: Iterable[int], same_type: bool = False) -> Labelled:
    """The operand summed over labels that are not needed."""
    tensor, labels = operand
    places = [place for place, label in enumerate(labels) if label not in needed]
    if not places:
        return operand
    kept = tuple(label for label in labels if label in needed)
    return Labelled(tensor.sum(places, dtype=tensor.dtype if same_type else None), kept)


def _arranged(operand: Labelled, output: Labels) -> Tensor:
    """The operand's dimensions in the order of `output`, summed over the others."""
    tensor, labels = _summed(operand, output)
    return tensor.permute([labels.index(label) for label in output])


def _placed(operand: Labelled, labels: Labels) -> Tensor:
    """The operand with the dimensions of `labels`, of size 1 where it has none."""
    own = tuple(label for label in labels if label in operand.labels)
    tensor = _arranged(operand, own)
    for place, label in enumerate(labels):
        if label not in own:
            tensor = tensor.unsqueeze(place)
    return tensor


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
