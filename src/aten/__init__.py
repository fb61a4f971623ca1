"""ATen: tensors, dispatch and operators, written in Python."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

# What is made by importing stays: nothing of it is garbage, and looking for some takes a sixth of
# the time.
_collects = gc.isenabled()
gc.disable()
try:
    from aten import adapters, backends, foreign, ops, registry
    from aten._core.base.device import (
        LAYOUTS,
        MEMORY_FORMATS,
        device,
        layout,
        memory_format,
    )
    from aten._core.base.dtypes import (
        ALIASES,
        DTYPES,
        can_cast,
        dtype,
        get_default_dtype,
        promote_types,
        set_default_dtype,
    )
    from aten._core.base.keys import DispatchKey, DispatchKeySet
    from aten._core.base.namespaces import look_up_at_once
    from aten._core.base.sizes import Size
    from aten._core.dispatch.dispatcher import OpOverload
    from aten._core.dispatch.packets import OpOverloadPacket
    from aten._core.memory.storage import Storage as UntypedStorage
    from aten._core.random.generator import Generator, default_generator
    from aten._core.tensor.construct import from_array_interface
    from aten._core.tensor.promotion import result_type
    from aten._core.tensor.tensor import Tensor
    from aten._core.threads.parallel import get_num_threads
    from aten.autograd import arithmetic
    from aten.construction import as_tensor, asarray, is_tensor, tensor
    from aten.dispatch import trace_dispatch
    from aten.functional import *
    from aten.interop import from_dlpack, from_numpy, frombuffer
    from aten.names import deferred_names, naming, refusals
    from aten.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
    from aten.tensor_type.surface import install_slots

    backends.install()
    arithmetic.install()
    foreign.install()
    install_slots()
    registry.install_methods()
    refusals.install()
    deferred_names.name_types()
    deferred_names.name_pickled()
    adapters.install()

    globals().update(DTYPES)
    globals().update(ALIASES)
    globals().update(LAYOUTS)
    globals().update(MEMORY_FORMATS)
    globals().update(registry.functions())
    naming.show_as_own("aten", globals())
    look_up_at_once(sys.modules[__name__])
finally:
    if _collects:
        if not gc.get_freeze_count():
            # All that is there counts as old now, and is not looked through at once.
            gc.freeze()
            gc.unfreeze()
        gc.enable()
# Imported when first asked for: `import aten` stays fast.
_DEFERRED_MODULES = frozenset(
    {
        "accelerator",
        "amp",
        "array_api",
        "autograd",
        "compiler",
        "cpu",
        "cuda",
        "distributions",
        "export",
        "fft",
        "func",
        "jit",
        "library",
        "linalg",
        "masked",
        "memory",
        "mps",
        "mtia",
        "nn",
        "optim",
        "overrides",
        "prims",
        "profiler",
        "random",
        "return_types",
        "safetensors",
        "signal",
        "special",
        "testing",
        "transforms",
        "utils",
        "version",
        "xpu",
    }
)


def __getattr__(name: str) -> Any:
    if name in _DEFERRED_MODULES:
        return import_module(f"aten.{name}")
    place = deferred_names.module_of(name)
    if place is not None:
        found = getattr(import_module(place), name)
        # The next one asking finds it without coming here.
        globals()[name] = found
        naming.show_as_own("aten", {name: found})
        return found
    return refusals.refuse("aten", name)


# Rooms of the package that are there from the start and for everybody.
_PUBLIC_MODULES = frozenset({"backends", "dispatch", "ops", "prims", "random"})
# What the package itself needs of others.
_INNER = frozenset(
    {
        *("ALIASES", "DTYPES", "LAYOUTS", "MEMORY_FORMATS", "annotations"),
        *("from_array_interface", "gc", "import_module", "install_slots", "TYPE_CHECKING"),
        *("look_up_at_once", "sys"),
    }
)


def __dir__() -> list[str]:
    rooms = {name for name, value in globals().items() if isinstance(value, type(registry))}
    shown = {*globals(), *deferred_names.names()} - _INNER - rooms
    return sorted(shown | _PUBLIC_MODULES | _DEFERRED_MODULES)
