"""Kernels that a file brought along, for whoever would ask LLVM for them.

Apart from `jit`, so that a program that has all its kernels is loaded without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# By the hash of a program's text: the address of its code, and what keeps that loaded.
kernels: dict[bytes, tuple[int, object]] = {}
# By the same hash the name of the object in the cache, where a file says it.
objects: dict[bytes, str] = {}
# The vector registers that they were made for, in bytes; None before any file.
vector_bytes: int | None = None


def bring(
    addresses: Mapping[bytes, int],
    register_bytes: int,
    library: object,
    names: Mapping[bytes, str] = MappingProxyType({}),
) -> None:
    """Kernels from a file: addresses by the hashes of their programs' texts. They are used in the
    place of what LLVM would make, which is asked for only what is not among them. `names` are those
    of their objects in the cache."""
    global vector_bytes
    vector_bytes = register_bytes
    objects.update(names)
    for key, address in addresses.items():
        kernels[key] = address, library
