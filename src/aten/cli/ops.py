"""List operators: all of them, or those whose name holds PATTERN (`*` and `?` as in file names)."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from aten.suggestions import suggestion

if TYPE_CHECKING:
    from aten._core.base.keys import DispatchKey

NAME = "ops"
SUMMARY = "list operators"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", metavar="PATTERN", nargs="?", default="*")
    parser.add_argument("--kind", help="pointwise, reduction, scan, view, composite, explicit, ...")
    parser.add_argument("--tag", help="core, for instance")
    parser.add_argument("--backend", help="only operators with a kernel there: cpu, meta, ...")
    parser.add_argument("--schemas", action="store_true", help="print whole schemas")


def execute(options: argparse.Namespace) -> None:
    from aten._generated.table import OPERATORS, PACKETS
    from aten.registry import Entry

    backends = _backend_keys()
    kinds = {row[1] for row in OPERATORS.values()}
    _check_filter("backend", options.backend and options.backend.lower(), backends)
    _check_filter("kind", options.kind, kinds)
    _check_filter("tag", options.tag, {tag for row in OPERATORS.values() for tag in _tags(row[5])})
    pattern = options.pattern if set(options.pattern) & set("*?[") else f"*{options.pattern}*"
    count = 0
    for name, (schema, kind, variant, base, function, values) in OPERATORS.items():
        entry = Entry(kind, variant, base, function, values)
        if not fnmatchcase(name, pattern) or options.kind not in (None, entry.kind):
            continue
        if options.tag is not None and options.tag not in entry.tags:
            continue
        served = [backend for backend in backends if _has_kernel(name, backends[backend])]
        if options.backend is not None and options.backend.lower() not in served:
            continue
        count += 1
        text = schema if options.schemas else name
        print(f"{text:40}  {entry.kind:10}  {' '.join(served) or 'no kernel'}")
    if not count and not any(fnmatchcase(name, pattern) for name in OPERATORS):
        near = suggestion(options.pattern, PACKETS, count=3)
        raise LookupError(f"no operator's name holds {options.pattern!r}{near}")
    print(f"{count} of {len(OPERATORS)} operators")


def _check_filter(option: str, given: str | None, known: Collection[str]) -> None:
    """Raises ValueError for a filter that is there for no operator at all."""
    if given is None or given in known:
        return
    near = suggestion(given, known) or f", only {', '.join(sorted(known))}"
    raise ValueError(f"--{option} {given}: there is no such {option}{near}")


def _tags(options: dict[str, object]) -> tuple[str, ...]:
    tags = options.get("tags", ())
    assert isinstance(tags, tuple)
    return tags


def _backend_keys() -> dict[str, DispatchKey]:
    """Keys of the backends that come with the package, by the name of their device."""
    from aten._core.base.keys import DispatchKey

    return {name.lower(): getattr(DispatchKey, name) for name in ("CPU", "Meta", "Reference")}


def _has_kernel(name: str, key: DispatchKey) -> bool:
    from aten._core.dispatch.dispatcher import FallthroughKernel
    from aten.registry import operator

    kernel, _ = operator(name).registrations.resolve(key)
    return kernel is not None and not isinstance(kernel, FallthroughKernel)
