"""What annotations need of `typing` when a module runs; importing that is a sixth of a start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import overload as overload
else:

    def overload(function):
        """The function, which the next definition of its name replaces."""
        return function
