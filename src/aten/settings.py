"""What programs set once at their beginning: devices, precision, determinism, threads.

Results here are the same bits for any number of threads, and products of float32 are computed in
float32; so several of these settings are kept, answered and change nothing.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

from aten._core.base.device import device, set_thread_device, thread_device
from aten._core.threads.parallel import set_num_threads as _set_num_threads

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "init_num_threads",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]


# Devices


def set_default_device(device: Any) -> None:
    """Let factories of this thread that are given no device make tensors there; None: the CPU.

    Raises RuntimeError for what names no device. One that is not there is met by the first factory.

    Example:

        >>> aten.set_default_device("meta")
        >>> aten.ones(2).device
        device(type='meta')
        >>> aten.set_default_device("cpu")
    """
    set_thread_device(None if device is None else _as_device(device))


def get_default_device() -> device:
    """Where factories of this thread make tensors.

    Example:

        >>> aten.get_default_device()
        device(type='cpu')
    """
    return thread_device() or _as_device("cpu")


def get_device_module(device: Any = None) -> Any:
    """The module of a device's kind: `aten.cuda` for "cuda:0"; without one, that of the CPU.

    Raises RuntimeError for what names no device, and for kinds without a module.

    Example:

        >>> aten.get_device_module("cpu").__name__
        'aten.cpu'
    """
    kind = "cpu" if device is None else _as_device(device).type
    if kind not in ("cpu", "cuda", "mps", "mtia", "xpu"):
        raise RuntimeError(f"get_device_module(): there is no module aten.{kind}")
    return import_module(f"aten.{kind}")


def _as_device(place: Any) -> device:
    return device(place)


# Precision and determinism

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


class _Settings:
    precision = "highest"
    deterministic = False
    warn_only = False
    warn_always = False
    interop_threads = 0


def set_float32_matmul_precision(precision: str) -> None:
    """ "highest", "high" or "medium": all of them are float32 here. Warns of others, and stays.

    Example:

        >>> aten.set_float32_matmul_precision("highest")
        >>> aten.get_float32_matmul_precision()
        'highest'
    """
    if precision not in _PRECISIONS:
        warnings.warn(
            f"set_float32_matmul_precision(): {precision!r} is none of {_PRECISIONS}, and changes "
            f"nothing",
            stacklevel=2,
        )
        return
    _Settings.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told.

    Example:

        >>> aten.get_float32_matmul_precision()
        'highest'
    """
    return _Settings.precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same every time, which they are anyway.

    Example:

        >>> aten.use_deterministic_algorithms(True)
        >>> aten.are_deterministic_algorithms_enabled()
        True
        >>> aten.use_deterministic_algorithms(False)
    """
    _Settings.deterministic, _Settings.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told.

    Example:

        >>> aten.are_deterministic_algorithms_enabled()
        False
    """
    return _Settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` was told of warnings.

    Example:

        >>> aten.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return _Settings.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same by a number or a name: 0 "default", 1 "warn", 2 "error".

    Raises TypeError for other kinds of arguments, RuntimeError for other values.

    Example:

        >>> aten.set_deterministic_debug_mode("warn")
        >>> aten.get_deterministic_debug_mode()
        1
        >>> aten.set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    number = _DEBUG_MODES.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if number is None or number not in _DEBUG_MODES.values():
        raise RuntimeError(f"invalid value of debug_mode, expected one of {_DEBUG_MODES}")
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as for `set_deterministic_debug_mode`.

    Example:

        >>> aten.get_deterministic_debug_mode()
        0
    """
    return 0 if not _Settings.deterministic else 1 if _Settings.warn_only else 2


# Threads and floating point


def set_num_threads(num: int) -> None:
    """Use at most so many threads. Raises RuntimeError unless it is a positive int.

    Example:

        >>> aten.set_num_threads(aten.get_num_threads())
    """
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    _set_num_threads(num)


def set_num_interop_threads(num: int) -> None:
    """Kept and answered; operators of one thread run one after another. Raises RuntimeError < 1.

    Example:

        >>> aten.set_num_interop_threads(aten.get_num_interop_threads())
    """
    if isinstance(num, bool) or not isinstance(num, int):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError(f"Expected positive number of threads, got {num}")
    _Settings.interop_threads = num


def get_num_interop_threads() -> int:
    """What was set, else the number of processors the process may use.

    Example:

        >>> aten.get_num_interop_threads() > 0
        True
    """
    return _Settings.interop_threads or len(os.sched_getaffinity(0))


def init_num_threads() -> None:
    """Nothing: threads start when they are first needed.

    Example:

        >>> aten.init_num_threads()
    """


def set_flush_denormal(mode: bool) -> bool:
    """Whether small numbers can be taken for zero as `mode` says: they never are here.

    Example:

        >>> aten.set_flush_denormal(False)
        True
    """
    return not mode


def set_warn_always(mode: bool, /) -> None:
    """Kept and answered; how often warnings show, Python's `warnings` decides.

    Example:

        >>> aten.set_warn_always(False)
    """
    _Settings.warn_always = bool(mode)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told.

    Example:

        >>> aten.is_warn_always_enabled()
        False
    """
    return _Settings.warn_always


def compiled_with_cxx11_abi() -> bool:
    """There is no C++ here for which it would matter: True.

    Example:

        >>> aten.compiled_with_cxx11_abi()
        True
    """
    return True


# Automatic conversion, which is not there yet


def is_anomaly_enabled() -> bool:
    """Whether gradients are looked after for NaN: there are none.

    Example:

        >>> aten.is_anomaly_enabled()
        False
    """
    return False


def is_anomaly_check_nan_enabled() -> bool:
    """As torch says where nothing was set.

    Example:

        >>> aten.is_anomaly_check_nan_enabled()
        True
    """
    return True
