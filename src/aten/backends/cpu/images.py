"""Images of machine code, which are loaded without LLVM. `linking` makes them."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PAGE = 4096
_WORD = 8


class LinkError(ValueError):
    """An object, or an image, that is not what is linked and loaded here."""


class Image(NamedTuple):
    """Code and constants, and what they need.

    Attributes:
        content: whole pages; the last ones are for `functions`, a word each.
        code: how many bytes come before them.
        functions: names of functions of the C library.
        symbols: the place of each kernel.
    """

    content: bytes
    code: int
    functions: Sequence[str]
    symbols: Mapping[str, int]


class Loaded:
    """An image in memory, whose code runs for as long as this object is there.

    Raises LinkError where a function is not in the process, and OSError where the system lets no
    code be loaded.
    """

    def __init__(self, image: Image) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._memory = mmap.mmap(-1, max(len(image.content), PAGE))
        self._memory.write(image.content)
        for place, name in enumerate(image.functions):
            found = getattr(library, name, None)
            if found is None:
                raise LinkError(f"the machine code calls {name}, which is not there")
            address = ctypes.cast(found, ctypes.c_void_p).value or 0
            struct.pack_into("<Q", self._memory, image.code + _WORD * place, address)
        self._view: Any = (ctypes.c_char * len(self._memory)).from_buffer(self._memory)
        self.address = ctypes.addressof(self._view)
        protect = library.mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if protect(self.address, image.code, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "the system lets no machine code be loaded")
