"""What schedules need to know of the machine that runs them: a description, never a constant."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """A machine, as far as the order and the cuts of loops depend on it.

    The bits of folds depend on all numbers but `costly`: those of one target never change.

    Attributes:
        chunk: elements in one chunk of a fold that is cut.
        least_chunks: the least number of chunks worth a cut.
        narrow: rows whose elements lie at most so many elements apart are cut into interleaved
            pieces.
        wide: as many of these as lie within so many elements.
        lane: elements of an interleaved piece of a chunk.
        least_lane: elements that such a piece needs to be worth it.
        buffered: elements of a buffer of the kernel's own, for one row.
        costly: recomputing a value of at least so many instructions costs more than storing it.
    """

    chunk: int
    least_chunks: int
    narrow: int
    wide: int
    lane: int
    least_lane: int
    buffered: int
    costly: int
