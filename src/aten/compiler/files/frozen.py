"""Captured programs as files keep them: calls over slots, with kernels, plans and constants.

What is read here was written by `freezing`. Nothing is captured, optimized or looked up before it
is called, and little is imported: this is what stands between a process and its first output.
Numbers are checked where they become places in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aten import registry
from aten._core.base.device import LAYOUTS, MEMORY_FORMATS, device
from aten._core.base.dtypes import DTYPES, get_default_dtype
from aten._core.base.keys import gradient_modes, thread_included
from aten._core.dispatch.dispatcher import OpOverload, registrations_so_far
from aten._core.dispatch.replaying import CallGuard, Replay
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import FusedKernel, Launch, Plan, is_plain
from aten.backends.terms import LaunchTerms
from aten.compiler import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Described = tuple[Any, tuple[int, ...], tuple[int, ...]]

_CPU = device("cpu")
_LARGEST = 1 << 48


class OperandsError(RuntimeError):
    """A kernel was given other operands than those it was planned for."""


class FrozenProgram:
    """A captured program for inputs of one kind.

    Args:
        written: what `freezing` wrote.
        constants: the tensors that the program has besides its inputs.
        kernels: the addresses of machine code, by what `written` calls them.
        owner: what keeps them loaded.

    Raises ValueError, TypeError, KeyError or IndexError where `written` is damaged.
    """

    def __init__(
        self,
        written: Mapping[str, Any],
        constants: Sequence[Tensor],
        kernels: Mapping[str, int],
        owner: object,
    ) -> None:
        self._inputs = [_input(one) for one in written["inputs"]]
        self._default = DTYPES[written["default"]]
        self._operators = frozenset(_text(one) for one in written["operators"])
        template = [decoded(one) for one in written["template"]]
        for slot, number in written["constants"]:
            template[_natural(slot)] = constants[_natural(number)]
        groups = [Group(one, kernels, owner) for one in written["groups"]]
        steps = [_Step(one, groups) for one in written["steps"]]
        slots = [*written["input_slots"], *written["output_slots"]]
        for step in steps:
            slots += (*step.arguments, step.destination, *step.dead)
            slots += (slot for _, slot in (*step.keywords, *step.unpack))
        if any(type(slot) is not int or not 0 <= slot < len(template) for slot in slots):
            raise ValueError("a slot that is not there")
        if len(written["input_slots"]) != sum(_is_tensor(one) for one in self._inputs):
            raise ValueError("inputs without slots")
        self._replay = Replay(template, written["input_slots"], steps, written["output_slots"])
        self._registrations = -1
        self._guard: CallGuard | None = None

    def __call__(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The program's results, or None where it is none for these inputs."""
        if self._guard is not None:
            tensors = self._guard.tensors(tuple(inputs))
            if tensors is not None:
                return list(self._replay(tensors))
        if not self.serves(inputs):
            return None
        made = list(self._replay([one for one in inputs if isinstance(one, Tensor)]))
        # After the first call, which makes operators: their registrations are counted.
        self._guard = CallGuard(tuple(inputs), [])
        return made

    def serves(self, inputs: Sequence[Any]) -> bool:
        """Whether it gives what the program's operators would for these inputs now."""
        if state.capturing or thread_included() or get_default_dtype() is not self._default:
            return False
        return (
            len(inputs) == len(self._inputs)
            and all(map(_is_like, inputs, self._inputs))
            and self._stands()
        )

    def _stands(self) -> bool:
        """Whether kernels stand for what their operators' rows hold."""
        now = registrations_so_far()
        if now == self._registrations:
            return True
        if not registry.are_as_made(self._operators):
            return False
        self._registrations = now
        return True


class _Step:
    """One call, as `Replay` reads it."""

    __slots__ = (
        *("arguments", "dead", "destination", "function", "keywords", "name", "target"),
        "unpack",
    )

    def __init__(self, written: Sequence[Any], groups: Sequence[Group]) -> None:
        function, arguments, keywords, destination, unpack, dead, target, name = written
        kind, which = function
        self.function: Any = groups[_natural(which)].kernel if kind == "group" else None
        if self.function is None:
            self.function = _FUNCTIONS[kind](_text(which))
        self.arguments = tuple(arguments)
        self.keywords = tuple((_text(key), slot) for key, slot in keywords)
        self.destination = destination
        self.unpack = tuple((_natural(place), slot) for place, slot in unpack)
        self.dead = tuple(dead)
        self.target = _text(target)
        self.name = _text(name)


