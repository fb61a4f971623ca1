"""Settings of CUDA's libraries, kept for programs that set them: there are none.

Attention is computed in one way on the CPU; which of CUDA's kernels would be allowed is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
_allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """No."""
    return False


def enable_flash_sdp(enabled: bool) -> None:
    """Kept and answered."""
    _allowed["flash"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` was told."""
    return _allowed["flash"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Kept and answered."""
    _allowed["mem_efficient"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` was told."""
    return _allowed["mem_efficient"]


def enable_math_sdp(enabled: bool) -> None:
    """Kept and answered."""
    _allowed["math"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` was told."""
    return _allowed["math"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Kept and answered."""
    _allowed["cudnn"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` was told."""
    return _allowed["cudnn"]


def is_flash_attention_available() -> bool:
    """No."""
    return False


def preferred_linalg_library(backend: Any = None) -> None:
    """None: there is no choice."""


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Settings for the time of a block."""
    outside = dict(_allowed)
    _allowed.update(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )
    try:
        yield
    finally:
        _allowed.update(outside)
