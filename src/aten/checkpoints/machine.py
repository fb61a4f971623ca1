"""A machine for the instructions of pickles that builds plain containers and calls nothing.

Globals and persistent ids go to functions of the caller. What is on the stack is data or a
`Maker`, and only a `Maker` is called. There is no recursion: however deep a file is nested, it
takes no stack; and keys of dicts and sets, whose hashes do recurse, are checked first.

Format: Lib/pickletools.py of CPython, protocols 2 to 5.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

__all__ = ["Maker", "checked_keys", "run"]

_LONGEST_KEY = 1000  # parts of a tuple, all levels together, that is a key
_SCALARS = (str, int, float, complex, bytes, type(None))


class Maker:
    """What a global stands for that is called: its name, and the function that makes the thing."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make

    def __repr__(self) -> str:
        return f"<{self.name} in a checkpoint>"


def checked_keys(keys: Any) -> Any:
    """The keys, if they are scalars or small tuples of such; else UnpicklingError."""
    for key in keys:
        left, seen = [key], 0
        while left:
            one = left.pop()
            seen += 1
            if isinstance(one, tuple):
                left.extend(one)
            elif not isinstance(one, _SCALARS):
                raise UnpicklingError(
                    f"load: a {type(one).__name__} is the key of a dict or in a set; expected "
                    f"text, bytes, numbers or tuples of them"
                )
            if seen + len(left) > _LONGEST_KEY:
                raise UnpicklingError(f"load: a key has more than {_LONGEST_KEY} parts")
    return keys


