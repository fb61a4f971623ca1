"""Floor 4: the devices, and how operators of each kind get their kernels.

Nothing heavy is imported until the first operator of a kind is made.
"""

from __future__ import annotations

from importlib import import_module

from aten import registry
from aten._core.dispatch.registrations import set_code_generator
from aten.backends import lazy_views, modes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from aten._core.dispatch.dispatcher import OpOverload
    from aten.backends.contract import DeviceBackend as DeviceBackend
    from aten.backends.contract import LoopGenerator as LoopGenerator
    from aten.backends.contract import register as register
    from aten.backends.launching import Launch as Launch
    from aten.backends.launching import Part as Part
    from aten.backends.streams import current_stream as current_stream
    from aten.backends.streams import use_stream as use_stream

# Which function gives operators of a kind their kernels.
_INSTALLERS = {
    "pointwise": "aten.backends.structured:install_pointwise",
    "reduction": "aten.backends.structured:install_reduction",
    "scan": "aten.backends.structured:install_reduction",
    "composite": "aten.backends.composite:install_composite",
    "foreach": "aten.backends.foreach:install_foreach",
    "factory": "aten.backends.composite:install_factory",
    "explicit": "aten.backends.explicit:install_explicit",
    "kernel": "aten.backends.explicit:install_kernel",
    "copy": "aten.backends.composite:install_copy",
    "view": "aten.backends.composite:install_view",
}


# What programs ask of libraries and devices, and set for them; imported when first asked for.
_DEFERRED_MODULES = frozenset(
    {"cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"}
)


# Who writes a backend asks for these; programs do without them.
_CONTRACT = {
    **dict.fromkeys(("DeviceBackend", "LoopGenerator", "register"), "contract"),
    **dict.fromkeys(("Launch", "Part"), "launching"),
    **dict.fromkeys(("current_stream", "use_stream"), "streams"),
}


def __getattr__(name: str) -> Any:
    if name in _DEFERRED_MODULES:
        return import_module(f"aten.backends.{name}")
    if name in _CONTRACT:
        return getattr(import_module(f"aten.backends.{_CONTRACT[name]}"), name)
    raise AttributeError(f"module 'aten.backends' has no attribute {name!r}")


def install() -> None:
    """Let the registry make kernels as operators come into being."""
    for kind, location in _INSTALLERS.items():
        registry.register_kind(kind, _deferred(location))
    registry.register_namespace("prims", _load_prims)
    registry.register_namespace("fused", _load_fused)
    lazy_views.install()
    modes.install()
    register_backend("Reference", opset="prims")


def _load_prims() -> None:
    from aten.backends import prims, reference, standard_prims

    prims.load()
    standard_prims.load()
    reference.register()


def _load_fused() -> None:
    from aten.backends import fused

    fused.load()


def register_backend(name: str, *, opset: str) -> None:
    """Say what the backend component `name` ("PrivateUse1") takes.

    With the opset "prims" every operator that has a definition runs on it by way of the primitives
    it registers: `Library("prims", "IMPL", "PrivateUse1")`. With "all" it registers operators
    itself. Raises ValueError for other opsets and unknown components.
    """
    if opset not in ("prims", "all"):
        raise ValueError(f"register_backend: opset must be 'prims' or 'all', got {opset!r}")
    set_code_generator(name, opset == "prims")


def _deferred(location: str) -> registry.Installer:
    module, _, name = location.partition(":")

    def installer(op: OpOverload) -> None:
        getattr(import_module(module), name)(op)

    return installer
