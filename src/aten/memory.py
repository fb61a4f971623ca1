"""The memory of tensors: what is in use, what is kept for later, and giving that back.

Freed memory is kept for tensors to come, up to a bound (`set_cache_limit`, or the environment
variable ATEN_MEMORY_CACHE_LIMIT), and at most 32 MiB more than a program held at its peak. Where
memory becomes short on the machine, or in the control group of the process, all that is kept goes
back.
"""

from __future__ import annotations

from aten._core.memory import allocator, storage

__all__ = ["empty_cache", "reset_peak", "set_cache_limit", "stats"]


def stats() -> dict[str, int]:
    """Counters by name, since the process began.

    Bytes: `allocated_bytes` are in use by tensors, `peak_bytes` the most that were; `cached_bytes`
    are kept; `reserved_bytes`, and at most `peak_reserved_bytes`, are both; `cache_limit` bounds
    what is kept. Blocks: `active_blocks` are in use; `allocations` were handed out, of which
    `system_allocations` came from the system, the others from what was kept; `system_frees` went
    back to it. Events: `trims` of the cache because memory was short, `retries` after the system
    refused a block, `out_of_memory` where it refused again. Copies: `lazy_copies` that were put off
    until somebody writes, and `lazy_copies_made` of them since.

    Example:

        >>> "allocated" in " ".join(aten.memory.stats())
        True
    """
    return {**allocator.stats(), **storage.copy_stats()}


def reset_peak() -> None:
    """Let `peak_bytes` and `peak_reserved_bytes` begin anew at what is held now.

    Example:

        >>> aten.memory.reset_peak()
    """
    allocator.reset_peak()


def empty_cache() -> None:
    """Give all memory that is kept back; at most what is held from now on is kept again.

    Example:

        >>> aten.memory.empty_cache()
    """
    allocator.empty_cache()


def set_cache_limit(nbytes: int) -> None:
    """Keep at most `nbytes` of freed memory from now on; ValueError for a negative bound.

    Example:

        >>> aten.memory.set_cache_limit(1 << 30)
    """
    allocator.set_cache_limit(nbytes)
