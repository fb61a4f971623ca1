"""`vmap`: a function of one row, called once for a batch of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from aten._core.dispatch.dispatcher import FallthroughKernel, OpOverload
from aten._core.dispatch.python_kernel import register_fallback
from aten._core.random.generator import default_generator
from aten._core.tensor.tensor import Tensor
from aten._core.threads import forks
from aten.autograd.function import set_function_of_rows
from aten.registry import ops
from aten.transforms.batching import randomness
from aten.transforms.batching.call import Call
from aten.transforms.batching.functions import of_rows
from aten.transforms.batching.levels import MODE, MODES, EnteredLevel
from aten.transforms.batching.rules import rule_of
from aten.transforms.batching.wrapping import KEY, levels, repeated, row_of, value_of
from aten.transforms.trees import leaves, spread, with_leaves

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function over batches: it sees one row of its arguments and is called once.

    Args:
        func: takes and returns tensors, nested of tuples, lists and dicts.
        in_dims: the dimension of each argument that the rows are taken along, None for one that
            all rows have in common; nested as the arguments are, or a number for all below.
            Arguments by keyword are the same for all rows.
        out_dims: where the rows come in each result.
        randomness: what random operators do: "error", "different" draws for each row, "same" one
            draw for all rows.
        chunk_size: how many rows are dealt with in one call of `func`, None for all.

    Raises:
        ValueError: dimensions do not go with the arguments, or batches are of different sizes.
        RuntimeError: a result would depend on a row's data in its sizes or as a Python number.

    Example:

        >>> x = aten.arange(6.0).reshape(3, 2)
        >>> aten.vmap(lambda row: row @ row)(x)
        tensor([ 1., 13., 41.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"vmap: randomness must be one of {', '.join(_RANDOMNESS)}, not {randomness!r}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size must be None or at least 1, not {chunk_size}")

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given = leaves(args)
        dims = [
            _checked_dim(dim, leaf, func)
            for dim, leaf in zip(_in_dims(in_dims, args, func), given, strict=True)
        ]
        size = _batch_size(dims, given, func)

        def call(chosen: list[Any], count: int) -> Any:
            rows = with_leaves(args, chosen)
            return _mapped(func, rows, kwargs, dims, out_dims, randomness, count)

        if chunk_size is None or chunk_size >= size:
            return call(given, size)
        if randomness == "same":
            call = _drawing_alike(call)
        return _in_chunks(call, given, dims, size, chunk_size, out_dims)

    return mapped


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)


def _in_dims(in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]) -> list[Any]:
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({_name(func)}): in_dims must be an int or a tuple, nested as the arguments, not "
            f"{type(in_dims).__name__}"
        )
    if isinstance(in_dims, int):
        return [in_dims if isinstance(leaf, Tensor) else None for leaf in leaves(args)]
    return spread(tuple(in_dims), args, f"vmap({_name(func)}): in_dims")


def _checked_dim(dim: Any, leaf: Any, func: Callable[..., Any]) -> int | None:
    if dim is None:
        return None
    where = f"vmap({_name(func)}): in_dims"
    if not isinstance(dim, int):
        raise ValueError(f"{where}: expected ints and None, got {dim!r}")
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{where}: {dim} is for a tensor, and the argument a {type(leaf).__name__}"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(f"{where}: {dim} is no dimension of a tensor with {leaf.dim()}")
    return dim % leaf.dim()


def _batch_size(dims: list[Any], given: list[Any], func: Callable[..., Any]) -> int:
    sizes = {leaf.shape[dim] for dim, leaf in zip(dims, given, strict=True) if dim is not None}
    if not sizes:
        raise ValueError(
            f"vmap({_name(func)}): there is nothing to map over: no argument has a dimension"
        )
    if len(sizes) > 1:
        raise ValueError(
            f"vmap({_name(func)}): the batches of the arguments have sizes {sorted(sizes)}; they "
            f"must be the same"
        )
    return int(sizes.pop())


def _mapped(
    func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    dims: list[Any],
    out_dims: Any,
    chosen: str,
    size: int,
) -> Any:
    _install()
    with EnteredLevel(size, chosen) as level:
        given = [
            leaf if dim is None else row_of(ops.aten.movedim(leaf, dim, 0), level)
            for dim, leaf in zip(dims, leaves(args), strict=True)
        ]
        results = func(*with_leaves(args, given), **kwargs)
    found = leaves(results)
    places = spread(out_dims, results, f"vmap({_name(func)}): out_dims")
    return with_leaves(
        results,
        [
            _taken_out(one, place, level, size, func)
            for one, place in zip(found, places, strict=True)
        ],
    )


def _taken_out(one: Any, place: Any, level: int, size: int, func: Callable[..., Any]) -> Any:
    if not isinstance(one, Tensor):
        raise ValueError(
            f"vmap({_name(func)}): the function must return tensors, not {type(one).__name__}"
        )
    value = value_of(one, level)
    if place is None:
        if value is not None:
            raise ValueError(
                f"vmap({_name(func)}): out_dims is None for a result that differs from row to row"
            )
        return one
    if not isinstance(place, int):
        raise ValueError(f"vmap({_name(func)}): out_dims: expected ints and None, got {place!r}")
    value = repeated(one, size) if value is None else value
    if not -value.dim() <= place < value.dim():
        raise IndexError(
            f"vmap({_name(func)}): out_dims: {place} is no dimension of a result with {value.dim()}"
        )
    return ops.aten.movedim(value, 0, place) if place else value


def _drawing_alike(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call with the same numbers from the default generator each time."""
    state = default_generator.get_state()

    def drawing(*args: Any) -> Any:
        default_generator.set_state(state)
        return call(*args)

    return drawing


def _in_chunks(
    call: Callable[[list[Any], int], Any],
    given: list[Any],
    dims: list[Any],
    size: int,
    chunk_size: int,
    out_dims: Any,
) -> Any:
    results = []
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        chosen = [
            leaf if dim is None else ops.aten.narrow(leaf, dim, start, count)
            for dim, leaf in zip(dims, given, strict=True)
        ]
        results.append(call(chosen, count))
    places = spread(out_dims, results[0], "vmap: out_dims")
    columns = zip(*map(leaves, results), strict=True)
    return with_leaves(
        results[0],
        [
            column[0] if place is None else ops.aten.cat(list(column), place)
            for place, column in zip(places, columns, strict=True)
        ],
    )


def _call(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    call = Call(op, args, kwargs)
    if not any(level.number == call.level for level in levels.entered):
        raise RuntimeError(
            f"{op.name}: a row of a batch is used outside of the vmap that it was made in, or in "
            f"another thread: the function given to vmap must return it"
        )
    return rule_of(op)(call)


# Held by the thread that uses vmap first; the others wait for the rules.
_installing = threading.RLock()
forks.hold(_installing)


def _install() -> None:
    with _installing:
        _register()


@cache
def _register() -> None:
    """Let the rules serve rows of batches, and random operators ask how they are to draw."""
    register_fallback(KEY, _call, "aten/transforms/batching/mapping.py")
    register_fallback(MODE, FallthroughKernel(), "aten/transforms/batching/mapping.py")
    randomness.install(MODE, MODES)
    set_function_of_rows(of_rows)