class Group:
    """Operators that one kernel computes: what `FusedKernel` asks for its plan."""

    def __init__(self, written: Mapping[str, Any], kernels: Mapping[str, int], owner: object):
        self.label = _text(written["label"])
        self._operands = [_described(one) for one in written["operands"]]
        outputs = [_described(one) for one in written["outputs"]]
        temporaries = [_described(one) for one in written["temporaries"]]
        tensors = [*self._operands, *outputs, *temporaries]
        launches = [
            _launch(self.label, one, tensors, kernels, owner) for one in written["launches"]
        ]
        single = written["single"]
        if type(single) is not bool or (single and len(outputs) != 1):
            raise ValueError("results that are none")
        self._plan = Plan(launches, outputs, temporaries, len(self._operands), single, 0, True)
        self.kernel = FusedKernel(self.label, self, len(self._operands))

    def plan(self, kernel: FusedKernel, tensors: Sequence[Tensor]) -> Plan:
        found = [(one.dtype, tuple(one.shape), one.stride()) for one in tensors]
        if found != self._operands:
            raise OperandsError(f"{self.label}: the operands are not those it was compiled for")
        return self._plan

    def resolved(self, tensors: Sequence[Any]) -> tuple[Tensor, ...]:
        raise RuntimeError(f"{self.label}: expected plain tensors on the CPU")


def _launch(
    label: str,
    written: Mapping[str, Any],
    tensors: Sequence[Described],
    kernels: Mapping[str, int],
    owner: object,
) -> Launch:
    require_inside(written, tensors)
    terms = LaunchTerms(
        label=label,
        sizes=written["sizes"],
        strides=written["strides"],
        reduced=(*written["reduced"], *written["numbers"]),
        sources=written["sources"],
        offsets=written["offsets"],
        work=written["work"],
    )
    return Launch(terms, kernels[written["kernel"]], owner)


def require_inside(written: Mapping[str, Any], tensors: Sequence[Described]) -> None:
    """Raises ValueError, TypeError or IndexError where a launch leaves one of its tensors."""
    sizes, steps, sources = written["sizes"], written["strides"], written["sources"]
    reduced, rank, offsets = written["reduced"], written["rank"], written["offsets"]
    count = len(sources)
    given = [*sizes, *reduced, *offsets, rank, written["work"], *sources, *written["numbers"]]
    given += (one for row in (*steps, *written["elements"]) for one in row)
    if any(type(one) is not int or abs(one) > _LARGEST for one in given):
        raise ValueError("numbers out of range")
    folded = reduced[1 : 1 + rank]
    elements = {place: _numbers(written, *at) for place, *at in written["elements"]}
    if {at for _, *row in written["elements"] for at in row} != set(range(len(written["numbers"]))):
        raise ValueError("numbers of no element")
    if rank and (rank < 0 or reduced[0] > _count(folded)):
        raise ValueError("folds of more elements than there are")
    for place in range(count):
        walked = [(size, row[place]) for size, row in zip(sizes, steps, strict=True)]
        along = reduced[1 + rank * (1 + place) : 1 + rank * (2 + place)] if rank else []
        walked += zip(folded, along, strict=True)
        walked += elements.pop(place, ())
        if any(size < 1 for size, _ in walked):
            raise ValueError("a walk over nothing")
        spans = [(size - 1) * step for size, step in walked]
        first = offsets[place] + sum(span for span in spans if span < 0)
        last = offsets[place] + sum(span for span in spans if span > 0)
        element, shape, strides = tensors[_natural(sources[place])]
        extent = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
        if 0 in shape or first < 0 or last >= extent * element.itemsize:
            raise ValueError("a walk that leaves its tensor")
    if elements:
        raise ValueError("elements of no operand")


def _numbers(written: Mapping[str, Any], size: int, step: int) -> list[tuple[int, int]]:
    """How many places there are for an element at an index, and how far apart."""
    numbers = written["numbers"]
    return [(numbers[_natural(size)], numbers[_natural(step)])]


def _count(sizes: Sequence[int]) -> int:
    made = 1
    for size in sizes:
        made *= size
    return made


# Inputs


def _input(written: Any) -> Described | list[Any]:
    """What an input must be: a tensor's description, or a list of one value."""
    return _described(written["tensor"]) if "tensor" in written else [decoded(written["value"])]


def _is_tensor(expected: Described | list[Any]) -> bool:
    return isinstance(expected, tuple)


def _is_like(given: Any, expected: Described | list[Any]) -> bool:
    if isinstance(expected, list):
        return type(given) is type(expected[0]) and given == expected[0]
    return (
        isinstance(given, Tensor)
        and is_plain(given)
        and (given.dtype, tuple(given.shape), given.stride()) == expected
        and not (given.requires_grad and gradient_modes()[0])
    )


# Values: what JSON has no word for is an object with one name.


def decoded(written: Any) -> Any:
    """The value that `freezing.encoded` wrote."""
    if isinstance(written, list):
        return [decoded(one) for one in written]
    if not isinstance(written, dict):
        return written
    ((kind, value),) = written.items()
    if kind == "tuple":
        return tuple(decoded(one) for one in value)
    return _VALUES[kind](_text(value))


_VALUES: dict[str, Callable[[str], Any]] = {
    "float": float,
    "dtype": DTYPES.__getitem__,
    "device": device,
    "layout": LAYOUTS.__getitem__,
    "memory_format": MEMORY_FORMATS.__getitem__,
}


