"""Functionalization: programs that write and take views, run by operators that do neither.

The tensors that the program holds keep their sizes, strides and storages, and nothing is written to
them. What they would hold is a value beside them: one for each storage that was written to, from
which each view is taken anew by the steps that led to it. A write to a view makes the whole value
anew. At the end each tensor from outside that was written to is copied to, once.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Self

from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.memory.storage import Storage
from aten._core.tensor import memory as writing
from aten._core.tensor.making import is_fake
from aten._core.tensor.python_numbers import set_before_reading
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES, DispatchMode
from aten.graph.pytree import map_tensors, rebuilt
from aten.registry import operator, ops
from aten.transforms import functional_forms, view_steps
from aten.transforms.decompositions import decomposition_of
from aten.transforms.functional_writes import Write, writes
from aten.transforms.view_steps import Step


class _Memory:
    """What one storage holds.

    `root` is the tensor from outside that it was met by, or None; `window` shows the place that the
    value is of, and is nobody else's; `value` is what is there, or None as long as that is what the
    tensors themselves show.
    """

    __slots__ = ("__weakref__", "root", "settled", "value", "window", "written")

    def __init__(self, root: Tensor | None) -> None:
        self.root = root
        self.window: Tensor | None = None
        self.value: Tensor | None = None
        self.written = 0
        self.settled = 0


class _Alias:
    """A tensor that the program holds: steps from its memory's value to its own.

    `root` is kept where the tensor is a view that was taken before anything was written. `made` is
    whether operators made the tensor, or it is only there for its sizes and strides; `overlaps`,
    whether elements stand several times in one of the views that led to it.
    """

    __slots__ = ("made", "memory", "of_write", "overlaps", "reference", "root", "steps", "value")

    def __init__(
        self, memory: _Memory, steps: tuple[Step, ...] = (), root: Tensor | None = None
    ) -> None:
        self.memory = memory
        self.steps = steps
        self.root = root
        self.made = True
        self.overlaps = False
        self.value: Tensor | None = None
        self.of_write = 0
        self.reference: weakref.ref[Tensor] | None = None


class Functionalize(DispatchMode):
    """Runs every operator that writes, and every view of what was written to, by functional ones.

    It is the dispatch key Functionalize: an operator may have a kernel for that, which is called in
    its place.
    Modes entered before this one see functional operators and views alone, and at the end a `copy_`
    to each tensor from outside that was written to. What the program holds reads as without the
    mode, afterwards and before: `item` and `tolist` see what was written. Raises RuntimeError where
    a tensor whose memory is larger than what is known of it is resized.

    Example:

        >>> x = aten.zeros(2, 2)
        >>> with aten.transforms.Functionalize():
        ...     x[0].add_(1)
        ...     x.t()[0].mul_(5)
        tensor([1., 1.])
        tensor([5., 0.])
        >>> x
        tensor([[5., 1.],
                [0., 0.]])
    """

    keys = KEYS_OF_MODES

    def __init__(self) -> None:
        self._aliases: dict[int, _Alias] = {}
        self._memories: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()
        self._outside: list[_Memory] = []

    def __enter__(self) -> Self:
        if self in _active.modes:
            raise RuntimeError("Functionalize: the mode has been entered already")
        super().__enter__()
        _active.modes.append(self)
        set_before_reading(_settle)
        return self

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        _active.modes.remove(self)
        self._copy_back()

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator's results, by functional operators."""
        if writes(op, args, kwargs):
            return Write(self, op, args, kwargs).run()
        if _is_view(op):
            if "[]" in str(op._schema.returns[0].type):
                return self._views(op, args, kwargs)
            return self._view(op, args[0], args[1:], kwargs)
        given = [self.value_of(one) for one in args]
        named = {name: self.value_of(one) for name, one in kwargs.items()}
        return self.adopted(op(*given, **named), args, given)

    def value_of(self, given: Any) -> Any:
        """What a tensor of the program holds, as a value that nobody writes to; lists alike."""
        if isinstance(given, (list, tuple)):
            return rebuilt(given, [self.value_of(one) for one in given])
        if not isinstance(given, Tensor):
            return given
        alias = self._find(given)
        if alias is None or alias.memory.value is None:
            return given
        memory, value = alias.memory, alias.memory.value
        if not alias.steps:
            return value
        if alias.value is None or alias.of_write != memory.written:
            alias.value, alias.of_write = (
                view_steps.replayed(value, alias.steps)[-1],
                memory.written,
            )
        return alias.value

    def returned(self, given: Any) -> Any:
        """What a function that ran under the mode returns for a tensor: the tensor from outside, or
        a view of it, or else the value."""
        alias = self._find(given)
        if alias is None:
            return given
        memory = alias.memory
        if memory.root is None:
            return self.value_of(given)
        if alias.made or not _shows(memory.root, memory.window):
            return given
        return view_steps.replayed(memory.root, alias.steps)[-1]

    def write(self, name: str, target: Tensor, result: Tensor) -> None:
        """Let `result` be what a tensor of the program holds."""
        alias = self._alias_of(target)
        memory = alias.memory
        self._begin_value(target, alias)
        assert memory.value is not None
        self._keep_outside(memory)
        new = functional_forms.converted(name, target, result)
        steps = alias.steps
        if alias.overlaps:
            steps = self._steps_by_geometry(memory, target, alias.root)
        bases = view_steps.replayed(memory.value, steps[:-1]) if steps else []
        for step, base in zip(reversed(steps), reversed(bases), strict=True):
            new = step.undo(base, new)
        assert memory.window is not None
        memory.value = view_steps.laid_out_as(new, memory.window)
        memory.written += 1
        writing.mark_written(target)

    def reshape_memory(self, target: Tensor, value: Tensor) -> None:
        """`target` has been resized: its memory holds `value`, and nothing else."""
        alias = self._alias_of(target)
        if alias.steps:
            raise RuntimeError("resize: a view of memory that was written to cannot be resized")
        memory = alias.memory
        if any(one.memory is memory for one in self._aliases.values() if one is not alias):
            raise RuntimeError("resize: memory that other tensors show cannot be resized")
        memory.window = view_steps.quietly(target, operator("aten::alias"))
        memory.value = view_steps.laid_out_as(value, memory.window)
        memory.written += 1
        self._keep_outside(memory)

    def become(self, target: Tensor, op: OpOverload, args: tuple[Any, ...]) -> None:
        """Let `target` show what the view `op` shows of it."""
        alias = self._alias_of(target)
        self._begin_value(target, alias, stays=False)
        seen = view_steps.quietly(target, op, *args)
        alias.steps = self._steps_to(alias, op, args, {}, seen)
        alias.value, alias.made = None, False
        writing.become(target, seen)
        writing.mark_written(target)

    def forget(self, target: Tensor) -> None:
        """`target` is about to show other memory."""
        alias = self._alias_of(target)
        self._begin_value(target, alias, stays=False)
        del self._aliases[id(target)]

    def _view(
        self, op: OpOverload, base: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tensor:
        alias = self._alias_of(base)
        if alias.memory.value is None:
            made: Tensor = op(base, *args, **kwargs)
            if made is base:
                return base
            root = alias.root if alias.root is not None else base
            view = _Alias(alias.memory, (), root)
            self._remember(made, view)
            view.steps = self._steps_to(alias, op, args, kwargs, made, root)
            view.overlaps = alias.overlaps or view_steps.overlaps_itself(made)
            return made
        seen: Tensor = view_steps.quietly(base, op, *args, **kwargs)
        view = _Alias(alias.memory)
        self._remember(seen, view)
        view.steps = self._steps_to(alias, op, args, kwargs, seen)
        view.overlaps = alias.overlaps or view_steps.overlaps_itself(seen)
        view.made = False
        return seen

    def _views(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Several views at once, by the operators that its function takes them with."""
        super().__enter__()
        try:
            return decomposition_of(op)(*args, **kwargs)
        finally:
            super().__exit__(None, None, None)

    def _steps_to(
        self,
        alias: _Alias,
        op: OpOverload,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        seen: Tensor,
        root: Tensor | None = None,
    ) -> tuple[Step, ...]:
        if view_steps.has_inverse(op):
            return (*alias.steps, Step(op, args, kwargs))
        return self._steps_by_geometry(alias.memory, seen, root)

    def _steps_by_geometry(
        self, memory: _Memory, seen: Tensor, root: Tensor | None
    ) -> tuple[Step, ...]:
        if memory.window is None:
            start = root if root is not None else memory.root
            memory.window = view_steps.quietly(
                start if start is not None else seen, operator("aten::alias")
            )
        if not view_steps.is_whole(memory.window) and (
            memory.window.dtype is not seen.dtype or not view_steps.covers(memory.window, seen)
        ):
            self._flatten(memory, seen)
        window = memory.window
        assert window is not None
        steps = []
        if window.dtype is not seen.dtype:
            steps.append(Step(operator("aten::view.dtype"), (seen.dtype,)))
        scale = window.dtype.itemsize * window.storage_offset()
        steps.append(
            view_steps.by_geometry(seen, seen.storage_offset() - scale // seen.dtype.itemsize)
        )
        if seen.is_conj() != window.is_conj():
            steps.append(Step(operator("aten::_conj")))
        if seen.is_neg() != window.is_neg():
            steps.append(Step(operator("aten::_neg_view")))
        return tuple(steps)

    def _flatten(self, memory: _Memory, seen: Tensor) -> None:
        """Let the value be of the whole storage, of which only a part was looked at so far."""
        window = memory.window
        assert window is not None
        count = seen.untyped_storage().nbytes() // window.dtype.itemsize
        whole = ((count,), (1,), 0)
        place = view_steps.by_geometry(window, window.storage_offset())
        if memory.value is not None:
            start = memory.root if memory.root is not None else window
            flat = ops.aten.as_strided(start, *whole)
            memory.value = place.undo(flat, memory.value)
        memory.window = view_steps.quietly(window, operator("aten::as_strided"), *whole)
        for alias in self._aliases.values():
            if alias.memory is memory:
                alias.steps, alias.value = (place, *alias.steps), None

    def _begin_value(self, target: Tensor, alias: _Alias, stays: bool = True) -> None:
        """See to it that the memory has a value beside its tensors.

        Without `stays`, `target` is about to show something else.
        """
        memory = alias.memory
        if memory.value is not None:
            return
        root = alias.root if alias.root is not None else target
        if memory.window is None:
            memory.window = view_steps.quietly(root, operator("aten::alias"))
        window = memory.window
        memory.value = root if stays else ops.aten.alias(root)
        if not _shows(root, window):
            place = (tuple(window.shape), window.stride(), window.storage_offset())
            memory.value = ops.aten.as_strided(root, *place)

    def _keep_outside(self, memory: _Memory) -> None:
        if memory.root is not None and not any(one is memory for one in self._outside):
            self._outside.append(memory)

    def _find(self, given: Tensor) -> _Alias | None:
        """What is known of a tensor; None where its storage is not known."""
        alias = self._aliases.get(id(given))
        if alias is not None:
            return alias
        memory = self._memories.get(id(given.untyped_storage()))
        if memory is None:
            return None
        known = self._same_window(memory, given)
        if known is not None:
            alias = _Alias(memory, known.steps, known.root)
            alias.overlaps = known.overlaps
        else:
            alias = _Alias(memory, self._steps_by_geometry(memory, given, memory.root), memory.root)
        if alias.root is given:
            alias.root = None
        self._remember(given, alias)
        return alias

    def _same_window(self, memory: _Memory, given: Tensor) -> _Alias | None:
        """What is known of another tensor that shows the same elements: calls have windows of
        their own."""
        for alias in list(self._aliases.values()):
            other = alias.reference() if alias.memory is memory and alias.reference else None
            if other is not None and view_steps.same_window(other, given):
                if alias.root is not None or alias.steps:
                    return alias
                return _Alias(memory, (), other)
        return None

    def _alias_of(self, given: Tensor) -> _Alias:
        """What is known of a tensor; one that is met for the first time is from outside."""
        alias = self._find(given)
        if alias is None:
            alias = _Alias(_Memory(root=given))
            self._remember(given, alias)
        return alias

    def adopted(self, results: Any, args: tuple[Any, ...], given: list[Any]) -> Any:
        """Results as tensors of the program: where a value came back, the tensor it is of."""
        if isinstance(results, (list, tuple)):
            made = [self.adopted(one, args, given) for one in results]
            return rebuilt(results, made)
        if not isinstance(results, Tensor):
            return results
        for outer, value in zip(args, given, strict=True):
            if results is value:
                return outer
        if self._memories.get(id(results.untyped_storage())) is None:
            self._remember(results, _Alias(_Memory(root=None)))
        return results

    def _remember(self, made: Tensor, alias: _Alias) -> None:
        key = id(made)
        aliases = self._aliases
        alias.reference = weakref.ref(made, lambda _: aliases.pop(key, None))
        aliases[key] = alias
        self._memories[id(made.untyped_storage())] = alias.memory

    def _copy_back(self) -> None:
        for memory in self._outside:
            root, window = memory.root, memory.window
            if memory.written == 0 or root is None or window is None:
                continue
            target = root
            if not _shows(root, window):
                target = ops.aten.as_strided(
                    root, tuple(window.shape), window.stride(), window.storage_offset()
                )
            ops.aten.copy_(target, memory.value)  # type: ignore[arg-type]
            memory.settled = memory.written
        for memory in list(self._memories.values()):
            _bring_up_to_date(memory)

    def settle(self, storage: Storage) -> None:
        """Write what a storage holds to its memory: the host is about to read it."""
        memory = self._memories.get(id(storage))
        if memory is not None:
            _bring_up_to_date(memory)


class _Active(threading.local):
    def __init__(self) -> None:
        self.modes: list[Functionalize] = []


_active = _Active()


def _settle(storage: Storage) -> None:
    for mode in _active.modes:
        mode.settle(storage)


def _bring_up_to_date(memory: _Memory) -> None:
    if memory.settled == memory.written or memory.window is None or memory.value is None:
        return
    memory.settled = memory.written
    if is_fake(memory.window):
        return
    with ExcludeDispatchKeyGuard(KEYS_OF_MODES):
        ops.aten.copy_(memory.window, memory.value)


@cache
def _is_view(op: OpOverload) -> bool:
    """Whether the result shares memory with the first argument."""
    arguments, returns = op._schema.arguments, op._schema.returns
    if not arguments or not returns or arguments[0].annotation is None:
        return False
    return returns[0].annotation is not None and not arguments[0].is_write


def _shows(tensor: Tensor, window: Tensor | None) -> bool:
    """Whether the tensor is still the window that it was."""
    return window is None or view_steps.same_window(tensor, window)


def functionalize(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the same results, and the same writes to its arguments, that calls functional
    operators alone, and at its end `copy_` to each argument that it writes to.

    What it returns of its arguments' memory is theirs; other results that share memory with one
    another still do.

    Example:

        >>> def program(x):
        ...     y = x.view(-1)
        ...     y[0] = 7
        ...     return y * 2
        >>> x = aten.zeros(2, 2)
        >>> aten.func.functionalize(program)(x)
        tensor([14.,  0.,  0.,  0.])
        >>> x[0]
        tensor([7., 0.])
    """

    @wraps(function)
    def functional(*args: Any, **kwargs: Any) -> Any:
        return called_under(Functionalize(), function, args, kwargs)

    return functional


def called_under(
    mode: Functionalize, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a function gives under a mode, as its caller gets it."""
    with mode:
        results = function(*args, **kwargs)
    return map_tensors(mode.returned, results)
