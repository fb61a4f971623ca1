"""Runs one expression on torch and on aten, and compares what comes out."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import aten
from aten._core.tensor.making import tensor_from_buffer

torch = pytest.importorskip("torch")


# What says that a test is wrong, where both libraries raise it.
_MISTAKES = (AttributeError, ImportError, NameError)


def same(function: Callable[[Any], Any]) -> None:
    """Both libraries, given to the function, give the same, or raise the same type.

    Raises what torch does where that is a mistake of the function itself.
    """
    found = []
    for library in (torch, aten):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(function(library))
        except Exception as error:
            if library is torch and isinstance(error, _MISTAKES):
                raise
            found.append(type(error).__name__)
    assert found[1] == found[0]


def memory_of(storage: Any) -> bytearray:
    """A copy of the bytes of a storage of torch."""
    return bytearray(ctypes.string_at(storage.data_ptr(), storage.nbytes()))


def from_torch(tensor: Any) -> Any:
    """The same elements, sizes, strides and offset, in memory of our own."""
    storage = tensor.untyped_storage()
    element = aten.DTYPES[str(tensor.dtype).removeprefix("torch.")]
    if tensor.is_meta:
        return aten.empty_strided(
            tuple(tensor.shape), tensor.stride(), dtype=element, device="meta"
        )
    return tensor_from_buffer(
        memory_of(storage),
        element,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset() * tensor.itemsize,
    )


def translated(value: Any) -> Any:
    """`value` with torch's objects replaced by ours."""
    if isinstance(value, torch.Tensor):
        return from_torch(value)
    if isinstance(value, torch.dtype):
        return aten.DTYPES[str(value).removeprefix("torch.")]
    if isinstance(value, (list, tuple)):
        return type(value)(translated(one) for one in value)
    return value


def assert_same(
    ours: Any, theirs: Any, *, tolerance: float = 0.0, absolute: float = 0.0, strides: bool = True
) -> None:
    """Values, types, shapes, strides and offsets agree."""
    if isinstance(theirs, torch.Tensor):
        assert_same_metadata(ours, theirs, strides=strides)
        if not theirs.is_meta:
            assert_same_values(ours, theirs, tolerance, absolute)
    elif isinstance(theirs, (list, tuple)) and not isinstance(theirs, torch.Size):
        assert isinstance(ours, tuple) == isinstance(theirs, tuple), type(ours)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, tolerance=tolerance, absolute=absolute, strides=strides)
    elif isinstance(theirs, torch.dtype):
        assert ours.name == str(theirs).removeprefix("torch.")
    elif isinstance(theirs, float) and theirs != theirs:
        assert ours != ours
    elif isinstance(theirs, torch.Size):
        assert tuple(ours) == tuple(theirs)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs


def assert_same_metadata(ours: Any, theirs: Any, *, strides: bool = True) -> None:
    """Types, shapes, devices and, if asked for, strides and offsets of two tensors agree."""
    assert isinstance(ours, aten.Tensor), type(ours)
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    assert tuple(ours.shape) == tuple(theirs.shape)
    if strides:
        assert (tuple(ours.shape), ours.stride()) == (tuple(theirs.shape), theirs.stride())
        assert ours.storage_offset() == theirs.storage_offset()
    assert ours.device.type == theirs.device.type


def to_torch(ours: Any) -> Any:
    """The elements of one of our tensors, contiguous, as torch has them."""
    element = getattr(torch, ours.dtype.name)
    return torch.tensor(ours.tolist(), dtype=element).reshape(tuple(ours.shape))


def assert_same_values(ours: Any, theirs: Any, tolerance: float, absolute: float) -> None:
    torch.testing.assert_close(
        to_torch(ours).to(theirs.dtype),
        theirs.detach(),
        rtol=tolerance,
        atol=absolute,
        equal_nan=True,
    )


def compare(expression: Any, *operands: Any, **options: Any) -> None:
    """`expression(library, *operands)` gives the same on both, or raises the same type."""
    ours = [translated(operand) for operand in operands]
    try:
        expected = expression(torch, *operands)
    except Exception as error:
        with pytest.raises(type(error)):
            expression(aten, *ours)
        return
    assert_same(expression(aten, *ours), expected, **options)
