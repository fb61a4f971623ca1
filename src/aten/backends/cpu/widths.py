"""Which of a processor's features may be used: `ATEN_VECTOR_BYTES` leaves out wide vectors."""

from __future__ import annotations

from aten import config

# How the names of features begin that have wider vectors than so many bytes. What stands on them
# goes with them: without AVX there are no products that are rounded once.
_WIDER = {
    32: ("avx512", "avx10", "evex512"),
    16: (
        "avx",
        "evex512",
        *("fma", "f16c", "gfni", "sha512", "sm3", "sm4", "vaes", "vpclmulqdq", "xop"),
    ),
}


def is_allowed(feature: str) -> bool:
    """Whether a feature, by LLVM's or the kernel's name, may be used if the processor has it."""
    return not feature.startswith(_WIDER.get(int(config.VECTOR_BYTES.get() or 64), ()))
