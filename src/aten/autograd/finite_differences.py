"""Gradients beside finite differences.

A function of complex numbers is a real function of their parts, whose gradient for a part a + ib is
the slope in a plus i times the slope in b: all that is compared here are real numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from aten._core.autograd import engine, node
from aten._core.base.dtypes import DTYPES
from aten._core.random.generator import Generator
from aten._core.tensor.making import whole_of
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

Inputs = Tensor | Sequence[Any]
Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """`gradcheck` or `gradgradcheck` found what is wrong."""


class _Limits(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float


def gradcheck(
    func: Function,
    inputs: Inputs,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func(*inputs)` are what central differences of width `eps` give.

    The inputs that require gradients are compared, of every shape, real or complex; the tolerances
    are meant for double precision. Two walks back may differ by `nondet_tol`.
    `check_undefined_grad` sends nothing back from some results, `check_batched_grad` several
    gradients at once. `check_forward_ad` compares forward mode as well, with `check_undefined_grad`
    for some inputs alone, with `check_batched_forward_grad` for several changes at once.
    `fast_mode` compares one random combination of the derivatives in place of each. `masked` is for
    sparse tensors, of which there are none.

    Raises:
        GradcheckError: they differ; with `raise_exception=False` the answer is False.
        ValueError: no input requires gradients, or one shares memory with itself.
        AssertionError: neither mode is asked for, or a batch of one that is not.

    Example:

        >>> x = aten.tensor([1.0, 2.0], dtype=aten.float64, requires_grad=True)
        >>> aten.autograd.gradcheck(lambda x: (x * x).sum(), x)
        True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("gradcheck: check_forward_ad or check_backward_ad must be true")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: check_batched_grad needs check_backward_ad")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: check_batched_forward_grad needs check_forward_ad")
    given = _listed(inputs)
    _check_inputs(given)
    limits = _Limits(eps, atol, rtol, nondet_tol)
    try:
        if check_forward_ad:
            _check_forward(func, given, limits, fast_mode, check_undefined_grad)
        if check_batched_forward_grad:
            _check_batched_forward(func, given, limits)
        if check_backward_ad:
            _check_backward(func, given, limits, fast_mode, check_grad_dtypes)
        if check_batched_grad:
            _check_batched(func, given, limits)
        if check_undefined_grad and check_backward_ad:
            _check_undefined(func, given)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Inputs,
    grad_outputs: Inputs | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradients of `func(*inputs)`, as a function of inputs and `grad_outputs`.

    `grad_outputs` are random numbers, unless given; with `gen_non_contig_grad_outputs` they lie
    apart from each other in memory. Second derivatives are those of going back twice, and, with
    `check_fwd_over_rev`, of forward mode over the way back.

    Raises:
        GradcheckError: second derivatives differ from the differences of first ones.
        ValueError: as `gradcheck`.
        AssertionError: neither mode is asked for, or a check of one that is not.

    Example:

        >>> x = aten.tensor([1.0, 2.0], dtype=aten.float64, requires_grad=True)
        >>> aten.autograd.gradgradcheck(lambda x: x**3, x)
        True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("gradgradcheck: check_fwd_over_rev or check_rev_over_rev must be true")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("gradgradcheck: check_undefined_grad needs check_rev_over_rev")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("gradgradcheck: check_batched_grad needs check_rev_over_rev")
    given = _listed(inputs)
    _check_inputs(given)
    if grad_outputs is None:
        made = _differentiable(func(*given))
        seeds = tuple(_seed_like(one, gen_non_contig_grad_outputs) for one in made)
    else:
        seeds = _listed(grad_outputs)
    count = len(seeds)

    def gradients(*everything: Any) -> tuple[Tensor, ...]:
        arguments, given_seeds = everything[: len(everything) - count], everything[-count:]
        results = _differentiable(func(*arguments))
        wanted = [one for one in arguments if _takes_gradients(one)]
        found = _walk(results, wanted, given_seeds, create_graph=True)
        return tuple(one for one in found if one is not None)

    return gradcheck(
        gradients,
        given + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _listed(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, Tensor) else tuple(given)


def _takes_gradients(value: Any) -> bool:
    return isinstance(value, Tensor) and whole_of(value).requires_grad


def _differentiable(results: Any) -> list[Tensor]:
    listed = (results,) if isinstance(results, Tensor) else results
    return [one for one in listed if _takes_gradients(one)]


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    if not any(map(_takes_gradients, inputs)):
        raise ValueError("gradcheck: none of the inputs requires gradients; at least one has to")
    for place, one in enumerate(inputs):
        if not _takes_gradients(one):
            continue
        if one.dtype not in (DTYPES["float64"], DTYPES["complex128"]):
            warnings.warn(
                f"gradcheck: input {place} is of {one.dtype}; differences are only near to "
                "derivatives in double precision",
                stacklevel=3,
            )
        if any(
            stride == 0 and size > 1 for size, stride in zip(one.shape, one.stride(), strict=True)
        ):
            raise RuntimeError(
                f"gradcheck: input {place} has a stride of 0: its elements share memory and cannot "
                "change one at a time"
            )


def _walk(
    results: Sequence[Tensor],
    wanted: Sequence[Tensor],
    seeds: Sequence[Any],
    create_graph: bool = False,
) -> list[Any]:
    targets = [node.gradient_node(one) for one in wanted]
    found: list[Any] = engine.run_backward(
        tuple(results), tuple(seeds), True, create_graph, targets
    )
    return found


def _seed_like(result: Tensor, apart: bool) -> Tensor:
    made = ops.aten.randn_like(result.detach())
    if apart:
        made = ops.aten.stack([made, made], -1).select(-1, 0)
    return made.requires_grad_()


def _parts(value: Tensor) -> Tensor:
    """The real numbers that a tensor consists of, in one row."""
    value = value.detach()
    if value.is_complex():
        value = ops.aten.view_as_real(value.resolve_conj())
    return value.resolve_neg().reshape(-1)


def _parts_of(value: Tensor | None, like: Tensor) -> Tensor:
    return _parts(ops.aten.zeros_like(like.detach()) if value is None else value)


def _from_parts(parts: Tensor, like: Tensor) -> Tensor:
    """The tensor with the sizes and the type of `like` that consists of these numbers."""
    if like.is_complex():
        parts = ops.aten.view_as_complex(parts.reshape(*like.shape, 2))
    return parts.reshape(like.shape)


def _directions(tensor: Tensor) -> Iterator[Tensor]:
    """For each of the numbers of a tensor a tensor that is one there and zero elsewhere."""
    count = tensor.numel() * (2 if tensor.is_complex() else 1)
    for place in range(count):
        row = ops.aten.zeros((count,), dtype=tensor.dtype.to_real(), device=tensor.device)
        row[place] = 1
        yield _from_parts(row, tensor)


def _differences(
    func: Function, inputs: tuple[Any, ...], moved: Tensor, along: Tensor, eps: float, count: int
) -> list[Tensor]:
    """How the numbers of the results change when `moved` does, a row for each result."""
    own = moved.data
    before = own.clone()
    sides = []
    try:
        for width in (eps, -eps):
            own.copy_(before + along * width)
            results = func(*inputs)
            found = _differentiable(results) if count else _floating(results)
            sides.append([_parts(one).clone() for one in found])
    finally:
        own.copy_(before)
    if count and len(sides[0]) != count:
        raise GradcheckError("gradcheck: the function gives another number of results each time")
    return [(after - ahead) / (2 * eps) for after, ahead in zip(*sides, strict=True)]


def _floating(results: Any) -> list[Tensor]:
    return [one for one in _listed(results) if one.is_floating_point() or one.is_complex()]


def _check_backward(
    func: Function, inputs: tuple[Any, ...], limits: _Limits, fast: bool, dtypes: bool
) -> None:
    results = _differentiable(func(*inputs))
    wanted = [(place, one) for place, one in enumerate(inputs) if _takes_gradients(one)]
    if not results:
        _check_constant(func, inputs, wanted, limits)
        return
    compared = _compare_combinations if fast else _compare_all
    numbers = range(len(results))
    for place, one in wanted:
        compared(func, inputs, (place, one), numbers, limits)
    for result in results:
        first, second = (
            _walk([result], [one for _, one in wanted], [ops.aten.ones_like(result.detach())])
            for _ in range(2)
        )
        for (place, one), mine, again in zip(wanted, first, second, strict=True):
            _check_repeatable(place, mine, again, limits.nondet_tol)
            if dtypes and mine is not None and mine.dtype is not one.dtype:
                raise GradcheckError(
                    f"gradcheck: the gradient of input {place}, of {one.dtype}, is of {mine.dtype}"
                )


def _check_repeatable(place: int, mine: Any, again: Any, allowed: float) -> None:
    if mine is None or again is None:
        return
    if mine.numel() and bool(((mine - again).abs() > allowed).any()):
        raise GradcheckError(
            f"gradcheck: two walks back gave input {place} gradients that differ by more than "
            f"nondet_tol={allowed}"
        )


def _check_constant(
    func: Function, inputs: tuple[Any, ...], wanted: list[tuple[int, Tensor]], limits: _Limits
) -> None:
    """Results without a graph must not change."""
    for place, one in wanted:
        for along in _directions(one):
            for change in _differences(func, inputs, one, along, limits.eps, 0):
                if bool((change.abs() > limits.atol).any()):
                    raise GradcheckError(
                        f"gradcheck: no result requires gradients, yet input {place} changes one"
                    )


def _compare_all(
    func: Function,
    inputs: tuple[Any, ...],
    moved: tuple[int, Tensor],
    numbers: range,
    limits: _Limits,
) -> None:
    place, one = moved
    rows = [
        _differences(func, inputs, one, along, limits.eps, len(numbers))
        for along in _directions(one)
    ]
    if not rows:
        return
    results = _differentiable(func(*inputs))
    for number in numbers:
        result = results[number]
        columns = [
            _parts_of(_walk([result], [one], [seed])[0], one) for seed in _directions(result)
        ]
        if columns:
            numeric = ops.aten.stack([row[number] for row in rows])
            _require_close(number, place, numeric, ops.aten.stack(columns, 1), limits)


def _compare_combinations(
    func: Function,
    inputs: tuple[Any, ...],
    moved: tuple[int, Tensor],
    numbers: range,
    limits: _Limits,
) -> None:
    place, one = moved
    generator = Generator().manual_seed(0)
    along = _direction(one, generator)
    changes = _differences(func, inputs, one, along, limits.eps, len(numbers))
    results = _differentiable(func(*inputs))
    for number in numbers:
        seed = _direction(results[number], generator)
        found = _parts_of(_walk([results[number]], [one], [seed])[0], one)
        numeric = (changes[number] * _parts(seed)).sum()
        # Each derivative may be wrong by `atol`, and this is a sum of them.
        weight = float(_parts(along).sum()) * float(_parts(seed).sum())
        wider = limits._replace(atol=limits.atol * max(weight, 1.0))
        _require_close(number, place, numeric, (found * _parts(along)).sum(), wider)


def _direction(like: Tensor, generator: Generator) -> Tensor:
    """A random tensor of length one, whose numbers are not negative."""
    count = like.numel() * (2 if like.is_complex() else 1)
    numbers = ops.aten.rand.generator((count,), generator=generator, dtype=DTYPES["float64"])
    length = float(numbers.square().sum()) ** 0.5
    numbers = (numbers / (length or 1.0)).to(device=like.device, dtype=like.dtype.to_real())
    return _from_parts(numbers, like)


def _require_close(
    number: int,
    place: int,
    numeric: Tensor,
    analytic: Tensor,
    limits: _Limits,
    mode: str = "gradients",
) -> None:
    if not ops.aten.allclose(analytic, numeric, limits.rtol, limits.atol, equal_nan=True):
        raise GradcheckError(
            f"gradcheck: the derivative of result {number} with respect to input {place} is not "
            f"what differences give:\ndifferences: {numeric}\n{mode}: {analytic}"
        )


def _changes(func: Function, inputs: tuple[Any, ...], tangents: dict[int, Tensor]) -> list[Tensor]:
    """How the results that have gradients change when inputs change by `tangents`, by place."""
    # Above this package: it is made of transformations.
    jvp = import_module("aten.transforms.gradients").jvp
    places = list(tangents)

    def moved(*replaced: Tensor) -> list[Tensor]:
        given = list(inputs)
        for place, one in zip(places, replaced, strict=True):
            given[place] = one
        return _differentiable(func(*given))

    primals = tuple(inputs[place] for place in places)
    found: list[Tensor] = jvp(moved, primals, tuple(tangents.values()))[1]
    return found


def _check_forward(
    func: Function, inputs: tuple[Any, ...], limits: _Limits, fast: bool, alone: bool
) -> None:
    """Every change of an input, or a random one, changes the results as differences say.

    With `alone`, too, inputs whose change is zero are as those that are not said to change.
    """
    wanted = [(place, one) for place, one in enumerate(inputs) if _takes_gradients(one)]
    count = len(_differentiable(func(*inputs)))
    if not count:
        _check_constant(func, inputs, wanted, limits)
        return
    generator = Generator().manual_seed(0)
    for place, one in wanted:
        directions: Iterable[Tensor] = [_direction(one, generator)] if fast else _directions(one)
        for along in directions:
            found = _changes(func, inputs, {place: along})
            numeric = _differences(func, inputs, one, along, limits.eps, count)
            for number, (mine, change) in enumerate(zip(found, numeric, strict=True)):
                _require_close(number, place, change, _parts(mine), limits, "forward mode")
        if alone and len(wanted) > 1:
            _check_still(func, inputs, place, limits)


def _check_still(func: Function, inputs: tuple[Any, ...], place: int, limits: _Limits) -> None:
    """Zeros for all inputs but one are as good as nothing."""
    zeros = {
        other: ops.aten.zeros_like(one.detach())
        for other, one in enumerate(inputs)
        if _takes_gradients(one)
    }
    along = _direction(inputs[place], Generator().manual_seed(0))
    first = _changes(func, inputs, {place: along})
    second = _changes(func, inputs, {**zeros, place: along})
    for number, (mine, other) in enumerate(zip(first, second, strict=True)):
        _require_close(number, place, _parts(other), _parts(mine), limits, "forward mode")


def _check_batched_forward(func: Function, inputs: tuple[Any, ...], limits: _Limits) -> None:
    """Several changes at once give what each of them gives."""
    # Above this package: it is made of transformations.
    vmap = import_module("aten.transforms.batching.mapping").vmap
    for place, one in enumerate(inputs):
        if not _takes_gradients(one):
            continue
        rows = ops.aten.stack([ops.aten.randn_like(one.detach()) for _ in range(2)])

        def change(row: Tensor, place: int = place) -> list[Tensor]:
            return _changes(func, inputs, {place: row})

        together = vmap(change)(rows)
        for row, along in enumerate(rows.unbind()):
            for number, mine in enumerate(change(along)):
                numeric, analytic = _parts(mine), _parts(together[number][row])
                _require_close(number, place, numeric, analytic, limits, "forward mode, batched")


def _check_batched(func: Function, inputs: tuple[Any, ...], limits: _Limits) -> None:
    """Several gradients at once give what each of them gives."""
    from aten import autograd

    results = _differentiable(func(*inputs))
    wanted = [one for one in inputs if _takes_gradients(one)]
    for number, result in enumerate(results):
        seeds = ops.aten.stack([ops.aten.randn_like(result.detach()) for _ in range(2)])
        together = autograd.grad(
            result, wanted, seeds, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        alone = [_walk([result], wanted, [seed]) for seed in seeds.unbind()]
        for place, found in enumerate(together):
            for row, one in enumerate(alone):
                if one[place] is None or found is None:
                    continue
                _require_close(number, place, _parts(one[place]), _parts(found[row]), limits)


class _NothingNode(node.Node):
    """Sends nothing back."""

    def __init__(self, result: Tensor, made: Tensor) -> None:
        self.title = "NothingBackward"
        self.connect([result], [made])

    def run(self, gradients: list[Any]) -> list[Any]:
        return [None]


def _silent(result: Tensor) -> Tensor:
    made: Tensor = result.detach()
    _NothingNode(result, made)
    return made


def _check_undefined(func: Function, inputs: tuple[Any, ...]) -> None:
    """No gradient for some results is as good as zeros."""
    wanted = [one for one in inputs if _takes_gradients(one)]
    count = len(_differentiable(func(*inputs)))
    choices = (
        [set(range(count))] if count < 2 else [set(range(count)), *({i} for i in range(count))]
    )
    for silent in choices if count else ():
        results = _differentiable(func(*inputs))
        shown = [_silent(one) if place in silent else one for place, one in enumerate(results)]
        seeds = [ops.aten.zeros_like(one.detach()) for one in shown]
        try:
            found = _walk(shown, wanted, seeds)
        except (RuntimeError, TypeError, AttributeError) as error:
            raise GradcheckError(
                f"gradcheck: going back failed where results {sorted(silent)} have no gradient: "
                f"{error}"
            ) from error
        if any(one is not None and bool(one.ne(0).any()) for one in found):
            raise GradcheckError(
                f"gradcheck: the gradients are not zero where results {sorted(silent)} have none "
                "and the others zeros"
            )


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
