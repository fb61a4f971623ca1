"""Numbers of profiles with their units."""

from __future__ import annotations

_TIMES = {"s": 1e6, "ms": 1e3, "us": 1.0}


def plain(text: str) -> str:
    """`text` with a question mark for every character that cannot be shown: `a?b`.

    Example:

        >>> aten.profiler.units.plain("a" + chr(10) + "b")
        'a?b'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def format_time(microseconds: float, unit: str | None = None) -> str:
    """`12.345us`, `1.234ms`, `2.000s`; in `unit` where one is given.

    Raises:
        ValueError: there is no such unit.

    Example:

        >>> aten.profiler.units.format_time(1234.5)
        '1.234ms'
    """
    if unit is None:
        unit = next((one for one, size in _TIMES.items() if microseconds >= size), "us")
    if unit not in _TIMES:
        raise ValueError(f"time_unit must be one of {', '.join(_TIMES)}, not {unit!r}")
    return f"{microseconds / _TIMES[unit]:.3f}{unit}"


def format_bytes(count: int) -> str:
    """`512 B`, `1.50 KiB`, `-3.00 MiB`, `2.00 GiB`.

    Example:

        >>> aten.profiler.units.format_bytes(1536)
        '1.50 KiB'
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def format_amount(count: float, unit: str) -> str:
    """`12 FLOP`, `1.50 MFLOP`, `3.25 GFLOP/s`.

    Example:

        >>> aten.profiler.units.format_amount(1.5e9, "FLOP/s")
        '1.50 GFLOP/s'
    """
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if count >= size:
            return f"{count / size:.2f} {prefix}{unit}"
    return f"{count:.0f} {unit}"
