"""Compiled kernels that stand for functions: the same results, and no kernel passed by.

The table says by `stands_for` which operators such a kernel replaces. Every operator that has it is
called in the compiled and in the general way: values, strides, memory and errors are the same, the
general way calls no operator but those, and a compiled kernel above one of them is met.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import aten
from aten import registry
from aten._core.dispatch.dispatcher import PythonKernel
from aten._core.dispatch.stand_in import CompiledFirst, StandIn
from aten._generated.table import OPERATORS
from aten.backends import choice
from aten.conformance.calls import Chooser, ValidCalls
from aten.dispatch import DispatchKey, DispatchKeySet, trace_dispatch

CALLS = 40
NAMES = sorted(
    name
    for name, row in OPERATORS.items()
    if "stands_for" in row[5] and choice.is_made_for(registry.operator(name))
)
ENTRIES = [
    [name for name in NAMES if OPERATORS[name][3] == base]
    for base in sorted({OPERATORS[name][3] for name in NAMES})
]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def matrix(*sizes: int, element: Any = aten.float32) -> Any:
    return aten.rand(*(sizes or (3, 4))).to(element)


PLACES = (0, 2)
# Where drawn calls seldom are ordinary ones, or not all of them.
SAMPLES: dict[str, tuple[Callable[[], tuple[Any, ...]], ...]] = {
    "_fft_c2r": (
        lambda: (matrix(element=aten.complex64), (0, 1), 1, 6),
        lambda: (matrix(element=aten.complex128).T, (1, 0), 2, 5),
    ),
    "_pad_circular": (
        lambda: (matrix(2, 96, 96), (1, 1, 2, 0)),
        lambda: (matrix(3, 4, 5).transpose(0, 1), (1, 3)),
    ),
    "arange": (lambda: (0,), lambda: (3.5,)),
    "atleast_2d": (lambda: (matrix(1)[0],), lambda: (matrix(4),), lambda: (matrix(),)),
    "atleast_3d": (lambda: (matrix(1)[0],), lambda: (matrix(4),), lambda: (matrix(),)),
    "constant_pad_nd": (
        lambda: (matrix(), (1, 1)),
        lambda: (matrix(), (1, -1, 2, 2), 2.0),
        lambda: (matrix(1, 2, 3, 4), (1, 1)),
        lambda: (matrix(element=aten.int64), (1, 1)),
        lambda: (matrix().T, (0, 0, 1, 0)),
    ),
    "fft_fft2": (
        lambda: (matrix(element=aten.complex64),),
        lambda: (matrix(2, 3, 4, element=aten.complex128), None, (0, 2), "ortho"),
        lambda: (matrix(),),
    ),
    "flatten.using_ints": (lambda: (matrix(),), lambda: (matrix(2, 3, 4), 1, 1)),
    "index.Tensor": (
        lambda: (matrix(), [aten.tensor(PLACES)]),
        lambda: (matrix(4), [aten.tensor(PLACES, dtype=aten.int32)]),
        lambda: (matrix(2, 3, 4), [aten.tensor([[1, 0], [-1, -2]])]),
        lambda: (matrix(), [aten.tensor([7])]),
        lambda: (matrix().T, [aten.tensor(PLACES)]),
        lambda: (matrix(), [matrix() > 0.5]),
    ),
    "linear": (
        lambda: (matrix(), matrix(5, 4)),
        lambda: (matrix(), matrix(5, 4), matrix(5)),
        lambda: (matrix(2, 3, 4), matrix(5, 4)),
        lambda: (matrix(2, 3, 4), matrix(5, 4), matrix(5)),
        lambda: (matrix(2, 2, 3, 4), matrix(4, 5).T, matrix(5)),
        lambda: (matrix(4).as_strided((2, 3, 4), (0, 0, 1)), matrix(5, 4), matrix(5)),
        lambda: (matrix(3, 2, 4).transpose(0, 1), matrix(5, 4)),
    ),
    "masked_select": (lambda: (matrix(), matrix() > 0.5), lambda: (matrix(), matrix(4) > 0.5)),
    "matmul": (
        lambda: (matrix(2, 3, 4), matrix(4, 5)),
        lambda: (matrix(2, 3, 4), matrix(4)),
        lambda: (matrix(2, 3, 4), matrix(2, 4, 5)),
        lambda: (matrix(4), matrix(2, 4, 5)),
        lambda: (matrix(), matrix(2, 4, 5)),
        lambda: (matrix(2, 2, 3, 4), matrix(2, 4, 5)),
        lambda: (matrix(2, 1, 3, 4), matrix(1, 2, 4, 5)),
        lambda: (matrix(3, 2, 4).transpose(0, 1), matrix(4, 5)),
    ),
    "nonzero": (lambda: (matrix() > 0.5,), lambda: (matrix(),)),
    "numpy_T": (lambda: (matrix(),),),
    "ravel": (lambda: (matrix(),),),
}


class DeclinedError(Exception):
    pass


def decline(*_arguments: Any, **_keywords: Any) -> None:
    raise DeclinedError


def stand_in_of(op: Any) -> tuple[DispatchKey, Any]:
    return next(
        (key, kernels[-1])
        for key, kernels in op.registrations.kernels.items()
        if isinstance(kernels[-1], CompiledFirst)
    )


@contextmanager
def registered(op: Any, key: DispatchKey, kernel: Any) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handle = op.register(key, kernel)
    try:
        yield
    finally:
        handle.destroy()


def drawn(name: str) -> Iterator[Callable[[], Arguments]]:
    """Functions that give the same arguments, of tensors of their own, each time."""
    op, chooser = registry.operator(name), Chooser()

    def sample(make: Callable[[], tuple[Any, ...]]) -> Callable[[], Arguments]:
        def arguments() -> Arguments:
            aten.manual_seed(0)
            return make(), {}

        return arguments

    for make in SAMPLES.get(name, ()):
        yield sample(make)
    for number in range(CALLS):
        seed = f"{name}{number}"
        chosen = chooser.choose(op, random.Random(seed))

        def arguments(chosen: Any = chosen, seed: str = seed) -> Arguments:
            positional, keywords = ValidCalls(op, chosen, seed).arguments()
            return tuple(positional), keywords

        chooser.note(op, chosen, not isinstance(outcome(op, arguments)[0], Exception))
        yield arguments


def outcome(op: Any, arguments: Callable[[], Arguments]) -> tuple[Any, Arguments]:
    """The result, or what is raised, and the arguments as the call left them."""
    positional, keywords = arguments()
    aten.manual_seed(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return op(*positional, **keywords), (positional, keywords)
    except Exception as error:
        return error, (positional, keywords)


def is_ordinary(op: Any, arguments: Callable[[], Arguments]) -> bool:
    """Whether the compiled kernel serves the call, as long as nothing is registered."""
    key, _ = stand_in_of(op)
    kernel = choice.or_compiled(op, PythonKernel(decline))
    with registered(op, key, kernel):
        result, _ = outcome(op, arguments)
    return not isinstance(result, DeclinedError)


def tensors_of(value: Any) -> list[Any]:
    if isinstance(value, aten.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in tensors_of(one)]
    if isinstance(value, dict):
        return tensors_of(list(value.values()))
    return []


def description(result: Any, arguments: Arguments) -> Any:
    """Values as bits, sizes, strides, places in memory: all that one can see of a call."""
    given = tensors_of(arguments)
    if isinstance(result, Exception):
        return type(result), str(result), [bits(one) for one in given]
    storages = [one.untyped_storage().data_ptr() for one in given]
    made = []
    for one in tensors_of(result):
        place = one.untyped_storage().data_ptr()
        made.append(
            (
                one.dtype,
                tuple(one.shape),
                one.stride(),
                one.storage_offset(),
                one.is_conj(),
                storages.index(place) if one.numel() and place in storages else None,
                [number for number, other in enumerate(given) if other is one],
                bits(one),
            )
        )
    return type(result), made, [bits(one) for one in given]


def bits(tensor: Any) -> bytes:
    plain = tensor.resolve_conj().resolve_neg().clone(memory_format=aten.contiguous_format)
    return bytes(plain.view(-1).view(aten.uint8).tolist()) if plain.numel() else b""


def inner_operators(op: Any, arguments: Callable[[], Arguments]) -> set[str]:
    """The operators that the general way calls."""
    lines: list[str] = []
    positional, keywords = arguments()
    with trace_dispatch(lines):
        op(*positional, **keywords)
    named = {re.match(r"\s*(?:aten::)?(\S+)  ", line) for line in lines if line.startswith(" ")}
    return {found[1] for found in named if found}


@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_way_is_the_general_one(name: str) -> None:
    op = registry.operator(name)
    key, kernel = stand_in_of(op)
    ordinary = 0
    for arguments in drawn(name):
        given = description(*outcome(op, arguments))
        with registered(op, key, kernel.otherwise):
            expected = description(*outcome(op, arguments))
        assert given == expected
        ordinary += is_ordinary(op, arguments)
    assert ordinary


@pytest.mark.parametrize("names", ENTRIES, ids=lambda names: names[0])
def test_kernels_above_the_replaced_operators_are_met(names: list[str]) -> None:
    _, kernel = stand_in_of(registry.operator(names[0]))
    assert isinstance(kernel, StandIn)
    declared = set(kernel.replaced)
    tried: set[str] = set()
    for name in names:
        op = registry.operator(name)
        for arguments in drawn(name):
            if isinstance(outcome(op, arguments)[0], Exception) or not is_ordinary(op, arguments):
                continue
            inner = inner_operators(op, arguments) - {name}
            assert inner <= declared, "the table's stands_for does not name them"
            for one in sorted(inner - tried):
                tried.add(one)
                assert one in met(op, arguments, one), f"{one} was passed by"
    assert tried == declared, "the table's stands_for names more than the general way calls"


def met(op: Any, arguments: Callable[[], Arguments], inner: str) -> list[str]:
    """The calls that come by a compiled kernel registered above the operator `inner`."""
    below, calls = registry.operator(inner), []

    def passing_on(keys: DispatchKeySet, *positional: Any, **keywords: Any) -> Any:
        calls.append(inner)
        return below.redispatch(keys - DispatchKeySet(ABOVE), *positional, **keywords)

    kernel = CompiledFirst("kernel above", PythonKernel(passing_on, with_keyset=True))
    expected = description(*outcome(op, arguments))
    with registered(below, ABOVE, kernel):
        result, operands = outcome(op, arguments)
        kept = list(calls)
    assert description(result, operands) == expected
    return kept


ABOVE = DispatchKey.AutogradCPU
