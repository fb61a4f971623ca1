"""Every environment variable the package reads: its name, what it is by default, what it does.

`docs/environment.md` shows them as a table; `tools/project_facts.py environment` writes that page.
All that are set are read once on import, so that wrong ones are not found out about much later.
"""

from __future__ import annotations

import os


class Variable:
    """An environment variable. Set but empty counts as not set."""

    __slots__ = ("help", "name")

    def __init__(self, name: str, help: str) -> None:
        self.name = name
        self.help = help
        VARIABLES[name] = self

    def text(self) -> str:
        return os.environ.get(self.name, "")

    def get(self) -> object:
        """The value now. Raises ValueError for texts that mean none."""
        return self.text()

    @property
    def default_text(self) -> str:
        return "not set"


class Flag(Variable):
    """On for 1, true, yes and on; off for 0, false, no, off and when not set."""

    __slots__ = ()

    _VALUES = {"": False} | dict.fromkeys(("0", "false", "no", "off"), False)
    _VALUES |= dict.fromkeys(("1", "true", "yes", "on"), True)

    def get(self) -> bool:
        """The value now. Raises ValueError for any other text."""
        text = self.text()
        if text.lower() not in self._VALUES:
            raise ValueError(f"{self.name} must be 0 or 1, got {text!r}")
        return self._VALUES[text.lower()]

    @property
    def default_text(self) -> str:
        return "0"


class Integer(Variable):
    """A whole number, with a smallest value."""

    __slots__ = ("default", "minimum")

    def __init__(self, name: str, default: int, help: str, minimum: int = 0) -> None:
        super().__init__(name, help)
        self.default = default
        self.minimum = minimum

    def get(self) -> int:
        """The value now. Raises ValueError for other text and for numbers below the minimum."""
        text = self.text()
        if not text:
            return self.default
        if not text.isdecimal() or int(text) < self.minimum:
            raise ValueError(f"{self.name} must be a number from {self.minimum} on, got {text!r}")
        return int(text)

    @property
    def default_text(self) -> str:
        return str(self.default)


class Text(Variable):
    """Any text, a path for instance."""

    __slots__ = ("default",)

    def __init__(self, name: str, default: str, help: str) -> None:
        super().__init__(name, help)
        self.default = default

    def get(self) -> str:
        return self.text() or self.default

    @property
    def default_text(self) -> str:
        return f"`{self.default}`".replace(os.path.expanduser("~"), "~")


class Path(Text):
    """A path, in which ~ is the user's folder, also where no shell has looked at it."""

    __slots__ = ()

    def get(self) -> str:
        return os.path.expanduser(super().get())


class Choice(Variable):
    """One of some words, or none of them."""

    __slots__ = ("choices",)

    def __init__(self, name: str, choices: tuple[str, ...], help: str) -> None:
        super().__init__(name, help)
        self.choices = choices

    def get(self) -> str:
        """The word; empty when not set. Raises ValueError for another one."""
        text = self.text()
        if text and text not in self.choices:
            raise ValueError(f"{self.name} must be {' or '.join(self.choices)}, got {text!r}")
        return text


class Byte(Variable):
    """A number from 0 to 255, in decimal or as 0x…."""

    __slots__ = ("default",)

    def __init__(self, name: str, default: int, help: str) -> None:
        super().__init__(name, help)
        self.default = default

    def get(self) -> int:
        """The value now. Raises ValueError for what is not a byte."""
        text = self.text()
        try:
            value = int(text, 0) if text else self.default
        except ValueError:
            value = -1
        if not 0 <= value <= 255:
            raise ValueError(f"{self.name} must be a byte, 0 to 0xff, got {text!r}")
        return value

    @property
    def default_text(self) -> str:
        return hex(self.default)


VARIABLES: dict[str, Variable] = {}

SHOW_DISPATCH_TRACE = Flag(
    "ATEN_SHOW_DISPATCH_TRACE",
    "print the path of every operator call to standard error: key, kernel, place and reason",
)

NUM_THREADS = Integer(
    "ATEN_NUM_THREADS",
    0,
    "threads one operator may use; 0: as many as the process has processors",
)
CACHE_DIR = Path(
    "ATEN_CACHE_DIR",
    os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "aten"
    ),
    "where compiled kernels and captured programs are kept; `off` keeps them in memory only",
)
CACHE_LIMIT = Integer(
    "ATEN_CACHE_LIMIT",
    256 * 1024 * 1024,
    "bytes of kernels and programs to keep on disk; the ones used longest ago go first",
)
MEMORY_CACHE_LIMIT = Integer(
    "ATEN_MEMORY_CACHE_LIMIT",
    1 << 30,
    "bytes of freed tensors to keep for new ones; `aten.memory.set_cache_limit` changes it",
)
NO_PACKED_WEIGHTS = Flag(
    "ATEN_NO_PACKED_WEIGHTS",
    "linear layers of exported programs read their weights as they lie; otherwise, from the second "
    "call on, they keep a copy in the order in which kernels read it",
)
VECTOR_BYTES = Choice(
    "ATEN_VECTOR_BYTES",
    ("16", "32", "64"),
    "the widest vectors to use, in bytes, of those that the processor has: what other processors "
    "compute is seen on one",
)
MEMORY_GUARD = Choice(
    "ATEN_MEMORY_GUARD",
    ("end", "start"),
    "for tests: put every tensor between two pages that cannot be touched, flush with the one at "
    "its end or at its start; freed memory cannot be touched either. A wild access ends the "
    "process",
)
MEMORY_FILL = Byte(
    "ATEN_MEMORY_FILL",
    0xA5,
    "what memory is filled with before it is used where `ATEN_MEMORY_GUARD` is set; a result that "
    "another byte changes depends on memory nobody wrote",
)


def table() -> str:
    """All variables as a Markdown table."""
    rows = [
        f"| `{variable.name}` | {variable.default_text} | {variable.help} |"
        for variable in VARIABLES.values()
    ]
    return "\n".join(["| variable | default | what it does |", "|---|---|---|", *rows])


# What begins like ours and is torch's.
_OF_TORCH = frozenset({"ATEN_AVX512_256", "ATEN_CPU_CAPABILITY"})


def check() -> None:
    """Read every variable that is set, and warn (UserWarning) of names that mean nothing.

    Raises ValueError for the first value that is wrong.
    """
    for name in [name for name in os.environ if name.startswith("ATEN_")]:
        if name in VARIABLES:
            VARIABLES[name].get()
        elif name not in _OF_TORCH:
            _warn_of(name)


def _warn_of(name: str) -> None:
    import warnings
    from difflib import get_close_matches

    meant = get_close_matches(name, VARIABLES, 1)
    known = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(VARIABLES)}"
    warnings.warn(f"the environment variable {name} means nothing to aten: {known}", stacklevel=3)


check()
