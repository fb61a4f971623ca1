"""Levels entered and left: what is mapped over, innermost last."""

from __future__ import annotations

from aten._core.base.keys import DispatchKey, DispatchKeySet, IncludeDispatchKeyGuard
from aten.transforms.batching.wrapping import Level, levels

MODE = DispatchKey.__members__["FuncTorchVmapMode"]
MODES = DispatchKeySet(MODE)


class EnteredLevel:
    """A context with one level more, for `size` rows; gives its number."""

    def __init__(self, size: int, randomness: str) -> None:
        self.size = size
        self.randomness = randomness

    def __enter__(self) -> int:
        number = levels.entered[-1].number + 1 if levels.entered else 1
        levels.entered.append(Level(number, self.size, self.randomness))
        self._guard = IncludeDispatchKeyGuard(MODES)
        self._guard.__enter__()
        return number

    def __exit__(self, *exc_info: object) -> None:
        self._guard.__exit__(*exc_info)
        levels.entered.pop()
