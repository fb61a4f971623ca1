"""What the namespace can do: the standard's inspection functions."""

from __future__ import annotations

from typing import Any

from aten._core.base.device import device as Device  # noqa: N812
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.base.sizes import MAXIMUM_DIMENSIONS
from aten.array_api.dtypes import INDEX, STANDARD, kind_named

__all__ = ["__array_namespace_info__"]
_CPU = Device("cpu")


class Info:
    """The standard's questions to a namespace, and their answers."""

    def capabilities(self) -> dict[str, Any]:
        """Whether masks index and shapes may depend on values, and how many axes there may be."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAXIMUM_DIMENSIONS,
        }

    def default_device(self) -> Device:
        """Where arrays are made."""
        return _CPU

    def devices(self) -> tuple[Device, ...]:
        """All devices with memory of their own."""
        return (_CPU,)

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, dtype]:
        """The dtypes of numbers without one, by kind. Raises RuntimeError for no device."""
        _check(device)
        element = get_default_dtype()
        return {
            "real floating": element,
            "complex floating": element.to_complex(),
            "integral": INDEX,
            "indexing": INDEX,
        }

    def dtypes(
        self,
        *,
        device: Device | str | None = None,
        kind: str | tuple[str, ...] | None = None,
    ) -> dict[str, dtype]:
        """The standard's dtypes, all or those of kinds, by name.

        Raises ValueError for kinds that there are not, RuntimeError for no device.
        """
        _check(device)
        if kind is None:
            return dict(STANDARD)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = {name for one in kinds for name in kind_named("dtypes", one)}
        return {name: element for name, element in STANDARD.items() if element.kind in wanted}


def _check(device: Device | str | None) -> None:
    if device is not None:
        Device(device)


def __array_namespace_info__() -> Info:  # noqa: N807
    """An object with the standard's inspection functions."""
    return Info()
