"""Functions of gradients: what `aten.func` is, over the graph that operators record.

An argument to differentiate by becomes a tensor of its own in the graph, a leaf, or else the result
of a view of what it was, so that one graph serves gradients of gradients. Under `vmap` it becomes a
row on every level entered: then the gradients of all rows are found in one walk.

Products with Jacobians (forward mode) go backward twice: the product of a gradient with the
transposed Jacobian is linear in the gradient, and its own derivative is the Jacobian.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from aten import autograd
from aten._core.autograd import operators
from aten._core.autograd.node import AccumulateGrad
from aten._core.base.keys import gradient_modes, set_gradient_modes, set_recording_level
from aten._core.tensor.making import whole_of
from aten._core.tensor.tensor import Tensor
from aten.registry import ops
from aten.transforms.batching.mapping import vmap
from aten.transforms.batching.wrapping import (
    batched,
    known_of,
    level_of,
    levels,
    repeated,
    row_of,
    value_of,
)
from aten.transforms.trees import leaves, with_leaves


class _Nesting(threading.local):
    depth = 0


_nesting = _Nesting()


@contextmanager
def _recording() -> Iterator[bool]:
    """A context that records; gives whether somebody outside does so, too."""
    recorded, inference = gradient_modes()
    outer = _nesting.depth > 0
    _nesting.depth += 1
    level = set_recording_level(0)
    set_gradient_modes(True, inference)
    try:
        yield outer or (recorded and not level)
    finally:
        set_gradient_modes(recorded, inference)
        set_recording_level(level)
        _nesting.depth -= 1


@contextmanager
def _of_its_own() -> Iterator[None]:
    """A context in which nothing is written to but tensors that are made in it."""
    before = operators.own_storages_from()
    try:
        yield
    finally:
        operators.own_storages_from(before)


def _with_physical(given: Tensor, new: Tensor) -> Tensor:
    known = known_of(given)
    return new if known is None else batched(_with_physical(known.value, new), known.level)


def _leaf(given: Tensor, name: str) -> Tensor:
    """The tensor at a place of its own in the graph, and a row on every level."""
    if not (given.is_floating_point() or given.is_complex()):
        raise RuntimeError(
            f"{name}: only tensors of real or complex numbers have gradients, not {given.dtype}"
        )
    for level in levels.entered:
        if value_of(given, level.number) is None:
            given = row_of(repeated(given, level.size), level.number)
    inside = whole_of(given)
    if inside.requires_grad:
        return _with_physical(given, ops.aten.view_as(inside, inside))
    return _with_physical(given, ops.aten.detach(inside).requires_grad_())


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    given: Sequence[Tensor | None],
    create_graph: bool,
) -> list[Any]:
    """The gradients of `inputs` for those of `outputs`, None where nothing goes back.

    Outputs and inputs may be rows on any number of levels; the graph is kept.

    Raises:
        RuntimeError: an input is the same for all rows of an output, so that it has one gradient
            for all of them together.
    """
    level = max(map(level_of, (*outputs, *inputs)), default=0)
    if level == 0:
        return _of_graph(outputs, inputs, given, create_graph)
    size = next(
        value.shape[0] for one in (*outputs, *inputs) if (value := value_of(one, level)) is not None
    )
    columns = [value_of(one, level) for one in inputs]
    if any(one is None for one in columns):
        raise RuntimeError(
            "grad: under vmap an input is the same for every row, while outputs differ: rows have "
            "no gradient of their own of it; aten.func.grad gives one for each"
        )

    def whole(one: Tensor) -> Tensor:
        value = value_of(one, level)
        return repeated(one, size) if value is None else value

    found = gradients(
        [whole(one) for one in outputs],
        [one for one in columns if one is not None],
        [None if one is None else whole(one) for one in given],
        create_graph,
    )
    return [None if one is None else row_of(one, level) for one in found]


def _of_graph(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    given: Sequence[Tensor | None],
    create_graph: bool,
) -> list[Any]:
    reached = [place for place, one in enumerate(outputs) if one.requires_grad]
    if not reached:
        return [None] * len(inputs)
    return list(
        autograd.grad(
            [outputs[place] for place in reached],
            list(inputs),
            [given[place] for place in reached],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    )


def _or_zeros(found: Sequence[Any], like: Sequence[Tensor]) -> list[Tensor]:
    return [
        ops.aten.zeros_like(one) if gradient is None else gradient
        for gradient, one in zip(found, like, strict=True)
    ]


class _Differentiated:
    """A function's results, and the arguments that they are differentiated by.

    `outer` is whether the results go back further than to these arguments: to those of a transform
    around this one, or to leaves that the function uses besides.
    """

    def __init__(
        self, name: str, func: Callable[..., Any], args: tuple[Any, ...], chosen: Any, kwargs: Any,
        has_aux: bool,
    ) -> None:  # fmt: skip
        places = chosen if isinstance(chosen, tuple) else (chosen,)
        picked = tuple(args[_place(name, place, args)] for place in places)
        given = leaves(picked)
        for one in given:
            if not isinstance(one, Tensor):
                raise ValueError(
                    f"{name}: arguments to differentiate by must be tensors, got "
                    f"{type(one).__name__}"
                )
        with _recording() as recorded, _of_its_own():
            self.inputs = [_leaf(one, name) for one in given]
            replaced = with_leaves(picked, self.inputs)
            called = list(args)
            for place, one in zip(places, replaced, strict=True):
                called[place] = one
            results = func(*called, **kwargs)
        self.aux: Any = None
        if has_aux:
            if not (isinstance(results, tuple) and len(results) == 2):
                raise RuntimeError(
                    f"{name}: with has_aux the function returns (output, aux), not "
                    f"{type(results).__name__}"
                )
            results, self.aux = results
        self.results = results
        self.outputs = leaves(results)
        for one in self.outputs:
            if not isinstance(one, Tensor):
                raise RuntimeError(
                    f"{name}: the function must return tensors, not {type(one).__name__}"
                )
        self.tree = picked if isinstance(chosen, tuple) else picked[0]
        connected = any(whole_of(one).requires_grad for one in given)
        self.outer = recorded and (_nesting.depth > 0 or connected or self._reaches_others())

    def _reaches_others(self) -> bool:
        """Whether the results depend on leaves besides the arguments."""
        own = {id(whole_of(one)) for one in self.inputs}
        pending: list[Any] = [whole_of(one).grad_fn for one in self.outputs]
        seen = set()
        while pending:
            node = pending.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, AccumulateGrad) and id(node.variable) not in own:
                return True
            pending.extend(following for following, _ in node.next_functions)
        return False

    def shown(self, tree: Any) -> Any:
        """Results for the caller: without the graph where that leads to the arguments only."""
        if self.outer:
            return tree
        return with_leaves(
            tree,
            [ops.aten.detach(one) if isinstance(one, Tensor) else one for one in leaves(tree)],
        )

    def back(self, given: list[Any], create_graph: bool) -> Any:
        """The gradients of the arguments, nested as these are."""
        with _recording():
            found = gradients(self.outputs, self.inputs, given, create_graph)
        return with_leaves(self.tree, _or_zeros(found, self.inputs))


def _place(name: str, place: Any, args: tuple[Any, ...]) -> int:
    if not isinstance(place, int):
        raise RuntimeError(f"{name}: argnums must be an int or a tuple of ints, not {place!r}")
    if not -len(args) <= place < len(args):
        raise RuntimeError(f"{name}: argnums has {place}, and there are {len(args)} arguments")
    return place


def _scalar(name: str, outputs: list[Any]) -> Tensor:
    if len(outputs) != 1 or outputs[0].dim() != 0:
        shapes = [list(one.shape) for one in outputs]
        raise RuntimeError(
            f"{name}: the function must return one tensor without dimensions, got shapes {shapes}"
        )
    one: Tensor = outputs[0]
    _refuse_complex(name, outputs)
    return one


def _refuse_complex(name: str, tensors: list[Any]) -> None:
    """Raises RuntimeError for complex numbers, which have no one derivative."""
    for one in tensors:
        if isinstance(one, Tensor) and one.is_complex():
            raise RuntimeError(f"{name}: expected real numbers, got {one.dtype}: use view_as_real")


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, and its value.

    Args:
        func: returns one tensor without dimensions, and with `has_aux` a pair of it and others.
        argnums: which arguments to differentiate by.

    Raises:
        RuntimeError: the function returns something else, or an argument has no gradient.
    """

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        ran = _Differentiated("grad", func, args, argnums, kwargs, has_aux)
        output = _scalar("grad", ran.outputs)
        found = ran.back([ops.aten.ones_like(output)], ran.outer)
        value = ran.shown(ran.results)
        return (found, (value, ran.shown(ran.aux))) if has_aux else (found, value)

    return run


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, which returns one number; see `grad_and_value`.

    Example:

        >>> aten.func.grad(lambda x: x.sin())(aten.tensor(0.0))
        tensor(1.)
        >>> aten.vmap(aten.func.grad(lambda x: x**3))(aten.tensor([1.0, 2.0]))
        tensor([ 3., 12.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return run


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The results of `func`, and a function of their gradients that gives those of `primals`.

    With `has_aux` the function returns a pair, the second of which comes third here.

    Raises:
        RuntimeError: gradients are not nested as the results, or of other shapes.

    Example:

        >>> output, back = aten.func.vjp(lambda x: x * x, aten.tensor([1.0, 2.0]))
        >>> back(aten.ones(2))
        (tensor([2., 4.]),)
    """
    if not primals:
        raise RuntimeError("vjp: there are no arguments to differentiate by")
    ran = _Differentiated("vjp", func, primals, tuple(range(len(primals))), {}, has_aux)

    def back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = leaves(cotangents)
        if len(given) != len(ran.outputs):
            raise RuntimeError(
                f"vjp: there are {len(ran.outputs)} results and {len(given)} gradients"
            )
        for one, output in zip(given, ran.outputs, strict=True):
            _check_like("vjp: a gradient", one, output)
        needed = (
            ran.outer or _nesting.depth > 0 or any(whole_of(one).requires_grad for one in given)
        )
        return ran.back(given, needed if create_graph is None else create_graph)

    output = ran.shown(ran.results)
    return (output, back, ran.shown(ran.aux)) if has_aux else (output, back)


def _check_like(what: str, given: Any, like: Tensor) -> None:
    if not isinstance(given, Tensor):
        raise RuntimeError(f"{what} must be a tensor, not {type(given).__name__}")
    if tuple(given.shape) != tuple(like.shape):
        raise RuntimeError(
            f"{what} has shape {list(given.shape)}, and what it goes with {list(like.shape)}"
        )


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The results of `func`, and the function that takes changes of `primals` to theirs.

    The function runs once, its linear part as often as is asked.

    Example:

        >>> output, change = aten.func.linearize(lambda x: x * x, aten.tensor([1.0, 2.0]))
        >>> change(aten.tensor([1.0, 1.0]))
        tensor([2., 4.])
    """
    output, change, _ = _linearized("linearize", func, primals, False)
    return output, change


def _linearized(
    name: str, func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool
) -> tuple[Any, Callable[..., Any], Any]:
    ran = _Differentiated(name, func, primals, tuple(range(len(primals))), {}, has_aux)
    with _recording():
        # Any gradient would do; formulas may take the logarithm of one.
        probes = [_leaf(ops.aten.ones_like(one), name) for one in ran.outputs if _varies(one)]
        varying = [one for one in ran.outputs if _varies(one)]
        found = gradients(varying, ran.inputs, list(probes), True)
    linear = [place for place, one in enumerate(found) if one is not None]

    def change(*tangents: Any) -> Any:
        given = leaves(tangents)
        if len(given) != len(ran.inputs):
            raise RuntimeError(
                f"{name}: there are {len(ran.inputs)} arguments and {len(given)} tangents"
            )
        for one, like in zip(given, ran.inputs, strict=True):
            _check_like(f"{name}: a tangent", one, like)
        outer = ran.outer or _nesting.depth > 0 or any(whole_of(one).requires_grad for one in given)
        with _recording():
            changes = gradients(
                [found[place] for place in linear],
                probes,
                [given[place] for place in linear],
                outer,
            )
        remaining = iter(_or_zeros(changes, probes))
        return with_leaves(
            ran.results,
            [next(remaining) if _varies(one) else ops.aten.zeros_like(one) for one in ran.outputs],
        )

    return ran.shown(ran.results), change, ran.shown(ran.aux)


def _varies(one: Tensor) -> bool:
    return one.is_floating_point() or one.is_complex()


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """The results of `func`, and how they change when `primals` change by `tangents`.

    Raises:
        RuntimeError: tangents are not nested as the primals, or of other shapes; with `strict`, a
            result does not depend on the primals.

    Example:

        >>> x = aten.tensor([1.0, 2.0])
        >>> aten.func.jvp(lambda x: x * x, (x,), (aten.ones(2),))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp: primals and tangents must be tuples of arguments")
    if len(primals) != len(tangents) or not primals:
        raise RuntimeError(
            f"jvp: expected a tangent for each primal, got {len(primals)} and {len(tangents)}"
        )
    output, change, aux = _linearized("jvp", func, primals, has_aux)
    if strict:
        _check_dependence(func, primals, has_aux)
    found = change(*tangents)
    return (output, found, aux) if has_aux else (output, found)


def _check_dependence(func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> None:
    ran = _Differentiated("jvp", func, primals, tuple(range(len(primals))), {}, has_aux)
    for place, one in enumerate(ran.outputs):
        if not whole_of(one).requires_grad:
            raise RuntimeError(f"jvp: result {place} does not depend on the primals")


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, of one walk back for all rows of it.

    For each result, nested as `func` gives them, a tensor of its shape followed by the argument's,
    nested as the argument; a tuple of these where `argnums` is one. `chunk_size` rows go together.

    Example:

        >>> aten.func.jacrev(lambda x: x * x)(aten.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        ran = _Differentiated("jacrev", func, args, argnums, kwargs, has_aux)
        _refuse_complex("jacrev", [*ran.inputs, *ran.outputs])
        jacobians = []
        for place, output in enumerate(ran.outputs):
            blank = [ops.aten.zeros_like(one) for one in ran.outputs]

            def row(one: Tensor, place: int = place, blank: list[Any] = blank) -> Any:
                return ran.back([*blank[:place], one, *blank[place + 1 :]], ran.outer)

            rows = vmap(row, chunk_size=chunk_size)(_basis(output))
            jacobians.append(_reshaped_rows(rows, output))
        found = with_leaves(ran.results, [_Whole(one) for one in jacobians])
        found = _opened(found)
        return (found, ran.shown(ran.aux)) if has_aux else found

    return run


class _Whole:
    """Keeps what is nested from being nested further."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree


def _opened(tree: Any) -> Any:
    if isinstance(tree, _Whole):
        return tree.tree
    return with_leaves(tree, [one.tree for one in leaves(tree)])


def _basis(like: Tensor) -> Tensor:
    count = like.numel()
    unit = ops.aten.eye(count, dtype=like.dtype, device=like.device)
    found: Tensor = ops.aten.reshape(unit, [count, *like.shape])
    return found


def _reshaped_rows(tree: Any, output: Tensor) -> Any:
    return with_leaves(
        tree,
        [ops.aten.reshape(one, [*output.shape, *one.shape[1:]]) for one in leaves(tree)],
    )


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """As `jacrev`, found column by column: for functions with more results than arguments.

    Example:

        >>> aten.func.jacfwd(lambda x: x * x)(aten.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = argnums if isinstance(argnums, tuple) else (argnums,)
        picked = tuple(args[_place("jacfwd", place, args)] for place in places)

        def of_chosen(*chosen: Any) -> Any:
            called = list(args)
            for place, one in zip(places, chosen, strict=True):
                called[place] = one
            return func(*called, **kwargs)

        _refuse_complex("jacfwd", leaves(picked))
        output, change, aux = _linearized("jacfwd", of_chosen, picked, has_aux)
        _refuse_complex("jacfwd", leaves(output))
        given = leaves(picked)
        by_output: list[list[Tensor]] = [[] for _ in leaves(output)]
        for place, one in enumerate(given):
            blank = [ops.aten.zeros_like(other) for other in given]

            def column(unit: Tensor, place: int = place, blank: list[Any] = blank) -> Any:
                tangents = with_leaves(picked, [*blank[:place], unit, *blank[place + 1 :]])
                return change(*tangents)

            columns = leaves(vmap(column, randomness=randomness)(_basis(one)))
            for found, whole in zip(columns, by_output, strict=True):
                moved = ops.aten.movedim(found, 0, -1)
                whole.append(ops.aten.reshape(moved, [*found.shape[1:], *one.shape]))
        tree = picked if isinstance(argnums, tuple) else picked[0]
        nested = [_Whole(with_leaves(tree, whole)) for whole in by_output]
        found = _opened(with_leaves(output, nested))
        return (found, aux) if has_aux else found

    return run


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`: `jacfwd` of `jacrev`.

    Example:

        >>> aten.func.hessian(lambda x: (x**3).sum())(aten.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
