"""Fast paths, each against the general way: the same results, and no kernel passed by.

Every operator whose row of the table names a `fast_path` is called in the compiled and in the
general way: values, strides, memory and errors are the same, and a compiled kernel above any
operator that the general way calls is met, whether the fast path calls it, too, or stands for it.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

import aten
from aten import registry
from aten._core.dispatch.fast_path import FastPath
from aten._core.dispatch.python_kernel import PythonKernel
from aten._generated.table import OPERATORS
from aten.backends import fast_paths
from aten.backends.cpu.kernels.matrix.small_matrices import SmallMatrixKernel
from aten.backends.cpu.kernels.matrix.small_spectra import SmallSpectrumKernel
from aten.conformance.calls import Chooser, ValidCalls
from aten.dispatch import DispatchKey, DispatchKeySet, trace_dispatch

# Calls are drawn until so many are there, and so many of them ordinary.
CALLS = 40
ORDINARY_CALLS = 12
MOST_CALLS = 2000
NAMES = sorted(
    name
    for name, row in OPERATORS.items()
    if {"fast_path", "forwards"} & row[5].keys()
    and fast_paths.has_fast_path(registry.operator(name))
)
ENTRIES = [
    [name for name in NAMES if OPERATORS[name][3] == base]
    for base in sorted({OPERATORS[name][3] for name in NAMES})
]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def matrix(*sizes: int, element: Any = aten.float32) -> Any:
    return aten.rand(*(sizes or (3, 4))).to(element)


# Shapes that drawn calls seldom have, and that ask for other operators.
SAMPLES: dict[str, tuple[Callable[[], tuple[Any, ...]], ...]] = {
    "_fft_c2r": (
        lambda: (matrix(element=aten.complex64), (0, 1), 1, 6),
        lambda: (matrix(element=aten.complex128).T, (1, 0), 2, 5),
    ),
    "_pad_circular": (
        lambda: (matrix(2, 96, 96), (1, 1, 2, 0)),
        lambda: (matrix(3, 4, 5).transpose(0, 1), (1, 3)),
    ),
    # Strides of one element that say either order.
    **{
        name: (
            lambda: (matrix(128).as_strided((2, 1, 8, 8), (64, 1, 8, 1)), 2),
            lambda: (matrix(6).as_strided((2, 3, 1, 1), (3, 1, 3, 3)), 1),
            lambda: (matrix(2, 3, 6, 6), 2),
        )
        for name in ("max_pool2d", "avg_pool2d", "_adaptive_avg_pool2d")
    },
    "col2im": (lambda: (matrix(4, 9), (2, 2), (2, 2), (1, 1), (1, 1), (1, 1)),),
    "linear": (
        lambda: (matrix(), matrix(5, 4)),
        lambda: (matrix(), matrix(5, 4), matrix(5)),
        lambda: (matrix(2, 3, 4), matrix(5, 4)),
        lambda: (matrix(2, 3, 4), matrix(5, 4), matrix(5)),
        lambda: (matrix(2, 2, 3, 4), matrix(4, 5).T, matrix(5)),
        lambda: (matrix(4).as_strided((2, 3, 4), (0, 0, 1)), matrix(5, 4), matrix(5)),
        lambda: (matrix(3, 2, 4).transpose(0, 1), matrix(5, 4)),
    ),
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
}


class DeclinedError(Exception):
    pass


def decline(*_arguments: Any, **_keywords: Any) -> None:
    raise DeclinedError


def fast_path_of(op: Any) -> tuple[DispatchKey, Any]:
    return next(
        (key, kernels[-1])
        for key, kernels in op.registrations.kernels.items()
        if isinstance(kernels[-1], FastPath)
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


def drawn(
    name: str, is_enough: Callable[[int], bool] = ORDINARY_CALLS.__le__
) -> Iterator[Callable[[], Arguments]]:
    """Functions that give the same arguments, of tensors of their own, each time.

    After the first `CALLS` only ordinary calls, until their number `is_enough`.
    """
    op, chooser = registry.operator(name), Chooser()

    def sample(make: Callable[[], tuple[Any, ...]]) -> Callable[[], Arguments]:
        def arguments() -> Arguments:
            aten.manual_seed(0)
            return make(), {}

        return arguments

    yield from map(sample, SAMPLES.get(name, ()))
    ordinary = number = 0
    while number < CALLS or (number < MOST_CALLS and not is_enough(ordinary)):
        number += 1
        seed = f"{name}{number}"
        chosen = chooser.choose(op, random.Random(seed))

        def arguments(chosen: Any = chosen, seed: str = seed) -> Arguments:
            positional, keywords = ValidCalls(op, chosen, seed).arguments()
            return tuple(positional), keywords

        chooser.note(op, chosen, not isinstance(outcome(op, arguments)[0], Exception))
        served = is_ordinary(op, arguments)
        ordinary += served
        if served or number <= CALLS:
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
    key, _ = fast_path_of(op)
    kernel = fast_paths.with_fast_path(op, PythonKernel(decline))
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


def is_other_algorithm(kernel: FastPath) -> bool:
    """Whether results differ by rounding: our factors of small matrices, LAPACK's of large ones."""
    return isinstance(kernel, (SmallMatrixKernel, SmallSpectrumKernel)) and not kernel.replaced


