"""Steps from memory to a view of it: replayed on other values, and undone to write through them.

A view is written to by making its base anew: `slice_scatter` for `slice`, and so on. What no
operator undoes by name is said as geometry, `as_strided`, and undone by `as_strided_scatter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.making import fake_window, is_fake
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES
from aten.registry import operator, ops

_Given = Mapping[str, Any]
_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]


class Step(NamedTuple):
    """A view operator and its arguments after the first."""

    op: OpOverload
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}

    def arguments(self) -> dict[str, Any]:
        """All arguments after the first by name, defaults filled in."""
        declared = self.op._schema.arguments[1:]
        given = {one.name: one.default for one in declared if one.has_default}
        given.update(zip((one.name for one in declared), self.args, strict=False))
        return {**given, **self.kwargs}

    def apply(self, base: Tensor) -> Tensor:
        """The view of another base, whose memory lies as that of the first one."""
        if self.op.name == "as_strided":
            size, stride, offset = self.args
            return _tensor(ops.aten.as_strided(base, size, stride, base.storage_offset() + offset))
        return _tensor(self.op(base, *self.args, **self.kwargs))

    def undo(self, base: Tensor, new: Tensor) -> Tensor:
        """`base` with `new` in the place of its view. Raises RuntimeError for a view in which one
        element of the base stands several times."""
        return _tensor(_undo_of(self.op)(self.arguments(), base, new))


def _tensor(value: Any) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def has_inverse(op: OpOverload) -> bool:
    """Whether a view can be undone by name; one by geometry is none of these."""
    named = op.qualified_name in _BY_OVERLOAD or op.name in _UNDO
    return named and op.name not in ("as_strided", "broadcast_in_dim")


def by_geometry(window: Tensor, offset: int) -> Step:
    """The step to a window, `offset` elements from the start of its base."""
    place = (tuple(window.shape), window.stride(), offset)
    return Step(operator("aten::as_strided"), place)


def replayed(base: Tensor, steps: tuple[Step, ...]) -> list[Tensor]:
    values = [base]
    for step in steps:
        values.append(step.apply(values[-1]))
    return values


def quietly(like: Tensor | None, op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """What an operator gives where no mode sees it: of `like` before `args`, on its device."""
    given = args if like is None else (like, *args)
    with ExcludeDispatchKeyGuard(KEYS_OF_MODES):
        made = op(*given, **kwargs)
    if like is not None and is_fake(like) and not is_fake(made):
        return fake_window(made, like.device)
    return made


def is_whole(window: Tensor) -> bool:
    """Whether a window shows its storage from end to end, in one dimension."""
    whole = window.untyped_storage().nbytes() // window.dtype.itemsize
    return window.dim() == 1 and window.is_contiguous() and window.numel() == whole


def covers(window: Tensor, seen: Tensor) -> bool:
    """Whether all elements of `seen` are among those of a window without gaps."""
    start = seen.storage_offset() - window.storage_offset()
    extent = 1 + sum(
        (size - 1) * stride for size, stride in zip(seen.shape, seen.stride(), strict=True)
    )
    if seen.numel() == 0:
        return True
    return is_dense(window) and start >= 0 and start + extent <= window.numel()


def is_dense(tensor: Tensor) -> bool:
    """Whether the elements fill a stretch of memory, in whatever order of dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return tensor.numel() == 0
        expected *= size
    return True


def same_window(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors on one storage show the same elements, and read them alike."""
    return (
        _same_sizes(left.shape, right.shape)
        and _same_sizes(left.stride(), right.stride())
        and _same_sizes((left.storage_offset(),), (right.storage_offset(),))
        and left.dtype is right.dtype
        and left.is_conj() == right.is_conj()
        and left.is_neg() == right.is_neg()
    )


def _same_sizes(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether sizes are the same; symbols that only might be are not, and nothing is relied on."""
    if len(left) != len(right):
        return False
    pairs = zip(left, right, strict=True)
    return all(
        one == other
        if isinstance(one, int) and isinstance(other, int)
        else getattr(one, "size", one) == getattr(other, "size", other)
        for one, other in pairs
    )


def overlaps_itself(tensor: Tensor) -> bool:
    """Whether an element of memory may stand several times in the tensor."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def laid_out_as(value: Tensor, window: Tensor) -> Tensor:
    """The same elements in memory as those of a dense window."""
    pairs = zip(value.stride(), window.stride(), window.shape, strict=True)
    if all(found == wanted or size == 1 for found, wanted, size in pairs) or not is_dense(window):
        return value
    order = sorted(range(window.dim()), key=lambda dim: -window.stride()[dim])
    rows = ops.aten.permute(value, order)
    return _tensor(ops.aten.permute(rows.clone(memory_format=_CONTIGUOUS), _inverse(order)))


def _undo_of(op: OpOverload) -> Callable[[_Given, Tensor, Tensor], Any]:
    return _BY_OVERLOAD.get(op.qualified_name) or _UNDO[op.name]


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=lambda dim: order[dim])


def _same_elements(given: _Given, base: Tensor, new: Tensor) -> Any:
    if new.numel() != base.numel():
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    return ops.aten.reshape(new, tuple(base.shape))


def _exchanged(first: str, second: str) -> Callable[[_Given, Tensor, Tensor], Any]:
    return lambda given, base, new: ops.aten.transpose(new, given[first], given[second])


def _permuted(given: _Given, base: Tensor, new: Tensor) -> Any:
    order = [int(dim) % base.dim() for dim in next(iter(given.values()))]
    return ops.aten.permute(new, _inverse(order))


def _bits(given: _Given, base: Tensor, new: Tensor) -> Any:
    return ops.aten.view.dtype(ops.aten.contiguous(new), base.dtype)


def _strided(given: _Given, base: Tensor, new: Tensor) -> Any:
    size, stride, offset = given["size"], given["stride"], given["storage_offset"]
    return ops.aten.as_strided_scatter(base, new, size, stride, base.storage_offset() + offset)


def _unchanged(given: _Given, base: Tensor, new: Tensor) -> Any:
    return new


_UNDO: dict[str, Callable[[_Given, Tensor, Tensor], Any]] = {
    **dict.fromkeys(("alias", "detach", "lift_fresh", "view_of"), _unchanged),
    **dict.fromkeys(("view", "_reshape_alias", "squeeze", "unsqueeze", "expand"), _same_elements),
    **dict.fromkeys(("collapse_view", "split_dim"), _same_elements),
    "permute": _permuted,
    "t": lambda given, base, new: ops.aten.t(new),
    "transpose": _exchanged("dim0", "dim1"),
    "swapdims": _exchanged("dim0", "dim1"),
    "swapaxes": _exchanged("axis0", "axis1"),
    "select": lambda given, base, new: ops.aten.select_scatter(base, new, **given),
    "slice": lambda given, base, new: ops.aten.slice_scatter(base, new, **given),
    "diagonal": lambda given, base, new: ops.aten.diagonal_scatter(base, new, **given),
    "as_strided": _strided,
    "view_of_dtype": _bits,
    "view_as_real": lambda given, base, new: ops.aten.view_as_complex(ops.aten.contiguous(new)),
    "view_as_complex": lambda given, base, new: ops.aten.view_as_real(ops.aten.resolve_conj(new)),
    "conj": lambda given, base, new: ops.aten.conj_physical(new),
    "_conj": lambda given, base, new: ops.aten.conj_physical(new),
    "_neg_view": lambda given, base, new: ops.aten.neg(new),
}
_BY_OVERLOAD = {"aten::view.dtype": _bits, "prims::transpose": _permuted}
