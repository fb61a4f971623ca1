"""Operators of one's own, as torch.library's: defined, made of functions, checked."""

from __future__ import annotations

from typing import Any

from aten.library.checking import opcheck
from aten.library.custom import CustomOpDef, custom_op
from aten.library.dispatch_rules import register_torch_dispatch
from aten.library.gradients import register_autograd
from aten.library.registration import (
    Library,
    _scoped_library,
    define,
    fallthrough_kernel,
    impl,
    key_of_device_type,
    register_autocast,
    register_fake,
    register_kernel,
)
from aten.library.vmap_rules import register_vmap, vmap_rule_of

__all__ = [
    "CustomOpDef",
    "Library",
    "_scoped_library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "impl",
    "infer_schema",
    "key_of_device_type",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "vmap_rule_of",
]


def __getattr__(name: str) -> Any:
    # Loads `inspect`, which takes longer to import than the rest of this module.
    if name == "infer_schema":
        from aten.schema.inference import infer_schema

        return infer_schema
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
