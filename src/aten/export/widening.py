"""Programs whose sizes are dynamic wherever they can be, unasked: what traces want."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.export.dimensions import DimHint, Dynamic, DynamicSizes, Symbol
from aten.export.exporting import Exporter
from aten.graph.program import ExportedProgram

_MOST = 6  # symbols; each further one takes as many more traces as there are

Place = tuple[int, int]  # a leaf, and a dimension of it


def widest(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> ExportedProgram:
    """A program that holds no number made of a size, as far as sizes can be told apart.

    Sizes that cannot change alone change with those that are equal in the example. Where the
    program branches on them, the first ones, which batches have, are dynamic; or none.

    Raises what exporting with fixed sizes raises.
    """
    exporter = Exporter(module, args, dict(kwargs or {}))
    fixed = exporter.exported(_sizes(exporter, []))
    groups = _changing(exporter)
    firsts = [kept for group in groups if (kept := [one for one in group if one[1] == 0])]
    for tried in (groups, firsts):
        if not 0 < len(tried) <= _MOST:
            continue
        try:
            return exporter.exported(_sizes(exporter, tried))
        except Exception:  # whatever the function does with sizes that it never met
            continue
    return fixed


def _changing(exporter: Exporter) -> list[list[Place]]:
    """Dimensions whose sizes the program runs with others of; those together that must agree."""
    found: list[list[Place]] = []
    bound: dict[int, list[Place]] = {}
    for number, leaf in enumerate(exporter.leaves):
        for dim in range(leaf.dim() if isinstance(leaf, Tensor) else 0):
            if _runs(exporter, [(number, dim)]):
                found.append([(number, dim)])
            else:
                bound.setdefault(leaf.shape[dim], []).append((number, dim))
    found += [group for group in bound.values() if len(group) > 1 and _runs(exporter, group)]
    return found


def _runs(exporter: Exporter, group: list[Place]) -> bool:
    sizes = _sizes(exporter, [group])
    [symbol] = sizes.symbols.values()
    try:
        exporter.run(sizes, {symbol.name: 2 * symbol.example + 2 * (symbol.example == 0)})
    except Exception:
        return False
    return True


def _sizes(exporter: Exporter, groups: list[list[Place]]) -> DynamicSizes:
    """A symbol for each group."""
    made = DynamicSizes()
    made.sizes = [{} for _ in exporter.leaves]
    for number, group in enumerate(groups):
        name = f"s{number}"
        leaf, dim = group[0]
        made.symbols[name] = Symbol(name, DimHint.DYNAMIC, exporter.leaves[leaf].shape[dim])
        for leaf, dim in group:
            made.sizes[leaf][dim] = Dynamic(name, 1, 0)
    return made
