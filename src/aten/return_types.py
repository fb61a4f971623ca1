"""The types of several results with names: `aten.return_types.max` has `values` and `indices`.

They are tuples; operators make them, and pickle finds them here.
"""

from __future__ import annotations

from typing import Any

from aten import registry
from aten._core.dispatch.named_results import types_named


def __getattr__(name: str) -> Any:
    packet = None if name.startswith("__") else registry.find_packet("aten", name)
    for overload in () if packet is None else packet.op_overloads:
        overload._schema  # noqa: B018 (looked at, the operator makes the type of its results)
    found = types_named(name) if packet is not None else []
    if not found:
        raise AttributeError(f"module 'aten.return_types' has no attribute {name!r}")
    # The next one asking finds it without coming here.
    globals()[name] = found[0]
    return found[0]


def __dir__() -> list[str]:
    from aten._generated.table import OPERATORS, PACKETS

    return sorted(
        name for name, keys in PACKETS.items() if any(_are_named(OPERATORS[key][0]) for key in keys)
    )


def _are_named(schema: str) -> bool:
    returned = schema.rpartition("-> ")[2]
    return returned.startswith("(") and all(" " in one for one in returned.strip("()").split(", "))
