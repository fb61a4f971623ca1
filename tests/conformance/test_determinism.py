"""The same bits for any number of threads, and for a row whatever rows are beside it.

Every reduction and scan of the table is asked, and every product of matrices. Nothing here needs
torch: what is compared are results of aten with each other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import aten
from aten import registry
from aten._generated.table import OPERATORS

ROWS = 37
CHOSEN = 21
# Short, longer than a vector, than a chunk of lanes, and long enough to be cut for the threads.
LENGTHS = (3, 100, 5003, 270_001)
VALUES = {
    "compute_mode": None,
    "dtype": aten.float32,
    "eps": 1e-5,
    "beta": 1.0,
    "delta": 1.0,
    "full": False,
    "half_to_float": False,
    "input_dtype": aten.float32,
    "keepdim": False,
    "log_input": True,
    "p": 2.0,
    "reduction": 1,
}
_ALONG = ("dim", "normalized_shape")


def structured(*, along: bool = False) -> list[str]:
    """Functional reductions and scans; those that are told a dimension, if `along`."""
    return sorted(
        name
        for name, (schema, kind, variant, _, function, _) in OPERATORS.items()
        if kind in ("reduction", "scan") and variant == "functional" and function
        if not along or any(f" {one}" in schema for one in _ALONG)
    )


def matrix(rows: int, length: int, seed: int, *, stepped: bool = False) -> aten.Tensor:
    """Normal numbers; where `stepped`, the elements of a row are not neighbours."""
    generator = numpy.random.default_rng(seed)
    if stepped:
        return aten.from_numpy(generator.standard_normal((length, rows), numpy.float32)).t()
    return aten.from_numpy(generator.standard_normal((rows, length), numpy.float32))


def run(name: str, tensors: Iterator[aten.Tensor], length: int) -> tuple[aten.Tensor, ...]:
    """The operator on the matrices that `tensors` gives, along their last dimension."""
    op = registry.operator(f"aten::{name}")
    positional, named = [], {}
    for parameter in op._schema.arguments:
        kind = str(parameter.type)
        if kind == "Tensor":
            value: Any = next(tensors)
        elif kind == "Tensor?":
            value = matrix(1, length, 99).reshape((length,))
        elif parameter.name == "dim":
            value = (1,) if "[" in kind else 1
        elif parameter.name == "normalized_shape":
            value = (length,)
        elif parameter.has_default:
            value = parameter.default
        else:
            value = VALUES[parameter.name]
        if parameter.keyword_only:
            named[parameter.name] = value
        else:
            positional.append(value)
    result = op(*positional, **named)
    return result if isinstance(result, tuple) else (result,)


@functools.lru_cache(maxsize=2)
def operands(length: int, *, stepped: bool, rows: int = ROWS) -> tuple[aten.Tensor, ...]:
    """Matrices that many tests read and none changes."""
    return tuple(matrix(rows, length, seed, stepped=stepped) for seed in range(3))


def bits(tensor: aten.Tensor) -> bytes:
    return bytes(tensor.contiguous().reshape((-1,)).numpy().tobytes())


@pytest.fixture
def threads() -> Iterator[None]:
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


@pytest.mark.parametrize("name", structured(along=True))
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("layout", ["neighbours", "stepped"])
def test_a_row_does_not_depend_on_the_others(name: str, length: int, layout: str) -> None:
    tensors = operands(length, stepped=layout == "stepped")
    together = run(name, iter(tensors), length)
    alone = run(name, (one.narrow(0, CHOSEN, 1) for one in tensors), length)
    few = run(name, (one.narrow(0, CHOSEN - 1, 3) for one in tensors), length)
    for whole, one, three in zip(together, alone, few, strict=True):
        assert bits(one) == bits(whole.narrow(0, CHOSEN, 1))
        assert bits(three) == bits(whole.narrow(0, CHOSEN - 1, 3))


@pytest.mark.parametrize("name", ["sum.dim_IntList", "_softmax", "var.correction", "cumsum"])
def test_a_copied_row_gives_the_same(name: str) -> None:
    for length in LENGTHS:
        tensors = operands(length, stepped=False)
        together = run(name, iter(tensors), length)
        alone = run(name, (one.narrow(0, CHOSEN, 1).clone() for one in tensors), length)
        assert bits(alone[0]) == bits(together[0].narrow(0, CHOSEN, 1))


@pytest.mark.parametrize("name", structured())
@pytest.mark.parametrize("shape", [(3, 300_001), (7000, 67)], ids=str)
@pytest.mark.parametrize("layout", ["neighbours", "stepped"])
def test_threads_do_not_change_a_fold(
    name: str, shape: tuple[int, int], layout: str, threads: None
) -> None:
    if name == "_cdist_forward":
        shape = (300, 67)
    rows, length = shape
    tensors = operands(length, stepped=layout == "stepped", rows=rows)
    found = []
    for count in (1, 2, 3):
        aten.set_num_threads(count)
        found.append([bits(one) for one in run(name, iter(tensors), length)])
    assert found[0] == found[1] == found[2]


PRODUCTS = {
    "mm": ((301, 517), (517, 403)),
    "bmm": ((5, 67, 129), (5, 129, 71)),
    "mv": ((1001, 2003), (2003,)),
    "dot": ((1_000_003,), (1_000_003,)),
    "matmul": ((7, 65, 129), (129, 257)),
    "addmm": ((403,), (301, 517), (517, 403)),
    "baddbmm": ((5, 67, 71), (5, 67, 129), (5, 129, 71)),
    "linear": ((9, 100, 517), (403, 517)),
    "conv2d": ((4, 16, 40, 40), (32, 16, 3, 3)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_threads_do_not_change_a_product(name: str, threads: None) -> None:
    tensors = [
        matrix(1, math.prod(shape), seed).reshape(shape)
        for seed, shape in enumerate(PRODUCTS[name])
    ]
    found = []
    for count in (1, 2, 3):
        aten.set_num_threads(count)
        found.append(bits(getattr(registry.ops.aten, name)(*tensors)))
    assert found[0] == found[1] == found[2]
