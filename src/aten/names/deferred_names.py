"""Names of the package whose modules are imported when one of them is first asked for.

And the names under which users know its compiled types, in errors, help and pickle, and pickles
what makes compiled objects anew.
"""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from types import ModuleType

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten._core.base.keys import DispatchKey, DispatchKeySet
from aten._core.base.naming import name_type
from aten._core.base.sizes import Size
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.packets import OpOverloadPacket
from aten._core.memory.storage import Storage
from aten._core.random.generator import Generator
from aten._core.tensor.tensor import Tensor

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
# What pickles call the modules below `aten._core` that make objects anew, the modules that do, and
# their functions. Saved pickles are read as long as these names stay, wherever the functions go.
_PICKLED = {
    "device": ("base.device", ("_layout_named", "_memory_format_named")),
    "dispatcher": ("dispatch.dispatcher", ("packet_named",)),
    "dtypes": ("base.dtypes", ("dtype_by_name",)),
    "generator": ("random.generator", ("_restored",)),
    "keys": ("base.keys", ("parse_dispatch_key", "DispatchKeySet.from_raw_repr")),
    "storage": ("memory.storage", ("_storage_from_pickle",)),
}
_BY_MODULE = {
    "amp.scaling": ("GradScaler",),
    "array_api.info": ("__array_namespace_info__",),
    "checkpoints": ("load", "save"),
    "compiler.entrance": ("compile",),
    "_core.base.errors": ("AcceleratorError", "OutOfMemoryError"),
    "functional.indexing": ("_segment_reduce",),
    "interop": ("from_file", "to_dlpack"),
    "overrides": ("DisableTorchFunction", "DisableTorchFunctionSubclass"),
    "transforms": ("decompositions",),
    "transforms.batching.mapping": ("vmap",),
    "tensor_type.methods": ("unique", "unique_consecutive"),
    "tensor_type.printing": ("get_printoptions", "set_printoptions"),
    "random": ("fork_rng",),
    "type_info": ("finfo", "iinfo"),
    "tensor_type.tensor_types": (
        *("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor"),
        *("FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor"),
        "set_default_tensor_type",
    ),
}
_PLACES = {name: f"aten.{module}" for module, names in _BY_MODULE.items() for name in names}
# Modules all of whose names are the package's.
_WHOLE = tuple(
    f"aten.{name}"
    for name in (
        "amp.autocasting",
        "constants",
        "functional.control",
        "grad_mode",
        "tensor_type.predicates",
        "settings",
    )
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


def name_pickled() -> None:
    """Let pickle know the functions that make compiled objects anew by names that stay."""
    for name, (place, functions) in _PICKLED.items():
        home, shown = import_module(f"aten._core.{place}"), ModuleType(f"aten._core.{name}")
        for function in functions:
            attrgetter(function)(home).__module__ = shown.__name__
            outer = function.partition(".")[0]
            setattr(shown, outer, getattr(home, outer))
        sys.modules[shown.__name__] = shown
