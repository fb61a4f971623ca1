"""How losses are put together: names of reductions, and their older spelling by two flags."""

from __future__ import annotations

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def reduction_number(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> int:
    """The operators' number for a reduction; the older flags win where they are given.

    Raises ValueError for an unknown name.
    """
    if size_average is not None or reduce is not None:
        if reduce is False:
            return _NUMBERS["none"]
        return _NUMBERS["sum" if size_average is False else "mean"]
    if reduction not in _NUMBERS:
        raise ValueError(
            f"{reduction} is not a valid value for reduction; expected {', '.join(_NUMBERS)}"
        )
    return _NUMBERS[reduction]
