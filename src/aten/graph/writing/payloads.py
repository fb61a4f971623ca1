"""Weights and constants as members of an archive: the bytes that tensors show, each once."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping
from typing import Any

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.graph.errors import FormatError
from aten.graph.ir import TensorMeta
from aten.graph.writing.members import write_member
from aten.graph.writing.values import Json, written_meta


def write_tensors(
    archive: zipfile.ZipFile,
    folder: str,
    prefix: str,
    tensors: Mapping[str, Tensor],
    trained: Collection[str] = (),
) -> Json:
    """Writes a member for each storage, and returns what the configuration says of the tensors.

    Tensors that share a storage go on doing so. `trained` names parameters.
    """
    held = {name: _plain(name, tensor) for name, tensor in tensors.items()}
    places: dict[tuple[int, str], tuple[int, int, int]] = {}
    for tensor in held.values():
        key = _key(tensor)
        start, end = _extent(tensor)
        number, first, last = places.get(key, (len(places), start, end))
        places[key] = number, min(first, start), max(last, end)
    written: set[int] = set()
    config = {}
    for name, tensor in held.items():
        number, first, last = places[_key(tensor)]
        if number not in written:
            written.add(number)
            write_member(archive, f"{folder}{prefix}{number}", _bytes(tensor, first, last))
        config[name] = {
            "path_name": f"{prefix}{number}",
            "is_param": name in trained,
            "use_pickle": False,
            "tensor_meta": written_meta(_record(tensor, first, tensors[name].requires_grad)),
        }
    return {"config": config}


def _plain(name: str, tensor: Any) -> Tensor:
    """The tensor in the host's memory, as its bytes say."""
    if not isinstance(tensor, Tensor) or tensor.is_meta:
        raise FormatError(f"{name}: no data to save")
    if tensor.layout.name != "strided":
        raise FormatError(f"{name}: the layout {tensor.layout} is not supported in files")
    held = tensor.detach()
    if held.is_conj() or held.is_neg():
        held = held.resolve_conj().resolve_neg()
    return held if held.device.type == "cpu" else held.cpu()


def _key(tensor: Tensor) -> tuple[int, str]:
    # Another element type gets a member of its own: torch reads each member as one type.
    return id(tensor.untyped_storage()), tensor.dtype.name


def _extent(tensor: Tensor) -> tuple[int, int]:
    """The first element in its storage that a tensor shows, and the one after the last."""
    start = tensor.storage_offset()
    if not tensor.numel():
        return start, start
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return start, start + 1 + sum((size - 1) * stride for size, stride in steps)


def bytes_of(tensor: Tensor) -> memoryview:
    """What lies from a tensor's first element to its last one."""
    return _bytes(tensor, *_extent(tensor))


def _bytes(tensor: Tensor, first: int, last: int) -> memoryview:
    storage = tensor.untyped_storage()
    width = tensor.dtype.itemsize
    whole = tensor_from_buffer(storage, DTYPES["uint8"], [len(storage)], [1], 0)
    return memoryview(whole.untyped_storage())[first * width : last * width]


def _record(tensor: Tensor, first: int, requires_grad: bool) -> TensorMeta:
    return TensorMeta(
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset() - first,
        device("cpu"),
        tensor.layout,
        requires_grad,
    )
