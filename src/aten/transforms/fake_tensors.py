"""Fake tensors: sizes, strides, a dtype and a device, and no data.

A fake tensor is a window on a storage of the meta device that says it is elsewhere. Operators run
by their meta kernels, so that it costs nothing to run a program of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from aten._core.base.device import device, thread_device
from aten._core.base.errors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    NoElementsError,
)
from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.memory.storage import Storage
from aten._core.tensor import memory
from aten._core.tensor.making import fake_window, is_fake, meta_window
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES, DispatchMode, set_fake_mode
from aten.graph.pytree import rebuilt
from aten.transforms.symbols.environment import ShapeEnvironment
from aten.transforms.symbols.geometry import describe, environment_of, sized_like
from aten.transforms.symbols.numbers import SymFloat, SymInt, fix
from aten.transforms.symbols.probing import (
    Answers,
    Outcome,
    Question,
    Sizes,
    Windows,
    given_in,
    outcome_of,
)
from aten.transforms.trees import tensors_in
from aten.transforms.view_steps import same_window

_META = device("meta")
# What may have operands on several devices: the first one's is the result's.
_BETWEEN_DEVICES = frozenset({"copy_", "copy", "_to_copy", "copy_to", "device_put", "set_"})


class FakeTensorMode(DispatchMode):
    """Runs every operator on fake tensors, by its meta kernel.

    Factories make fake tensors on the device that is asked for, and results are on the device of
    the operands; `from_tensor` makes a fake tensor of one with data. Other tensors with data are
    taken for their sizes. A fake tensor's operators run so outside of the mode, too.

    Raises:
        DataDependentOutputException: what is asked for depends on values (`item`, `equal`).
        DynamicOutputShapeException: how large a result is depends on values (`nonzero`).
        RuntimeError: operands are on several devices, and are no 0-d tensors on the CPU.

    Example:

        >>> with aten.transforms.FakeTensorMode():
        ...     weight = aten.empty(80_000, 80_000)
        ...     product = weight @ weight.t()
        >>> product
        FakeTensor(..., size=(80000, 80000))
        >>> product.device
        device(type='cpu')
    """

    def __init__(self) -> None:
        # The storages are kept, so that no other one gets the identity.
        self._storages: dict[int, tuple[Storage, Storage]] = {}

    def from_tensor(self, tensor: Tensor, sizes: Sequence[int | SymInt | None] = ()) -> Tensor:
        """A fake tensor with the tensor's sizes, strides and device; views share a storage.

        `sizes` says which of the sizes are symbols, None or a number for the others; the tensor's
        are the symbols' hints. Raises ValueError where they are not, and where the tensor is on the
        meta device.
        """
        if not sizes:
            return self._window_of(tensor)
        environment = environment_of(sizes)
        made = fake_window(meta_window(self._window_of(tensor)), tensor.device)
        if environment is not None:
            if not is_fake(made):
                raise ValueError("from_tensor: tensors of the meta device have no symbolic sizes")
            describe(made, sized_like(environment, tensor, sizes))
        return made

    def _window_of(self, tensor: Tensor) -> Tensor:
        if is_fake(tensor):
            return tensor
        storage = tensor.untyped_storage()
        known = self._storages.get(id(storage))
        if known is None:
            made = meta_window(tensor)
            self._storages[id(storage)] = storage, made.untyped_storage()
            return self._wrapped(made, tensor.device)
        return self._wrapped(meta_window(tensor, known[1]), tensor.device)

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the operator's meta kernel gives, as fake tensors."""
        _refuse_writes(op, args, kwargs)
        place = _place_of_result(op, args, kwargs)
        results = self._called(op, args, kwargs, place)
        environment = environment_of((args, kwargs))
        if environment is None:
            return results
        if place.type == "meta":
            # Tensors of the meta device are no fake ones, and have numbers for sizes.
            fix(environment, given_in((args, kwargs)).symbols(), f"{op.qualified_name} on meta")
            return results
        return _with_symbols(environment, op, args, kwargs, results)

    def _called(
        self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], place: device
    ) -> Any:
        """The results, with symbols' hints for sizes."""
        pairs: list[tuple[Tensor, Tensor]] = []
        given = [_described(one, pairs) for one in args]
        named = {name: _described(one, pairs) for name, one in kwargs.items()}
        if _takes_device(op) and named.get("device") is None:
            named["device"] = _META
        try:
            results = op(*given, **named)
        except NoElementsError as error:
            tags = getattr(op.entry, "tags", ())
            if "dynamic_output_shape" in tags:
                raise DynamicOutputShapeException(op.qualified_name) from error
            raise DataDependentOutputException(op.qualified_name) from error
        for fake, window in pairs:
            if is_fake(fake) and not _same_hints(fake, window):
                memory.become(fake, fake_window(window, fake.device))
        return self._faked(results, pairs, place)

    def _faked(self, results: Any, pairs: list[tuple[Tensor, Tensor]], place: device) -> Any:
        if isinstance(results, (list, tuple)):
            return rebuilt(results, [self._faked(one, pairs, place) for one in results])
        if not isinstance(results, Tensor):
            return results
        for fake, window in pairs:
            if results is window:
                return fake
        return self._wrapped(meta_window(results), place)

    def _wrapped(self, described: Tensor, place: device) -> Tensor:
        if place.type == "meta":
            return described
        return fake_window(described, place)