class _Machine:
    """One run: the instructions left, the stack, marks in it, and the memo."""

    def __init__(
        self, data: bytes, find: Callable[[str, str], Any], persistent: Callable[[Any], Any]
    ) -> None:
        self.data, self.place = data, 0
        self.find, self.persistent = find, persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    # Reading

    def bytes(self, count: int) -> bytes:
        end = self.place + count
        if count < 0 or end > len(self.data):
            raise UnpicklingError("load: the pickle is cut short")
        found = self.data[self.place : end]
        self.place = end
        return found

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.bytes(struct.calcsize(form)))[0]

    def text(self, count: int) -> str:
        try:
            return self.bytes(count).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise UnpicklingError("load: a text in the pickle is not UTF-8") from None

    def line(self) -> str:
        end = self.data.find(b"\n", self.place)
        if end < 0:
            raise UnpicklingError("load: the pickle is cut short")
        found = self.text(end - self.place)
        self.place += 1
        return found

    # The stack

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        self.require(1)
        return self.stack.pop()

    def require(self, count: int) -> None:
        """That many values above the last mark."""
        floor = self.marks[-1] if self.marks else 0
        if len(self.stack) - floor < count:
            raise UnpicklingError("load: the pickle takes more from its stack than there is")

    def to_mark(self) -> list[Any]:
        if not self.marks:
            raise UnpicklingError("load: the pickle goes back to a mark that is not there")
        start = self.marks.pop()
        found = self.stack[start:]
        del self.stack[start:]
        return found

    def top(self, kind: Any, instruction: str) -> Any:
        self.require(1)
        found = self.stack[-1]
        if not isinstance(found, kind):
            raise UnpicklingError(
                f"load: the pickle has {instruction} for {_shown(found)}, which takes none"
            )
        return found

    # Instructions of several kinds

    def remember(self, number: int) -> None:
        self.require(1)
        self.memo[number] = self.stack[-1]

    def recall(self, number: int) -> None:
        if number not in self.memo:
            raise UnpicklingError(f"load: the pickle's memo has nothing at {number}")
        self.push(self.memo[number])

    def tuple_of(self, count: int) -> None:
        self.require(count)
        found = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.push(found)

    def extend(self, values: list[Any]) -> None:
        self.top(list, "list items").extend(values)

    def update(self, values: list[Any]) -> None:
        if len(values) % 2:
            raise UnpicklingError("load: a key in the pickle has no value")
        self.top(dict, "dict items").update(
            zip(checked_keys(values[::2]), values[1::2], strict=True)
        )

    def add(self, values: list[Any]) -> None:
        self.top(set, "set items").update(checked_keys(values))

    def pair(self) -> list[Any]:
        value, key = self.pop(), self.pop()
        return [key, value]

    def call(self) -> None:
        arguments, maker = self.pop(), self.pop()
        if not isinstance(maker, Maker) or not isinstance(arguments, tuple):
            raise UnpicklingError(f"load: the pickle calls {_shown(maker)}, which is refused")
        try:
            self.push(maker.make(*arguments))
        except UnpicklingError:
            raise
        except (TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise UnpicklingError(f"load: {maker.name}: {error}") from None

    def build(self) -> None:
        state = self.pop()
        target = self.top(OrderedDict, "a state")
        if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
            raise UnpicklingError(f"load: the state of an OrderedDict is {_shown(state)}")
        hidden = [name for name in state if hasattr(OrderedDict, name)]
        if hidden:
            raise UnpicklingError(f"load: the state of an OrderedDict would hide {hidden[0]!r}")
        vars(target).update(state)

    def find_on_stack(self) -> None:
        name, module = self.pop(), self.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise UnpicklingError("load: the name of a global in the pickle is no text")
        self.push(self.find(module, name))

    def refuse_new(self) -> None:
        self.require(2)
        raise UnpicklingError(
            f"load: the pickle makes an object of {_shown(self.stack[-2])}, which is refused"
        )

    def drop(self) -> None:
        self.to_mark()

    def skip_frame(self) -> None:
        """Frames say how much to read at once, and all is there."""
        self.number("<Q")

    def integer(self, count: int) -> None:
        self.push(int.from_bytes(self.bytes(count), "little", signed=True))


def _shown(value: Any) -> str:
    return value.name if isinstance(value, Maker) else f"a {type(value).__name__}"


_Step = Callable[[_Machine], None]
_INSTRUCTIONS: dict[bytes, _Step] = {
    b"\x80": lambda it: _check_protocol(it.number("<B")),
    b"\x95": lambda it: it.skip_frame(),
    b"(": lambda it: it.marks.append(len(it.stack)),
    b"0": lambda it: _pop(it),
    b"1": lambda it: it.drop(),
    b"N": lambda it: it.push(None),
    b"\x88": lambda it: it.push(True),
    b"\x89": lambda it: it.push(False),
    b"J": lambda it: it.push(it.number("<i")),
    b"K": lambda it: it.push(it.number("<B")),
    b"M": lambda it: it.push(it.number("<H")),
    b"\x8a": lambda it: it.integer(it.number("<B")),
    b"\x8b": lambda it: it.integer(it.number("<i")),
    b"G": lambda it: it.push(it.number(">d")),
    b"X": lambda it: it.push(it.text(it.number("<I"))),
    b"\x8c": lambda it: it.push(it.text(it.number("<B"))),
    b"\x8d": lambda it: it.push(it.text(it.number("<Q"))),
    b"B": lambda it: it.push(it.bytes(it.number("<I"))),
    b"C": lambda it: it.push(it.bytes(it.number("<B"))),
    b"\x8e": lambda it: it.push(it.bytes(it.number("<Q"))),
    b"\x96": lambda it: it.push(bytearray(it.bytes(it.number("<Q")))),
    b"]": lambda it: it.push([]),
    b"}": lambda it: it.push({}),
    b")": lambda it: it.push(()),
    b"\x8f": lambda it: it.push(set()),
    b"t": lambda it: it.push(tuple(it.to_mark())),
    b"\x85": lambda it: it.tuple_of(1),
    b"\x86": lambda it: it.tuple_of(2),
    b"\x87": lambda it: it.tuple_of(3),
    b"a": lambda it: it.extend([it.pop()]),
    b"e": lambda it: it.extend(it.to_mark()),
    b"s": lambda it: it.update(it.pair()),
    b"u": lambda it: it.update(it.to_mark()),
    b"\x90": lambda it: it.add(it.to_mark()),
    b"q": lambda it: it.remember(it.number("<B")),
    b"r": lambda it: it.remember(it.number("<I")),
    b"\x94": lambda it: it.remember(len(it.memo)),
    b"h": lambda it: it.recall(it.number("<B")),
    b"j": lambda it: it.recall(it.number("<I")),
    b"c": lambda it: it.push(it.find(it.line(), it.line())),
    b"\x93": lambda it: it.find_on_stack(),
    b"Q": lambda it: it.push(it.persistent(it.pop())),
    b"R": lambda it: it.call(),
    b"b": lambda it: it.build(),
    b"\x81": lambda it: it.refuse_new(),
}
_STOP = b"."


def _check_protocol(number: int) -> None:
    if not 2 <= number <= 5:
        raise UnpicklingError(f"load: expected a pickle of protocol 2 to 5, got {number}")


def _pop(machine: _Machine) -> None:
    """What `0` takes away is a mark, where one is on top."""
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()
    else:
        machine.pop()


def run(data: bytes, find: Callable[[str, str], Any], persistent: Callable[[Any], Any]) -> Any:
    """What a pickle describes.

    `find(module, name)` gives what a global stands for, data or a `Maker`; `persistent(id)` what
    stands for a persistent id. Raises UnpicklingError for instructions that are damaged, unknown,
    or would make objects.
    """
    machine = _Machine(data, find, persistent)
    while True:
        instruction = machine.bytes(1)
        if instruction == _STOP:
            return machine.pop()
        step = _INSTRUCTIONS.get(instruction)
        if step is None:
            raise UnpicklingError(
                f"load: the pickle has the instruction {instruction!r}, which is refused"
            )
        step(machine)
