"""Floor 4: the devices, and how operators of each kind get their kernels.

Nothing heavy is imported until the first operator of a kind is made.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from aten import registry

if TYPE_CHECKING:
    from aten._core.dispatcher import OpOverload

# Which function gives operators of a kind their kernels.
_INSTALLERS = {
    "pointwise": "aten.backends.structured:install_pointwise",
    "reduction": "aten.backends.structured:install_reduction",
    "composite": "aten.backends.composite:install_composite",
    "factory": "aten.backends.composite:install_explicit",
    "extern": "aten.backends.composite:install_explicit",
    "view": "aten.backends.composite:install_view",
}


def install() -> None:
    """Let the registry make kernels as operators come into being."""
    for kind, location in _INSTALLERS.items():
        registry.register_kind(kind, _deferred(location))


def _deferred(location: str) -> registry.Installer:
    module, _, name = location.partition(":")

    def installer(op: OpOverload) -> None:
        getattr(import_module(module), name)(op)

    return installer
