"""Images of machine code, which are loaded without LLVM. `linking` makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aten._core.memory.code import Code

PAGE = 4096


class LinkError(ValueError):
    """An object, or an image, that is not what is linked and loaded here."""


class Image:
    """Code and constants, and what they need.

    Attributes:
        content: whole pages; the last ones are for `functions`, a word each.
        code: how many bytes come before them.
        functions: names of functions of the C library.
        symbols: the place of each kernel.
    """

    __slots__ = ("code", "content", "functions", "symbols")

    def __init__(
        self,
        content: bytes | memoryview,
        code: int,
        functions: Sequence[str],
        symbols: Mapping[str, int],
    ) -> None:
        self.content = content
        self.code = code
        self.functions = functions
        self.symbols = symbols


def loaded(image: Image) -> Code:
    """An image in memory, whose code runs for as long as the object is there.

    Raises LinkError where a function is not in the process, and OSError where the system lets no
    code be loaded.
    """
    try:
        return Code(image.content, image.code, image.functions)
    except (LookupError, ValueError) as error:
        raise LinkError(str(error)) from None
