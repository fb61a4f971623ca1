"""ATen: tensors, dispatch and operators, written in Python."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aten import adapters, backends, foreign, ops, registry
from aten._core.construct import from_array_interface
from aten._core.device import (
    LAYOUTS,
    MEMORY_FORMATS,
    device,
    layout,
    memory_format,
)
from aten._core.dispatcher import OpOverload
from aten._core.dtypes import (
    ALIASES,
    DTYPES,
    can_cast,
    dtype,
    get_default_dtype,
    promote_types,
    set_default_dtype,
)
from aten._core.generator import Generator, default_generator
from aten._core.keys import DispatchKey, DispatchKeySet
from aten._core.packets import OpOverloadPacket
from aten._core.parallel import get_num_threads, set_num_threads
from aten._core.promotion import result_type
from aten._core.sizes import Size
from aten._core.tensor import Tensor
from aten.construction import as_tensor, asarray, is_tensor, tensor
from aten.dispatch import trace_dispatch
from aten.functional import *
from aten.interop import from_dlpack, from_numpy, frombuffer
from aten.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from aten.surface import install_slots

if TYPE_CHECKING:
    from aten._generated.functions import *

__version__ = "0.1.0"

backends.install()
foreign.install()
install_slots()
registry.install_methods()
adapters.install()
# Imported when first asked for: `import aten` stays fast.
_DEFERRED_MODULES = frozenset(
    {
        "array_api",
        "export",
        "fft",
        "library",
        "linalg",
        "masked",
        "memory",
        "nn",
        "return_types",
        "safetensors",
        "signal",
        "special",
    }
)

_DEFERRED_NAMES = {
    **dict.fromkeys(
        (
            "BFloat16Tensor",
            "BoolTensor",
            "ByteTensor",
            "CharTensor",
            "DoubleTensor",
            "FloatTensor",
            "HalfTensor",
            "IntTensor",
            "LongTensor",
            "ShortTensor",
            "set_default_tensor_type",
        ),
        "tensor_types",
    ),
    "__array_namespace_info__": "array_api.info",
    "_segment_reduce": "functional.indexing",
    "finfo": "type_info",
    "iinfo": "type_info",
    "get_printoptions": "printing",
    "set_printoptions": "printing",
    "unique": "methods",
    "unique_consecutive": "methods",
}


def __getattr__(name: str) -> Any:
    if name in _DEFERRED_MODULES:
        return import_module(f"aten.{name}")
    if name in _DEFERRED_NAMES:
        return getattr(import_module(f"aten.{_DEFERRED_NAMES[name]}"), name)
    raise AttributeError(f"module 'aten' has no attribute {name!r}")


globals().update(DTYPES)
globals().update(ALIASES)
globals().update(LAYOUTS)
globals().update(MEMORY_FORMATS)
globals().update(registry.functions())
