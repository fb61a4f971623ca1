"""Calls of the Core ATen overloads that torch takes: what `tools/core_aten.py` compares.

An overload's calls are those that torch itself makes of it while samples of its operator database
run, forwards and backwards; the samples themselves where they fit its schema; and, for what no
sample reaches, the makers at the end.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

FACTS = Path(__file__).parents[1] / "data" / "core_aten.json"
SAMPLES = 24  # of an entry
# Entries that call overloads of which the facts name none.
_ENTRIES = {
    "_adaptive_avg_pool2d_backward": ("nn.functional.adaptive_avg_pool2d",),
    "_cdist_forward": ("cdist",),
    "_fft_c2r": ("fft.irfft", "fft.hfft"),
    "_fft_r2c": ("fft.rfft", "fft.rfft2"),
    "_native_batch_norm_legit_no_training": ("_native_batch_norm_legit",),
    "_pdist_forward": ("nn.functional.pdist",),
    "_to_copy": ("to", "float", "long"),
    "avg_pool2d_backward": ("nn.functional.avg_pool2d",),
    "col2im": ("nn.functional.fold",),
    "convolution": (
        *("nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv3d"),
        "nn.functional.conv_transpose2d",
    ),
    "convolution_backward": ("nn.functional.conv2d", "nn.functional.conv_transpose2d"),
    "embedding_dense_backward": ("nn.functional.embedding",),
    "index.Tensor": ("__getitem__",),
    "max_pool2d_with_indices": ("nn.functional.max_pool2d",),
    "max_pool3d_with_indices": ("nn.functional.max_pool3d",),
    "native_group_norm_backward": ("nn.functional.group_norm",),
    "native_layer_norm_backward": ("nn.functional.layer_norm",),
    "reflection_pad1d": ("nn.functional.pad.reflect",),
    "reflection_pad2d": ("nn.functional.pad.reflect",),
    "reflection_pad3d": ("nn.functional.pad.reflect",),
    "replication_pad2d": ("nn.functional.pad.replicate",),
    "replication_pad3d": ("nn.functional.pad.replicate",),
}


class Call(NamedTuple):
    """Arguments of an overload."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Overload(NamedTuple):
    """One of the 193, and the entries of the database that go through it."""

    name: str
    entries: tuple[str, ...]

    def of_torch(self) -> Any:
        base, _, overload = self.name.partition(".")
        return getattr(getattr(torch.ops.aten, base), overload or "default")


def overloads() -> list[Overload]:
    found = []
    for fact in json.loads(FACTS.read_text()):
        name = fact["schema"].partition("(")[0].removeprefix("aten::")
        entries = (one.replace(":", ".") for one in fact["op_db_entries"])
        found.append(Overload(name, (*entries, *_ENTRIES.get(name, ()))))
    return found


@functools.cache
def _entries() -> dict[str, Any]:
    named = {}
    for entry in op_db:
        variant = entry.variant_test_name
        named[f"{entry.name}.{variant}" if variant else entry.name] = entry
    return named


