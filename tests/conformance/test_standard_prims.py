"""torch's primitives are all there, and give what torch's give."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import aten
from aten import registry

SCHEMAS = [
    one["schema"]
    for one in json.loads((Path(__file__).parents[1] / "data" / "prims.json").read_text())
]
# They order effects of programs that are compiled; nothing is computed.
TOKENS = {"_make_token", "_sink_tokens"}
ALL = {text.partition("(")[0].partition("::")[2] for text in SCHEMAS} - TOKENS
# torch has no kernel of it outside of its compiler.
NAMES = sorted(ALL - {"xor_sum"})
ROWS = [[0.5, -2.0, 3.0], [1.5, 0.25, -0.75]]
OPTIONS = {"dtype": "float32", "device": "cpu", "requires_grad": False}
SPECIAL: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "as_strided": ([ROWS, [2, 2], [1, 2], 1], {}),
    "as_strided_scatter": ([ROWS, [[9.0, 8.0]], [1, 2], [3, 1], 1], {}),
    "broadcast_in_dim": ([[1.0, 2.0], [3, 2], [1]], {}),
    "cat": ([[ROWS, ROWS], 1], {}),
    "collapse": ([ROWS, 0, 1], {}),
    "collapse_view": ([ROWS, 0, 1], {}),
    "convert_element_type": ([ROWS, "int32"], {}),
    "copy_strided": ([ROWS, [1, 2]], {}),
    "copy_to": ([ROWS, ROWS[::-1]], {}),
    "device_put": ([ROWS, "cpu"], {}),
    "empty": ([[2, 3]], OPTIONS),
    "empty_permuted": ([[2, 3], [1, 0]], OPTIONS),
    "empty_strided": ([[2, 3], [1, 2]], OPTIONS),
    "fill": ([ROWS, 7.0], {}),
    "full": ([[2], 7.0], OPTIONS),
    "full_like": ([ROWS, 7.0], OPTIONS),
    "iota": ([4], {"start": 1, "step": 3, **OPTIONS, "dtype": "int64"}),
    "item": ([[2.5]], {}),
    "maximum_value": (["int16"], {}),
    "minimum_value": (["int16"], {}),
    "normal": ([[2, 3]], {"mean": 1.0, "std": 2.0, **OPTIONS}),
    "reshape": ([ROWS, [3, 2]], {}),
    "resize": ([ROWS, [3]], {}),
    "rev": ([ROWS, [1]], {}),
    "scalar_tensor": ([2.5], {"dtype": "float32", "device": "cpu"}),
    "split_dim": ([[1.0, 2.0, 3.0, 4.0], 0, 2], {}),
    "squeeze": ([[ROWS], [0]], {}),
    "transpose": ([ROWS, [1, 0]], {}),
    "uniform": (
        [[2, 3]],
        {"low": 1.0, "high": 2.0, "dtype": "float32", "device": "cpu", "stride": [3, 1]},
    ),
    "var": ([ROWS, [1]], {"correction": 1}),
    "view_of_dtype": ([ROWS, "int32"], {}),
    "where": ([[[True, False, True]] * 2, ROWS, ROWS[::-1]], {}),
    "fft_c2c": ([ROWS], {"dim": [1], "forward": True}),
    "fft_r2c": ([ROWS], {"dim": [1], "onesided": True}),
    "fft_c2r": ([ROWS], {"dim": [1], "last_dim_size": 4}),
    "svd": ([ROWS], {"full_matrices": False}),
}
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "gcd", "shift_left"}
INTEGERS |= {"shift_right_arithmetic"}
POSITIVE = {"igamma", "igammac", "zeta", "lgamma", "digamma", "log", "log2", "log10", "log1p"}
POSITIVE |= {"sqrt", "rsqrt", "acosh", "pow"}
FOLDS = {"amax", "amin", "sum", "prod"}
COMPLEX = {"fft_c2c", "fft_c2r", "conj", "conj_physical", "imag", "real"}
UNINITIALIZED = {"empty", "empty_permuted", "empty_strided"}


@pytest.mark.parametrize("name", NAMES)
def test_it_gives_what_torchs_gives(name: str) -> None:
    arguments, keywords = SPECIAL.get(name, (None, {}))
    if arguments is None:
        arguments = _plain(name)
    theirs = getattr(torch.ops.prims, name).default
    torch.manual_seed(0)
    aten.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of typed storages
        expected = theirs(*_listed(torch, name, arguments), **_of(torch, name, keywords))
    operator = getattr(aten.ops.prims, name)
    given = operator(*_listed(aten, name, arguments), **_of(aten, name, keywords))
    _compare(name, given, expected)


def test_folds_by_exclusive_or() -> None:
    assert aten.ops.prims.xor_sum(aten.tensor([[1, 2], [3, 7]]), [1]).tolist() == [3, 4]


def _plain(name: str) -> list[Any]:
    operands = [
        one
        for one in registry.operator(f"prims::{name}")._schema.arguments
        if str(one.type) == "Tensor"
    ]
    rows = [ROWS, [[2.0, 3.0, 0.5], [0.5, -1.5, 4.0]]]
    if name in POSITIVE:
        rows = [[[abs(one) + 1 for one in row] for row in table] for table in rows]
    if name in INTEGERS:
        rows = [[[int(abs(one)) for one in row] for row in table] for table in rows]
    return [*rows[: len(operands)], *([[1]] if name in FOLDS else [])]


def _listed(library: Any, name: str, arguments: list[Any]) -> list[Any]:
    if name == "cat":
        return [[library.tensor(one) for one in arguments[0]], arguments[1]]
    return [_of(library, name, one) for one in arguments]


def _of(library: Any, name: str, value: Any) -> Any:
    """Lists of lists and numbers of a floating type as tensors; names as types and devices."""
    if isinstance(value, dict):
        return {key: _of(library, name, one) for key, one in value.items()}
    if isinstance(value, str):
        return library.device("cpu") if value == "cpu" else getattr(library, value)
    if not _is_table(value):
        return value
    made = library.tensor(value)
    return made.to(library.complex64) * (1 + 2j) if name in COMPLEX else made


def _is_table(value: Any) -> bool:
    """Nested lists of numbers; flat ones only of floating-point numbers or of truth values."""
    if not isinstance(value, list) or not value:
        return False
    if isinstance(value[0], list):
        return all(_is_table(one) or _is_row(one) for one in value)
    return all(isinstance(one, (float, bool)) for one in value)


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, (int, float)) for one in value)


def _compare(name: str, given: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        for one, other in zip(given, expected, strict=True):
            _compare(name, one, other)
        return
    if not isinstance(expected, torch.Tensor):
        assert given == expected
        return
    assert given.dtype.name == str(expected.dtype).removeprefix("torch.")
    assert tuple(given.shape) == tuple(expected.shape)
    if name in UNINITIALIZED:
        assert given.stride() == expected.stride()
        return
    ours = torch.tensor(given.tolist(), dtype=expected.dtype)
    expected = expected.resolve_conj()
    if name == "svd":
        ours, expected = ours.abs(), expected.abs()
    torch.testing.assert_close(ours.reshape(expected.shape), expected, equal_nan=True)
