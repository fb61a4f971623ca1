"""What a function calls for arguments like these, as a functional graph; and when that holds again.

The function runs once on tensors without data. What it does with data (`item`, `if`) is refused
there, so that nothing of a program depends on the values it was captured with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from types import MappingProxyType
from typing import Any

from aten._core.autograd.operators import below_recording
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.memory.storage import Storage
from aten._core.tensor.making import is_fake
from aten._core.tensor.tensor import Tensor
from aten.compiler import UnsupportedCaptureError
from aten.transforms.fake_tensors import FakeTensorMode
from aten.transforms.functionalization import Functionalize, called_under
from aten.transforms.recording import Recording, record
from aten.transforms.symbols.numbers import SymInt
from aten.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


class _Capturing(FakeTensorMode):
    """Writes to what has data, a module's buffers, are recorded and not carried out."""

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name == "copy_" and not is_fake(args[0]) and not args[0].is_meta:
            return args[0]
        return super().call(op, args, kwargs)


class _Functionalizing(Functionalize):
    """Notes whose elements the host reads."""

    def __init__(self, read: list[Storage]) -> None:
        super().__init__()
        self._read = read

    def settle(self, storage: Storage) -> None:
        self._read.append(storage)
        super().settle(storage)


def captured(
    function: Callable[..., Any],
    leaves: list[Any],
    structure: TreeSpec,
    constants: Sequence[Tensor] = (),
    symbols: Mapping[int, Sequence[SymInt | None]] = MappingProxyType({}),
    read: list[Storage] | None = None,
) -> Recording:
    """The function on these arguments, as a graph over those of them that are tensors.

    `constants` are tensors that the function is known to read besides: what it uses of them is
    theirs whatever is done to them later. `symbols` are, for tensors by their place among those of
    the arguments, sizes that are symbols. The storages whose elements Python code reads are added
    to `read`.

    The function runs in the thread's gradient mode, and nothing is recorded for gradients.

    Raises DataDependentOutputException or DynamicOutputShapeException where what it does depends on
    data, UnsupportedCaptureError where it does more than compute, and whatever the function raises.
    """
    mode = _Capturing()
    # What came in, and how it is put together: the function may change its arguments' containers.
    is_as_given = True
    places = [place for place, one in enumerate(leaves) if isinstance(one, Tensor)]
    fakes = [
        mode.from_tensor(leaves[place], symbols.get(number, ()))
        for number, place in enumerate(places)
    ]

    def over_tensors(*tensors: Tensor) -> Any:
        nonlocal is_as_given
        given = list(leaves)
        for place, one in zip(places, tensors, strict=True):
            given[place] = one
        args, kwargs = tree_unflatten(given, structure)
        results = function(*args, **kwargs)
        found, structure_then = tree_flatten((args, kwargs))
        is_as_given = structure_then == structure and all(map(is_, found, given))
        return results

    def functional(*tensors: Tensor) -> Any:
        functionalizing = _Functionalizing(read if read is not None else [])
        return called_under(functionalizing, over_tensors, tensors, {})

    def recorded() -> Recording:
        with mode:
            return record(functional, *fakes, constants=constants)

    looks = [_look(one) for one in fakes]
    recording: Recording = below_recording(recorded)
    for place, (one, before) in enumerate(zip(fakes, looks, strict=True)):
        if _look(one) != before:
            raise UnsupportedCaptureError(
                f"it changes sizes, memory, gradients or attributes of argument {place}"
            )
    if not is_as_given:
        raise UnsupportedCaptureError("it changes a list or dict among its arguments")
    if any(is_fake(one) for one in recording.constants):
        raise UnsupportedCaptureError("it keeps tensors of one call for another")
    return recording


def _look(tensor: Tensor) -> tuple[Any, ...]:
    """What a fake tensor is that its caller would see."""
    return (
        [_known(one) for one in tensor.shape],
        [_known(one) for one in tensor.stride()],
        _known(tensor.storage_offset()),
        tensor.dtype,
        tensor.requires_grad,
        id(tensor.untyped_storage()),
        id(tensor.grad),
        {name: id(one) for name, one in vars(tensor).items()},
    )


def _known(size: Any) -> Any:
    """A size to compare, whatever came to be known of its symbols meanwhile."""
    return size.hint if isinstance(size, SymInt) else size
