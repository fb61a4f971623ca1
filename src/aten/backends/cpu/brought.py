"""Kernels that a file brought along, for whoever would ask LLVM for them.

Apart from `jit`, so that a program that has all its kernels is loaded without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# By the hash of a program's text: the address of its code, and what keeps that loaded.
kernels: dict[bytes, tuple[int, object]] = {}
# By the same hash the name of the object in the cache, where a file says it.
objects: dict[bytes, str] = {}
# By an operator's call, the hash of the program that it is.
calls: dict[str, bytes] = {}
# By the call of an operator with folds, its plan; see `aten.backends.cpu.described_plans`.
plans: dict[str, dict[str, Any]] = {}
# The vector registers that they were made for, in bytes; None before any file.
vector_bytes: int | None = None


def bring(
    addresses: Mapping[bytes, int],
    register_bytes: int,
    library: object,
    names: Mapping[bytes, str] = MappingProxyType({}),
    of_calls: Mapping[str, bytes] = MappingProxyType({}),
    of_folds: Mapping[str, dict[str, Any]] = MappingProxyType({}),
) -> None:
    """Kernels from a file: addresses by the hashes of their programs' texts. They are used in the
    place of what LLVM would make, which is asked for only what is not among them. `names` are those
    of their objects in the cache, `of_calls` the hashes by calls of operators, `of_folds` plans."""
    global vector_bytes
    vector_bytes = register_bytes
    objects.update(names)
    calls.update(of_calls)
    plans.update(of_folds)
    for key, address in addresses.items():
        kernels[key] = address, library


def digest(text: str) -> bytes:
    """What a program's text is known by in files."""
    return hashlib.sha256(text.encode()).digest()


def kernel_of(call: str) -> tuple[int, object] | None:
    """The address of the code that a call runs and what keeps it loaded, where a file has it."""
    found = calls.get(call)
    return None if found is None else kernels.get(found)


def note(call: str, text: str) -> None:
    """Remember which program a call of an operator is, for files."""
    calls[call] = digest(text)


def called() -> set[bytes]:
    """The hashes of what calls of operators run, as far as that is known."""
    launches = [launch for plan in list(plans.values()) for launch in plan["launches"]]
    return {*list(calls.values()), *(bytes.fromhex(one["kernel"]) for one in launches)}
