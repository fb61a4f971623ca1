"""torch's operator database, spoken to aten: the same callables and samples with our objects.

Many entries are small functions around torch's own. Those are rebuilt with their globals and
closures translated, so that `torch.add` inside of them is `aten.add`.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import types
from typing import Any

import torch
import torch.masked
import torch.testing._utils
from comparison import memory_of
from torch.testing._internal import common_utils

import aten
from aten._core.tensor.making import tensor_from_buffer

# Where callables of torch are looked for, and what the place is called below `aten`.
_PLACES = (
    ("", torch),
    ("nn.functional", torch.nn.functional),
    ("linalg", torch.linalg),
    ("special", torch.special),
    ("fft", torch.fft),
    ("masked", torch.masked),
    ("signal.windows", torch.signal.windows),
    ("Tensor", torch.Tensor),
)


# Where translated tensors are, and what "cpu" as a device becomes.
DEVICE = os.environ.get("DATABASE_DEVICE", "cpu")

# Parts of torch that rebuilt functions use, and that have nothing to do with tensors.
_TOOLS = frozenset({"utils", "testing", "backends", "overrides", "jit", "cuda"})


_FREEZES = (torch.testing._utils.freeze_rng_state, common_utils.freeze_rng_state)


class MissingError(Exception):
    """aten has nothing of this name."""


class _Namespace:
    """`torch` as rebuilt functions see it: aten, and torch's own tools."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name) if name in _TOOLS else resolve(name)


@functools.cache
def _paths() -> dict[int, str]:
    """The path below torch of every callable that has one, by identity."""
    found: dict[int, str] = {}
    for place, holder in _PLACES:
        for name in sorted(dir(holder), key=lambda name: name.startswith("_")):
            with contextlib.suppress(Exception):
                value = getattr(holder, name)
                if callable(value):
                    found.setdefault(id(value), f"{place}.{name}" if place else name)
    return found


def resolve(path: str) -> Any:
    """What is at `path` below aten. Raises MissingError."""
    value: Any = aten
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise MissingError(f"aten.{path}") from None
    return value


class Translator:
    """Objects of torch to objects of aten; tensors that share memory share it afterwards."""

    def __init__(self) -> None:
        self._storages: dict[int, Any] = {}
        self._made: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        known = self._made.get(id(value))
        if known is not None:
            return known[1]
        made = self._translate(value)
        self._made[id(value)] = (value, made)
        return made

    def _translate(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, torch.dtype):
            return aten.DTYPES[str(value).removeprefix("torch.")]
        if isinstance(value, torch.device):
            return aten.device(str(value).replace("cpu", DEVICE))
        if isinstance(value, (torch.layout, torch.memory_format)):
            return resolve(str(value).removeprefix("torch."))
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self, value))
        if isinstance(value, (list, tuple)):
            return type(value)(self(one) for one in value)
        if isinstance(value, dict):
            made = {key: self(one) for key, one in value.items()}
            if made.get("device") == "cpu":
                made["device"] = DEVICE
            return made
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if isinstance(value, torch.Generator):
            return resolve("Generator")().manual_seed(value.initial_seed())
        return self.function(value) if callable(value) else self._module(value)

    def _tensor(self, tensor: Any) -> Any:
        if tensor.layout is not torch.strided:
            raise MissingError(f"tensors of layout {tensor.layout}")
        if tensor.is_meta:
            element = aten.DTYPES[str(tensor.dtype).removeprefix("torch.")]
            return aten.empty_strided(
                tuple(tensor.shape), tensor.stride(), dtype=element, device="meta"
            )
        conjugated, negated = tensor.is_conj(), tensor.is_neg()
        if conjugated:
            tensor = torch._neg_view(tensor.conj()) if negated else tensor.conj()
        elif negated:
            tensor = torch._neg_view(tensor)
        storage = tensor.untyped_storage()
        memory = self._storages.get(storage.data_ptr())
        if memory is None or not storage.data_ptr():
            memory = aten.empty((storage.nbytes(),), dtype=aten.uint8)
            if storage.nbytes():
                memory.copy_(
                    tensor_from_buffer(memory_of(storage), aten.uint8, tuple(memory.shape))
                )
            memory = self._storages[storage.data_ptr()] = memory.to(DEVICE)
        element = aten.DTYPES[str(tensor.dtype).removeprefix("torch.")]
        whole = memory[: storage.nbytes() // tensor.itemsize * tensor.itemsize].view(element)
        made = whole.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
        if conjugated:
            made = made.conj()
        return aten.ops.aten._neg_view(made) if negated else made

    def _module(self, value: Any) -> Any:
        if not isinstance(value, types.ModuleType) or not value.__name__.startswith("torch"):
            return value
        path = value.__name__.partition(".")[2]
        if path.partition(".")[0] in _TOOLS:
            return value
        return resolve(path) if path else _Namespace()

    def function(self, function: Any) -> Any:
        """The function of aten that stands for one of torch, or of its test suite."""
        if function in _FREEZES:
            return resolve("random.fork_rng")
        if isinstance(function, functools.partial):
            return functools.partial(
                self(function.func), *self(function.args), **self(function.keywords)
            )
        if isinstance(function, torch.nn.PairwiseDistance):
            distance = resolve("nn.functional.pairwise_distance")
            return functools.partial(
                distance, p=function.norm, eps=function.eps, keepdim=function.keepdim
            )
        if isinstance(function, torch._ops.OpOverloadPacket | torch._ops.OpOverload):
            return resolve("ops." + str(function).replace("::", "."))
        path = _paths().get(id(function))
        if path is not None:
            return resolve(path)
        module = getattr(function, "__module__", None) or ""
        if isinstance(function, types.FunctionType) and module.startswith("torch.testing"):
            return self._rebuilt(function)
        owner = getattr(function, "__objclass__", None)
        if owner is not None and issubclass(torch.Tensor, owner) and owner is not object:
            return resolve(f"Tensor.{function.__name__}")
        if module.startswith("torch"):
            raise MissingError(f"{module}.{getattr(function, '__qualname__', function)}")
        return function

    def _rebuilt(self, function: types.FunctionType) -> types.FunctionType:
        used = {
            name: function.__globals__[name]
            for name in _names(function.__code__)
            if name in function.__globals__
        }
        space: dict[str, Any] = {"__builtins__": __builtins__}
        closure = tuple(
            types.CellType(self(cell.cell_contents)) for cell in function.__closure__ or ()
        )
        made = types.FunctionType(
            function.__code__, space, function.__name__, self(function.__defaults__), closure
        )
        made.__kwdefaults__ = self(function.__kwdefaults__) if function.__kwdefaults__ else None
        self._made[id(function)] = (function, made)
        space.update({name: self(value) for name, value in used.items()})
        return made


def _names(code: types.CodeType) -> set[str]:
    """Global names that a function, or one inside of it, looks up."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found
