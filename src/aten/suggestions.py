"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str], *, count: int = 1) -> str:
    """The end of a message: "; did you mean 'softmax'?", or nothing where no name is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), count, cutoff=0.7)
    return f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
