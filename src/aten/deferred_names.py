"""Names of the package whose modules are imported when one of them is first asked for.

And the names under which users know its compiled types, in errors, help and pickle.
"""

from __future__ import annotations

from importlib import import_module

from aten._core.device import device, layout, memory_format
from aten._core.dispatcher import OpOverload
from aten._core.dtypes import dtype
from aten._core.generator import Generator
from aten._core.keys import DispatchKey, DispatchKeySet
from aten._core.naming import name_type
from aten._core.packets import OpOverloadPacket
from aten._core.sizes import Size
from aten._core.storage import Storage
from aten._core.tensor import Tensor

_TYPES = {
    "Tensor": Tensor,
    "dtype": dtype,
    "device": device,
    "layout": layout,
    "memory_format": memory_format,
    "Size": Size,
    "Generator": Generator,
    "UntypedStorage": Storage,
    "DispatchKey": DispatchKey,
    "DispatchKeySet": DispatchKeySet,
    "OpOverload": OpOverload,
    "OpOverloadPacket": OpOverloadPacket,
}
_BY_MODULE = {
    "array_api.info": ("__array_namespace_info__",),
    "_core.errors": ("AcceleratorError", "OutOfMemoryError"),
    "functional.indexing": ("_segment_reduce",),
    "interop": ("from_file", "to_dlpack"),
    "methods": ("unique", "unique_consecutive"),
    "printing": ("get_printoptions", "set_printoptions"),
    "random": ("fork_rng",),
    "type_info": ("finfo", "iinfo"),
    "tensor_types": (
        *("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor"),
        *("FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor"),
        "set_default_tensor_type",
    ),
}
_PLACES = {name: f"aten.{module}" for module, names in _BY_MODULE.items() for name in names}
# Modules all of whose names are the package's.
_WHOLE = tuple(
    f"aten.{name}"
    for name in ("constants", "functional.control", "grad_mode", "predicates", "settings")
)


def module_of(name: str) -> str | None:
    """The module that has a name of the package, or None."""
    if name in _PLACES:
        return _PLACES[name]
    if name.startswith("_"):
        return None
    return next((module for module in _WHOLE if name in import_module(module).__all__), None)


def names() -> list[str]:
    """All of these names."""
    return [*_PLACES, *(name for module in _WHOLE for name in import_module(module).__all__)]


def name_types() -> None:
    """Let compiled types be known as what users call them."""
    for name, named in _TYPES.items():
        name_type(named, "aten", name)
