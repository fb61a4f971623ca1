"""What plans tell of a launch to whoever makes it: the CPU, other devices, files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class LaunchTerms:
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
        work: elements touched per kept point, as far as threads are to share points.
    """

    __slots__ = ("label", "offsets", "reduced", "sizes", "sources", "strides", "work")

    def __init__(
        self,
        *,
        label: str,
        sizes: Sequence[int],
        strides: Sequence[Sequence[int]],
        reduced: Sequence[int],
        sources: Sequence[int],
        offsets: Sequence[int],
        work: int,
    ) -> None:
        self.label = label
        self.sizes = sizes
        self.strides = strides
        self.reduced = reduced
        self.sources = sources
        self.offsets = offsets
        self.work = work

    def as_dict(self) -> dict[str, Any]:
        """The attributes by their names, as `LaunchTerms(**…)` takes them."""
        return {name: getattr(self, name) for name in self.__slots__}