def _described(written: Sequence[Any]) -> Described:
    name, sizes, strides = written
    if len(sizes) != len(strides):
        raise ValueError("sizes and strides that are not as many")
    return DTYPES[name], tuple(map(_natural, sizes)), tuple(map(_natural, strides))


def _natural(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise ValueError("a number out of range")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


# What steps call.


def _operator(name: str) -> Callable[..., Any]:
    """The operator, which is made when it is first called."""
    found: list[Callable[..., Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not found:
            found.append(registry.operator(name))
        return found[0](*args, **kwargs)

    return call


def _python_function(name: str) -> Callable[..., Any]:
    from aten.graph.operators import PYTHON_FUNCTIONS

    return PYTHON_FUNCTIONS[name]


def _direct(name: str) -> Callable[..., Any]:
    if name not in _made:
        kind, _, form = name.partition(":")
        _made[name] = _DIRECT[kind](form)
    return _made[name]


def _listed(name: str) -> Callable[..., Any]:
    return lambda *items: list(items)


def _checked_index(_: str) -> Callable[..., Any]:
    from aten.backends.cpu.kernels.indexing.checking import checked

    return _or_operator(checked, "fused::checked_index")


def _convolution(_: str) -> Callable[..., Any]:
    from aten.backends.cpu.kernels.windows.convolution_calls import convolved

    return _or_operator(convolved, "fused::convolution_epilogue")


def _max_pool(_: str) -> Callable[..., Any]:
    """The largest elements of windows of planes, row-major and without their places."""
    from aten.backends.cpu.kernels.windows.pooling import max_pool, regular_windows

    def call(planes: Tensor, windows: Sequence[Sequence[int]]) -> Tensor:
        sizes = [*planes.shape[: -len(windows)], *(one[-1] for one in windows)]
        if any(one[0] != size for one, size in zip(windows, planes.shape[2:], strict=True)):
            raise RuntimeError("max_pool: the windows are for planes of other sizes")
        strides = [1]
        for size in sizes[:0:-1]:
            strides.append(strides[-1] * size)
        made = empty_strided(sizes, strides[::-1], planes.dtype, _CPU)
        steps = [one[4] for one in windows]
        max_pool(planes, made, None, [regular_windows(*one) for one in windows], steps)
        return made

    return call


def _product(form: str) -> Callable[..., Any]:
    """A product of matrices: `mm`, `addmm`, `bmm`, …"""
    from aten.backends.cpu.kernels.matrix.products import ProductKernel, multiplied

    # The kernel asks it for its name alone; the registry has another one.
    entry = registry.Entry("kernel", "functional")
    kernel = ProductKernel(OpOverload("frozen", form, "", "", entry), form, True)
    otherwise = _operator(f"aten::{form}")

    def call(*args: Any) -> Any:
        made = multiplied(kernel, *args)
        return otherwise(*args) if made is None else made

    return call


def _strips_product(_: str) -> Callable[..., Any]:
    from aten.backends.cpu.kernels.matrix.strips import multiplied

    return _or_operator(multiplied, "fused::strips_product")


def _expanded_convolution(_: str) -> Callable[..., Any]:
    from aten.backends.cpu.kernels.windows.expanding import convolved

    return _or_operator(convolved, "fused::expanded_convolution")


def _inverted_residual(_: str) -> Callable[..., Any]:
    from aten.backends.cpu.kernels.windows.expanding import projected

    return _or_operator(projected, "fused::inverted_residual")


def _strips_convolution(_: str) -> Callable[..., Any]:
    from aten.backends.cpu.kernels.windows.strip_convolutions import convolved

    return _or_operator(convolved, "fused::strips_convolution")


def _or_operator(kernel: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The kernel of an operator; the operator itself for what is no ordinary call."""
    otherwise = _operator(name)

    def call(*args: Any) -> Any:
        made = kernel(*args)
        return otherwise(*args) if made is None else made

    return call


def _window(_: str) -> Callable[..., Any]:
    """The memory of a tensor with other sizes and strides, so many elements on."""

    def call(source: Tensor, was: list[Any], now: list[Any], offset: int) -> Tensor:
        if [list(source.shape), list(source.stride())] != was:
            raise RuntimeError("a view of something else than what the program was compiled for")
        begin = (source.storage_offset() + offset) * source.itemsize
        sizes, strides = now
        return tensor_from_buffer(source.untyped_storage(), source.dtype, sizes, strides, begin)

    return call


# Those that there are: they are the same for all programs.
_made: dict[str, Callable[..., Any]] = {}
_DIRECT = {
    "checked_index": _checked_index,
    "convolution": _convolution,
    "expanded_convolution": _expanded_convolution,
    "inverted_residual": _inverted_residual,
    "max_pool": _max_pool,
    "product": _product,
    "strips_convolution": _strips_convolution,
    "strips_product": _strips_product,
    "window": _window,
}
_FUNCTIONS = {
    "operator": _operator,
    "python": _python_function,
    "direct": _direct,
    "list": _listed,
}
