from typing import Any

from aten._core.dispatch.dispatcher import Kernel

GRADIENTS: int
RESULTS: int
CONSTANTS: int
NEEDED: int
ALL_GRADIENTS: int
GIVEN: int
SIZES: int

class Formula:
    positions: tuple[int, ...]
    compute: Any
    sources: tuple[int, ...]
    constants: tuple[Any, ...]
    one: int
    def __init__(
        self,
        positions: tuple[int, ...],
        compute: Any,
        sources: tuple[int, ...],
        constants: tuple[Any, ...] = (),
        one: int = -1,
    ) -> None: ...

class Rule:
    title: str
    formulas: list[Formula] | None
    through: Kernel | None
    missing: str | None
    in_place: bool
    def __init__(
        self,
        title: str,
        formulas: list[Formula] | None,
        through: Kernel | None = None,
        missing: str | None = None,
        without: frozenset[int] = ...,
        in_place: bool = False,
        refuses: bool = False,
        keeps: frozenset[int] = ...,
        ends: bool = False,
    ) -> None: ...
