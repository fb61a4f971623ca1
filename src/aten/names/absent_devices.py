"""What `aten.cuda`, `aten.mps`, `aten.xpu` and `aten.mtia` answer: there is no such device here.

Questions have answers: none is available, there are 0 of them, 0 bytes are in use. What programs
call whether or not there is a device, such as seeding, does nothing. What needs one raises
`NoDeviceError`, which is an AssertionError and a RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from aten._core.base.device import device
from aten._core.base.errors import NoDeviceError

# What is answered, by what: any arguments are taken.
_ANSWERS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (
        0,
        (
            "device_count",
            "max_memory_allocated",
            "max_memory_cached",
            "max_memory_reserved",
            "memory_allocated",
            "memory_cached",
            "memory_reserved",
        ),
    ),
    (
        False,
        (
            "is_available",
            "is_bf16_supported",
            "is_built",
            "is_current_stream_capturing",
            "is_initialized",
            "is_tf32_supported",
        ),
    ),
    (None, ("empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all")),
    ((), ("get_arch_list", "get_rng_state_all", "memory_snapshot")),
)
_NEED_A_DEVICE = (
    "Event",
    "Stream",
    "can_device_access_peer",
    "current_allocated_memory",
    "current_blas_handle",
    "current_device",
    "current_stream",
    "default_stream",
    "driver_allocated_memory",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "init",
    "initial_seed",
    "ipc_collect",
    "mem_get_info",
    "memory_stats",
    "memory_summary",
    "recommended_max_memory",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "synchronize",
    "utilization",
)


def _answer(name: str, value: Any) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"{value!r}, whatever is asked about: there is no such device."
    return answer


def _refusal(name: str, place: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NoDeviceError(place)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Needs a device: raises NoDeviceError."
    return refuse


def answers(place: str) -> dict[str, Any]:
    """The functions of the module of a device that is not there, by name."""
    found = {name: _answer(name, value) for value, names in _ANSWERS for name in names}
    found |= {name: _refusal(name, place) for name in _NEED_A_DEVICE}
    for function in found.values():
        function.__module__ = f"aten.{place}"
    return found


class chosen_device:  # noqa: N801
    """The context in which device `index` of a kind is the current one: raises NoDeviceError."""

    kind = "cuda"

    def __init__(self, index: Any) -> None:
        self.index = index.index if isinstance(index, device) else index

    def __enter__(self) -> NoReturn:
        raise NoDeviceError(device(self.kind, self.index))

    def __exit__(self, *exc_info: object) -> None:
        return None
