"""Say what this installation is: versions, processor, caches, threads, settings."""

from __future__ import annotations

import argparse
import os
import platform
import sys

NAME = "doctor"
SUMMARY = "versions, processor, caches, threads"

_PACKAGES = ("aten", "numpy", "llvmlite", "ml_dtypes", "scipy-openblas64")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def execute(options: argparse.Namespace) -> None:
    print(f"python      {platform.python_version()} ({sys.executable})")
    print(f"system      {platform.platform()}")
    for package in _PACKAGES:
        print(f"{package:17} {_version(package)}")
    print(f"processor   {_processor()}")
    print(f"features    {_features()}")
    print(f"threads     {_threads()}")
    print(f"cache       {_kernel_cache()}")
    print(f"operators   {_operator_count()}")
    print("settings")
    for line in _settings():
        print(f"  {line}")


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _features() -> str:
    """The vector extensions that generated code may use."""
    try:
        from llvmlite import binding
    except ImportError:
        return "unknown: llvmlite is not installed"
    from aten.backends.cpu.widths import is_allowed

    features = binding.get_host_cpu_features()
    shown = ("sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bf16", "avx512fp16", "neon")
    present = [name for name in shown if features.get(name) and is_allowed(name)]
    return f"{binding.get_host_cpu_name()}: {' '.join(present) or 'none known'}"


def _threads() -> str:
    from aten.config import NUM_THREADS

    processors = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    return f"{NUM_THREADS.get() or processors} at most, on {processors} processors"


def _kernel_cache() -> str:
    from aten.backends.cpu import cache

    folder = cache.directory()
    if folder is None:
        return "switched off"
    files = (
        [entry for entry in os.scandir(folder) if entry.is_file()] if os.path.isdir(folder) else []
    )
    size = sum(entry.stat().st_size for entry in files)
    return f"{folder}: {len(files)} kernels, {size / 2**20:.1f} MiB"


def _operator_count() -> str:
    from aten._generated.table import OPERATORS, PACKETS

    return f"{len(OPERATORS)} overloads of {len(PACKETS)} operators"


def _settings() -> list[str]:
    from aten.config import VARIABLES

    return [
        f"{name} = {variable.text() or variable.default_text.strip('`')}"
        for name, variable in VARIABLES.items()
    ]