def _with_symbols(
    environment: ShapeEnvironment,
    op: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    results: Any,
) -> Any:
    """The results, which say what they are of the symbols in the arguments.

    So do arguments that were written to.
    """
    written = [
        one
        for place, name in _written_places(op)
        for one in tensors_in(args[place] if place < len(args) else kwargs.get(name))
    ]

    def ask(sizes: Sizes) -> Outcome:
        windows = Windows(sizes)
        given = [windows.of(one) for one in args]
        named = {name: windows.of(one) for name, one in kwargs.items()}
        if _takes_device(op) and named.get("device") is None:
            named["device"] = _META
        with ExcludeDispatchKeyGuard(KEYS_OF_MODES):
            found = op(*given, **named)
        return outcome_of(found, [windows.window(one) for one in written])

    given = given_in((args, kwargs))
    expected = ask(environment.hints)
    question = Question(environment, ask, given, expected, op.qualified_name)
    answers = Answers(environment, question.answers())
    described = answers.with_symbols(results)
    for one in written:
        answers.describe(one)
    return described


def _same_hints(fake: Tensor, window: Tensor) -> bool:
    """Whether a fake tensor, with hints for symbols, is the window."""
    return same_window(meta_window(fake), window)


def _described(value: Any, pairs: list[tuple[Tensor, Tensor]]) -> Any:
    """An argument with meta tensors in the place of others; `pairs` are added to."""
    if isinstance(value, (SymInt, SymFloat)):
        return value.hint
    if isinstance(value, (list, tuple)):
        return rebuilt(value, [_described(one, pairs) for one in value])
    if isinstance(value, device):
        return _META
    if not isinstance(value, Tensor) or value.is_meta:
        return value
    made = next((window for one, window in pairs if one is value), None)
    if made is None:
        made = meta_window(value)
        pairs.append((value, made))
    return made


@cache
def _takes_device(op: OpOverload) -> bool:
    return any(one.name == "device" for one in op._schema.arguments)


def _place_of_result(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> device:
    """The device that results say they are on."""
    asked = kwargs.get("device") or next((one for one in args if isinstance(one, device)), None)
    if asked is not None:
        return asked
    tensors = tensors_in((args, kwargs))
    if not tensors:
        return thread_device() or device("cpu")
    if op.name in _BETWEEN_DEVICES:
        return tensors[0].device
    places = {one.device: None for one in tensors if one.dim() > 0 or one.device.type != "cpu"}
    # Compiled code that looks at storages alone makes views that are on the meta device.
    if len(places) > 1:
        places.pop(_META, None)
    if len(places) > 1:
        raise RuntimeError(
            f"{op.qualified_name}: expected all tensors to be on the same device, but found "
            f"{' and '.join(str(place) for place in places)}"
        )
    return next(iter(places), tensors[0].device)


@cache
def _written_places(op: OpOverload) -> tuple[tuple[int, str], ...]:
    return tuple(
        (place, one.name) for place, one in enumerate(op._schema.arguments) if one.is_write
    )


def _refuse_writes(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises RuntimeError where a tensor with data is to take what has none."""
    for place, name in _written_places(op):
        given = args[place] if place < len(args) else kwargs.get(name)
        for one in tensors_in(given):
            if not one.is_meta and not is_fake(one) and one.numel():
                raise RuntimeError(
                    f"{op.qualified_name}: {name} has data, and cannot be written to under "
                    f"FakeTensorMode or with fake operands: see FakeTensorMode.from_tensor"
                )


set_fake_mode(FakeTensorMode())
