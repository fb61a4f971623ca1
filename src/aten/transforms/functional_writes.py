"""Calls of operators that write, under functionalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor import memory as writing
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES
from aten.registry import ops
from aten.transforms import functional_forms, view_steps

if TYPE_CHECKING:
    from aten.transforms.functionalization import Functionalize


def writes(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    written = functional_forms.written_names(op)
    if not written or op.entry.variant != "functional":
        return bool(written)
    # An operator whose schema does not say that it writes: only while it trains.
    named = functional_forms.by_name(op, args, kwargs)
    return bool(named["training"]) and all(named[name] is not None for name in written)


class Write:
    """One call of an operator that writes."""

    def __init__(
        self, mode: Functionalize, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.mode = mode
        self.op = op
        self.args = args
        self.kwargs = kwargs
        self.named = functional_forms.by_name(op, args, kwargs)
        self.form = functional_forms.form_of(op)

    def run(self) -> Any:
        if self.op.entry.kind == "view":
            return self.become()
        if self.op.name == "set_":
            self.mode.forget(self.args[0])
            return view_steps.quietly(None, self.op, *self.args, **self.kwargs)
        if self.op.name in ("resize_", "resize_as_", "resize"):
            return self.resize()
        results = self.computed()
        fresh = self.form.fresh
        written = [self.named[name] for name in self.form.written]
        if len(written) == 1 and isinstance(written[0], (list, tuple)):
            results = (*results[:fresh], results[fresh:]) if self.form.functional else results
        self.store(written, results[fresh:])
        made = results[:fresh]
        returned = [
            self.named[name]
            for name, one in zip(self.form.written, written, strict=True)
            if isinstance(one, Tensor)
        ]
        every = (*made, *returned[: len(self.op._schema.returns) - fresh])
        return every[0] if len(every) == 1 else every or None

    def become(self) -> Tensor:
        target: Tensor = self.args[0]
        self.mode.become(target, functional_forms.functional_of_view(self.op), self.args[1:])
        return target

    def resize(self) -> Tensor:
        target: Tensor = self.args[0]
        before = target.numel()
        functional = self.form.functional
        assert functional is not None
        value = functional(self.mode.value_of(target), *self.mode.value_of(self.args[1:]))
        view_steps.quietly(None, self.op, *self.args, **self.kwargs)
        if target.numel() or before:
            self.mode.reshape_memory(target, value)
        return target

    def computed(self) -> tuple[Any, ...]:
        """The functional operator's results, those first that the call returns anew."""
        functional = self.form.functional
        if functional is None:
            return self.computed_on_copies()
        if functional_forms.written_names(functional):
            return self.computed_by_writing(functional)
        named = functional_forms.arguments_of(functional, self.op, self.named)
        values = {name: self.mode.value_of(one) for name, one in named.items()}
        results = functional_forms.call_by_name(functional, values)
        results = tuple(results) if isinstance(results, (list, tuple)) else (results,)
        fresh = tuple(self.mode.adopted(one, (), []) for one in results[: self.form.fresh])
        return (*fresh, *results[self.form.fresh :])

    def computed_by_writing(self, base: OpOverload) -> tuple[Any, ...]:
        """As above, for an out= overload of an operator that writes to operands, too."""
        named = functional_forms.arguments_of(base, self.op, self.named)
        results = self.mode.value_of(self.mode.call(base, (), named))
        return results if isinstance(results, tuple) else (results,)

    def computed_on_copies(self) -> tuple[Any, ...]:
        """As above, by the operator itself on copies of what it writes to."""
        values = {
            name: _cloned(self.mode.value_of(one))
            if name in self.form.written
            else self.mode.value_of(one)
            for name, one in self.named.items()
        }
        results = functional_forms.call_by_name(self.op, values)
        results = tuple(results) if isinstance(results, (list, tuple)) else (results,)
        fresh = tuple(self.mode.adopted(one, (), []) for one in results[: self.form.fresh])
        return (*fresh, *(values[name] for name in self.form.written))

    def store(self, written: list[Any], results: tuple[Any, ...]) -> None:
        """Let what is written to hold the results, once all of them fit."""
        targets = [one for group in written for one in _each(group)]
        values = [one for group in results for one in _each(group)]
        resized = [one.shape != value.shape for one, value in zip(targets, values, strict=True)]
        if self.op.entry.variant != "out":
            for target, value, differs in zip(targets, values, resized, strict=True):
                if differs and self.op.name != "copy_to":
                    raise RuntimeError(
                        f"{self.op.name}: output with shape {list(target.shape)} doesn't match "
                        f"the result's shape {list(value.shape)}"
                    )
        name = self.op.name
        values = [
            functional_forms.converted(name, target, value)
            for target, value in zip(targets, values, strict=True)
        ]
        with ExcludeDispatchKeyGuard(KEYS_OF_MODES):
            writing.write_outs(name, tuple(targets), tuple(values), lambda out, result: None)
        for target, value, differs in zip(targets, values, resized, strict=True):
            if differs:
                self.mode.reshape_memory(target, value)
            else:
                self.mode.write(name, target, value)


def _each(group: Any) -> list[Tensor]:
    return list(group) if isinstance(group, (list, tuple)) else [group]


def _cloned(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cloned(one) for one in value]
    return ops.aten.clone(value)
