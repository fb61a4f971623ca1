"""Whether `vmap` of an entry of torch's operator database gives what a loop over rows gives.

Every sample is called with all its tensors as rows, with the first alone, the rows along its last
dimension, and with all but the first, where torch's `vmap` runs.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from database_checks import to_torch
from database_translation import Translator
from gradient_checks import tensors

import aten

ROWS = 3


# Of these a row's result is not that of the row alone: it begins in memory where the row does.
FROM_WHERE_ROWS_BEGIN = ("as_strided",)
# What they hold is said by nobody.
EMPTY = ("empty", "new_empty", "resize_")


def check(entry: Any, dtype: Any, limit: int | None = None) -> tuple[str | None, int]:
    """What is wrong with the rows of an entry, or None, and how many calls torch runs, too."""
    if entry.name.startswith(EMPTY):
        return None, 0
    ours = Translator()(entry.op)
    compared = 0
    samples = itertools.islice(entry.sample_inputs("cpu", dtype), limit)
    for number, sample in enumerate(samples):
        given = ((sample.input, *sample.args), sample.kwargs)
        count = len(list(tensors(given)))
        for name, chosen in _choices(count):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    compared += _compare(entry.op, ours, given, chosen, name)
            except Exception as failure:
                return f"sample {number} {name}: {type(failure).__name__}: {failure}"[
                    :600
                ], compared
    return None, compared


def _choices(count: int) -> Iterator[tuple[str, list[bool]]]:
    if count:
        yield "all", [True] * count
    if count > 1:
        yield "first", [True] + [False] * (count - 1)
        yield "others", [False] + [True] * (count - 1)


def _compare(theirs: Any, ours: Any, given: Any, chosen: list[bool], name: str) -> bool:
    listed = list(tensors(given))
    batches = [_batch(one) if is_row else one for one, is_row in zip(listed, chosen, strict=True)]
    dims = [(-1 if name == "first" else 0) if is_row else None for is_row in chosen]
    if name == "first":
        batches[0] = batches[0].movedim(0, -1)
    try:
        expected = torch.vmap(_function(theirs, given), tuple(dims))(*batches)
    except Exception:
        return False
    if not list(tensors(expected)):
        return False
    mine = [Translator()(one.clone()) for one in batches]
    own = Translator()(given)
    found = aten.vmap(_function(ours, own), tuple(dims))(*mine)
    if theirs.__name__.startswith(FROM_WHERE_ROWS_BEGIN):
        _same(tensors(found), expected)
        return True
    looped = [
        _function(ours, own)(
            *(
                one if dim is None else one.select(dim, row)
                for one, dim in zip(mine, dims, strict=True)
            )
        )
        for row in range(ROWS)
    ]
    rows = zip(*(list(tensors(one)) for one in looped), strict=True)
    _same(tensors(found), [torch.stack([to_torch(part) for part in parts]) for parts in rows])
    return True


def _same(found: Any, expected: Any) -> None:
    for place, (whole, wanted) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(
            to_torch(whole),
            wanted,
            rtol=1e-4,
            atol=1e-4,
            equal_nan=True,
            msg=lambda text, place=place: f"result {place}: {text}",
        )


def _batch(tensor: Any) -> Any:
    """Rows that are not the same, and as good operands as the tensor is."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return torch.stack([tensor] * ROWS)
    return torch.stack([tensor * factor for factor in (1.0, 0.75, 0.875)])


def _function(function: Callable[..., Any], given: Any) -> Callable[..., Any]:
    """The function of the tensors among what is given."""

    def run(*replaced: Any) -> Any:
        remaining = iter(replaced)
        args, kwargs = _with_tensors(given, remaining)
        made = function(*args, **kwargs)
        return tuple(tensors(made))

    return run


def _with_tensors(value: Any, remaining: Iterator[Any]) -> Any:
    if isinstance(value, (torch.Tensor, aten.Tensor)):
        return next(remaining)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_tensors(one, remaining) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_with_tensors(one, remaining) for one in value)
    if isinstance(value, dict):
        return {key: _with_tensors(one, remaining) for key, one in value.items()}
    return value