def worst_condition(arguments: Arguments) -> float:
    """The largest ratio of singular values among the matrices given."""
    ratios = [1.0]
    for tensor in tensors_of(arguments):
        array = tensor.numpy()
        if array.ndim >= 2 and array.size and array.dtype.char in "fdFD":
            if not numpy.isfinite(array).all():
                return math.inf
            ratios.append(float(numpy.max(numpy.linalg.cond(array))))
    return max(ratios)


def are_close(given: Any, expected: Any, condition: float) -> bool:
    """Whether numbers are within 2^6 units in the last place of the largest, times the condition
    by which errors may grow; nothing is said where that leaves no digit. Pivots are equal then."""
    epsilon = aten.finfo(expected.dtype).eps if expected.dtype.is_floating_point else 0.0
    if condition * 2**6 * aten.finfo(aten.float32).eps >= 1:
        return True
    if not epsilon:  # complex matrices are LAPACK's at any size
        return bits(given) == bits(expected)
    finite = expected[expected.isfinite()]
    largest = finite.abs().max().item() if finite.numel() else 0.0
    margin = 2**6 * epsilon * condition * largest
    return bool(aten.allclose(given, expected, rtol=0.0, atol=margin, equal_nan=True))


def determined(op: Any, results: list[Any]) -> list[Any]:
    """Results, and of eigenvectors what does not depend on their signs, nor on which vectors stand
    for eigenvalues that agree: the matrix that they give, and their products with each other."""
    if "eigh" not in op.name or len(results) != 2 or not results[1].numel():
        return results
    values, vectors = results
    return [values, vectors * values[..., None, :] @ vectors.mT, vectors.mT @ vectors]


def description(result: Any, arguments: Arguments, *, values: bool = True) -> Any:
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
                bits(one) if values else None,
            )
        )
    return type(result), made, [bits(one) for one in given]


def bits(tensor: Any) -> bytes:
    plain = tensor.resolve_conj().resolve_neg().clone(memory_format=aten.contiguous_format)
    return bytes(plain.view(-1).view(aten.uint8).tolist()) if plain.numel() else b""


def inner_operators(op: Any, arguments: Callable[[], Arguments]) -> set[str]:
    """The operators that the general way calls, but those for what it keeps from call to call."""
    lines: list[str] = []
    for _ in range(2):
        lines.clear()
        positional, keywords = arguments()
        with trace_dispatch(lines):
            op(*positional, **keywords)
    named = {re.match(r"\s*(?:aten::)?(\S+)  ", line) for line in lines if line.startswith(" ")}
    return {found[1] for found in named if found}


@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_way_is_the_general_one(name: str) -> None:
    op = registry.operator(name)
    key, kernel = fast_path_of(op)
    ordinary = 0
    for arguments in drawn(name):
        given = outcome(op, arguments)
        with registered(op, key, kernel.otherwise):
            expected = outcome(op, arguments)
        if is_other_algorithm(kernel):
            assert description(*given, values=False) == description(*expected, values=False)
            condition = worst_condition(given[1])
            found, wanted = (determined(op, tensors_of(one[0])) for one in (given, expected))
            for one, other in zip(found, wanted, strict=True):
                assert are_close(one, other, condition)
        else:
            assert description(*given) == description(*expected)
        ordinary += is_ordinary(op, arguments)
    assert ordinary


@pytest.mark.parametrize("names", ENTRIES, ids=lambda names: names[0])
def test_kernels_above_the_inner_operators_are_met(names: list[str]) -> None:
    _, kernel = fast_path_of(registry.operator(names[0]))
    replaced, tried = set(kernel.replaced), set[str]()
    for name in names:
        op = registry.operator(name)
        for arguments in drawn(name, lambda _: tried >= replaced):
            if isinstance(outcome(op, arguments)[0], Exception) or not is_ordinary(op, arguments):
                continue
            for one in sorted(inner_operators(op, arguments) - {name} - tried):
                tried.add(one)
                assert one in met(op, arguments, one), f"{one} was passed by"
    assert tried >= replaced, "stands_for names more than the general way calls"


def met(op: Any, arguments: Callable[[], Arguments], inner: str) -> list[str]:
    """The calls that come by a compiled kernel registered above the operator `inner`."""
    below, calls = registry.operator(inner), []

    def passing_on(keys: DispatchKeySet, *positional: Any, **keywords: Any) -> Any:
        calls.append(inner)
        return below.redispatch(keys - DispatchKeySet(ABOVE), *positional, **keywords)

    kernel = FastPath("kernel above", (), None, PythonKernel(passing_on, with_keyset=True))
    expected = description(*outcome(op, arguments))
    with registered(below, ABOVE, kernel):
        result, operands = outcome(op, arguments)
        kept = list(calls)
    assert description(result, operands) == expected
    return kept


ABOVE = DispatchKey.AutogradCPU