def calls(overload: Overload, dtype: Any, limit: int = 8) -> list[Call]:
    """Up to `limit` calls that torch takes, unlike each other; none where it knows no such dtype.

    `dtype` is in each of them: an operand's, or what is asked for.
    """
    found: dict[str, Call] = {}
    # Each source may fill half of what is left, so that the sources after it are heard.
    for source in (_recorded, _direct, _made):
        room = len(found) + max((limit - len(found) + 1) // 2, 1)
        if source is _made and found:
            break
        for call in source(overload, dtype):
            if len(found) >= room:
                break
            if _has(call, dtype) and _described(call) not in found and is_taken(overload, call):
                found[_described(call)] = call
    return list(found.values())


def _has(call: Call, dtype: Any) -> bool:
    tensors = list(tensors_in(call))
    if any(one.layout is not torch.strided for one in tensors):
        return False
    return (
        not tensors or dtype in call.kwargs.values() or any(one.dtype is dtype for one in tensors)
    )


def is_taken(overload: Overload, call: Call) -> bool:
    try:
        torch.manual_seed(0)
        overload.of_torch()(*cloned(call.args), **cloned(call.kwargs))
    except Exception:
        return False
    return True


def _described(call: Call) -> str:
    def told(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return (str(value.dtype), tuple(value.shape), value.stride())
        if isinstance(value, (list, tuple)):
            return [told(one) for one in value]
        return repr(value)

    return repr([told(call.args), sorted((name, told(one)) for name, one in call.kwargs.items())])


def cloned(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone() if value.layout is torch.strided else value
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(cloned(one) for one in value)
    if isinstance(value, dict):
        return {name: cloned(one) for name, one in value.items()}
    return value


def tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def _samples(overload: Overload, dtype: Any, gradient: bool = False) -> Iterator[tuple[Any, Any]]:
    for name in overload.entries:
        entry = _entries().get(name)
        if entry is None or dtype not in entry.supported_dtypes("cpu"):
            continue
        drawn = entry.sample_inputs("cpu", dtype, requires_grad=gradient)
        for sample in itertools.islice(drawn, SAMPLES):
            yield entry, sample


class _Recorder(TorchDispatchMode):
    """Keeps the calls of one overload."""

    def __init__(self, wanted: Any) -> None:
        super().__init__()
        self._wanted = wanted
        self.calls: list[Call] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        if function is self._wanted:
            self.calls.append(Call(cloned(args), cloned(kwargs or {})))
        return function(*args, **(kwargs or {}))


def _recorded(overload: Overload, dtype: Any) -> Iterator[Call]:
    backward = "backward" in overload.name
    if backward and not (dtype.is_floating_point or dtype.is_complex):
        return
    for entry, sample in _samples(overload, dtype, backward):
        recorder = _Recorder(overload.of_torch())
        with contextlib.suppress(Exception), warnings.catch_warnings(), recorder:
            warnings.simplefilter("ignore")
            made = entry.op(sample.input, *sample.args, **sample.kwargs)
            if backward:
                first = next(one for one in tensors_in(made) if one.requires_grad)
                first.backward(torch.ones_like(first))
        for call in recorder.calls:
            yield Call(*_detached(call))


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return (
            tuple(map(_detached, value)) if isinstance(value, tuple) else [*map(_detached, value)]
        )
    if isinstance(value, dict):
        return {name: _detached(one) for name, one in value.items()}
    return value


def _direct(overload: Overload, dtype: Any) -> Iterator[Call]:
    """Samples, and the same with an element where the schema asks for a number, not a tensor."""
    schema = overload.of_torch()._schema.arguments
    for _, sample in _samples(overload, dtype):
        given = (sample.input, *sample.args)
        pairs = list(zip(schema, given, strict=False))
        fitting = tuple(itertools.starmap(_fitting, pairs))
        if all(itertools.starmap(_fits, zip(schema, fitting, strict=False))):
            yield Call((*fitting, *given[len(pairs) :]), sample.kwargs)


def _fitting(argument: Any, value: Any) -> Any:
    is_number = isinstance(argument.real_type, torch.NumberType)
    if is_number and isinstance(value, torch.Tensor) and value.numel():
        return value.flatten()[0].item()
    return value


def _fits(argument: Any, value: Any) -> bool:
    """torch takes a tensor of one element for a whole number, and a tensor for a list of them."""
    text = str(argument.type)
    return not isinstance(value, torch.Tensor) or ("Tensor" in text and "List" not in text)


def _made(overload: Overload, dtype: Any) -> Iterator[Call]:
    maker = _MAKERS.get(overload.name)
    if maker is None:
        return

    def tensor(*shape: int) -> Any:
        made = torch.testing.make_tensor(shape, dtype=dtype, device="cpu", low=0, high=9)
        return made if dtype is not torch.bool else made.bool()

    for args, kwargs in maker(tensor, dtype):
        yield Call(tuple(args), kwargs)


def _floating(dtype: Any) -> Any:
    return dtype if dtype.is_floating_point else torch.float32


Maker = Callable[[Any, Any], list[tuple[list[Any], dict[str, Any]]]]
_MAKERS: dict[str, Maker] = {
    "_local_scalar_dense": lambda t, dtype: [([t(1)], {}), ([t()], {})],
    "_embedding_bag": lambda t, dtype: [
        ([t(6, 3), torch.tensor([1, 4, 0, 5]), torch.tensor([0, 2]), False, mode], {})
        for mode in (0, 1, 2)
    ],
    "_native_batch_norm_legit_no_training": lambda t, dtype: [
        ([t(2, 3, 4), t(3), t(3), t(3), t(3), 0.1, 1e-5], {}),
        ([t(4, 3), None, None, t(3), t(3), 0.1, 1e-5], {}),
    ],
    "atan2.out": lambda t, dtype: [
        ([t(2, 3), t(3)], {"out": torch.empty(2, 3, dtype=_floating(dtype))}),
        ([t(3), t(3)], {"out": torch.empty(0, dtype=torch.float64)}),
    ],
    "col2im": lambda t, dtype: [
        ([t(2, 8, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]], {}),
        ([t(8, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]], {}),
    ],
    "alias": lambda t, dtype: [([t(2, 3)], {}), ([t(4, 3).T], {})],
    "copy": lambda t, dtype: [([t(2, 3), t(3)], {}), ([t(3, 2).T, t(2, 3).float()], {})],
    "embedding_dense_backward": lambda t, dtype: [
        ([t(4, 3), torch.tensor([0, 2, 2, 1]), 5, -1, False], {}),
        ([t(2, 2, 3), torch.tensor([[0, 2], [2, 1]]), 4, 2, True], {}),
    ],
    "native_dropout": lambda t, dtype: [([t(5, 7), 0.5, True], {}), ([t(5), 0.25, False], {})],
    "rand": lambda t, dtype: [([[3, 5]], {"dtype": dtype})],
    "randn": lambda t, dtype: [([[3, 5]], {"dtype": dtype}), ([[17]], {"dtype": dtype})],
    "randperm": lambda t, dtype: [([9], {"dtype": dtype})],
    "sym_is_contiguous": lambda t, dtype: [([t(2, 3)], {}), ([t(2, 3).T], {})],
    "sym_numel": lambda t, dtype: [([t(2, 3)], {})],
    "sym_size.int": lambda t, dtype: [([t(2, 3), 1], {}), ([t(2, 3), -2], {})],
    "sym_storage_offset": lambda t, dtype: [([t(2, 3)[1]], {})],
    "sym_stride.int": lambda t, dtype: [([t(2, 3), 0], {}), ([t(2, 3).T, -1], {})],
    "reflection_pad3d": lambda t, dtype: [([t(2, 3, 4, 5), [1, 2, 0, 1, 1, 0]], {})],
    "replication_pad3d": lambda t, dtype: [([t(2, 3, 4, 5), [1, 2, 0, 1, 1, 0]], {})],
    "upsample_bilinear2d.vec": lambda t, dtype: [
        ([t(1, 2, 3, 4), [5, 6], False, None], {}),
        ([t(1, 2, 3, 4), None, True, [2.0, 1.5]], {}),
    ],
    "upsample_nearest2d.vec": lambda t, dtype: [
        ([t(1, 2, 3, 4), [5, 6], None], {}),
        ([t(1, 2, 3, 4), None, [2.0, 1.5]], {}),
    ],
}
