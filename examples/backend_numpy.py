"""A backend in one file: a device that computes with NumPy, in memory that nobody else can address.

A handle is an object with an array of bytes inside; the rest of the package never looks into it.
Primitives have kernels made of their NumPy references; everything else is decomposed to them.

    python examples/backend_numpy.py
    aten conformance --device npu --backend examples/backend_numpy.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

import aten
from aten import backends, registry
from aten.prims import Prim, StructuralPrim

TYPES = frozenset(
    {
        *("bool", "uint8", "int8", "int16", "int32", "int64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    }
)


class Memory:
    """A handle: bytes that only this file looks at."""

    def __init__(self, nbytes: int) -> None:
        self.__bytes = numpy.zeros(nbytes, numpy.uint8)

    def window(self, tensor: aten.Tensor) -> Any:
        """The tensor as an array over these bytes."""
        if tensor.dtype.name not in TYPES:
            raise TypeError(f"npu: {tensor.dtype} is not a type of NumPy's")
        element = numpy.dtype(tensor.dtype.name)
        count = len(self.__bytes) // element.itemsize
        whole = self.__bytes[: count * element.itemsize].view(element)
        strides = [step * element.itemsize for step in tensor.stride()]
        start = whole[tensor.storage_offset() :]
        return numpy.lib.stride_tricks.as_strided(start, tuple(tensor.shape), strides)

    def take(self, source: Memory, nbytes: int) -> None:
        """The first bytes of another handle."""
        self.__bytes[:nbytes] = source.__bytes[:nbytes]


class NumPyBackend(backends.DeviceBackend):
    """Primitives on NumPy arrays."""

    name = "npu"
    opset = "prims"

    def allocate(self, nbytes: int, index: int) -> Memory:
        return Memory(nbytes)

    def copy(self, target: Memory, source: Memory, nbytes: int) -> None:
        target.take(source, nbytes)

    def copy_from_host(self, target: aten.Tensor, source: aten.Tensor) -> None:
        array_of(target)[...] = source.numpy()

    def copy_to_host(self, target: aten.Tensor, source: aten.Tensor) -> None:
        target.copy_(aten.from_numpy(numpy.array(array_of(source))))

    def copy_within(self, target: aten.Tensor, source: aten.Tensor) -> None:
        array_of(target)[...] = numpy.array(array_of(source))

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        plain = {
            prim.name: elementwise(prim) for prim in Prim.table.values() if prim.kind != "shape"
        }
        views = {"windows"}
        structural = {
            prim.name: whole(prim)
            for prim in StructuralPrim.table.values()
            # The others are made of those: random numbers are the CPU's, of the same seed.
            if prim.name not in views and prim.expansion is None
        }
        return {**plain, **structural}


def array_of(tensor: aten.Tensor) -> Any:
    """The elements of a tensor of the device, in its memory."""
    return tensor.untyped_storage().handle.window(tensor)


def tensor_of(made: Any, element: aten.dtype, device: aten.device) -> aten.Tensor:
    """A tensor of the device with the elements of an array."""
    made = numpy.asarray(made)
    tensor = aten.empty(made.shape, dtype=element, device=device)
    if made.size:
        array_of(tensor)[...] = made
    return tensor


def elementwise(prim: Prim) -> Callable[..., aten.Tensor]:
    """The kernel of a primitive of elements, or of a fold over dimensions."""
    names = [one.name for one in registry.operator(f"prims::{prim.name}")._schema.arguments]

    def kernel(*arguments: Any, **named: Any) -> aten.Tensor:
        tensors = [one for one in arguments if isinstance(one, aten.Tensor)]
        given = dict(zip(names, arguments, strict=False))
        params = {name: one for name, one in given.items() if not isinstance(one, aten.Tensor)}
        params |= named
        params.pop("output_dtype", None)
        if "dims" in params:
            every = tuple(range(tensors[0].dim()))
            params["dims"] = every if params["dims"] is None else tuple(params["dims"])
        element = prim.result_type([one.dtype for one in tensors], params)
        made = prim.reference(*map(array_of, tensors), **params)
        return tensor_of(made, element, tensors[0].device)

    return kernel


def whole(prim: StructuralPrim) -> Callable[..., Any]:
    """The kernel of a structural primitive."""

    def kernel(*arguments: Any, **named: Any) -> Any:
        place = named.get("device") or next(tensors_in(arguments)).device
        made = prim.reference(*map(arrays_in, arguments), **named)
        if prim.depends_on_values:
            return tensor_of(made, aten.int64, place)
        described = prim.result(*arguments, **named)
        if not isinstance(described, list):
            return tensor_of(made, described[0], place)
        pairs = zip(made, described, strict=True)
        return tuple(tensor_of(one, element, place) for one, (element, _) in pairs)

    return kernel


def tensors_in(values: Any) -> Any:
    for value in values:
        if isinstance(value, aten.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def arrays_in(value: Any) -> Any:
    if isinstance(value, aten.Tensor):
        return array_of(value)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], aten.Tensor):
        return [array_of(one) for one in value]
    return value


backends.register(NumPyBackend())


def main() -> None:
    x = aten.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]).to("npu")
    print(x @ x.T)
    print(aten.softmax(x, dim=-1).to("cpu"))
    print(x[:, [2, 0]].sum(0).tolist())


if __name__ == "__main__":
    main()
