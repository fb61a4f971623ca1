"""What plans tell of a launch to whoever makes it: the CPU, other devices, files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class LaunchTerms(NamedTuple):
    """A launch but for its code.

    Attributes:
        label: the kernel's name, for whoever reads a profile.
        sizes: of the kept dimensions, innermost first.
        strides: in bytes, for each of those dimensions one per operand.
        reduced: as the kernel wants it: how many elements are folded, the sizes of the reduced
            dimensions, each operand's strides along them, then the program's numbers; of a map the
            numbers alone.
        sources: for each operand the number of a plan's tensor: inputs, outputs, temporaries.
        offsets: in bytes from that tensor's first element.
        work: elements touched per kept point.
    """

    label: str
    sizes: Sequence[int]
    strides: Sequence[Sequence[int]]
    reduced: Sequence[int]
    sources: Sequence[int]
    offsets: Sequence[int]
    work: int
