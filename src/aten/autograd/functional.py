"""Products with Jacobians and Hessians, and these themselves, of functions of tensors.

A product with the Jacobian from the right is the derivative, by u, of the product from the left
with u, which is linear in u: two walks back and no forward mode (J. Townsend, "A new trick for
calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from aten._core.autograd import engine, node
from aten._core.base.keys import gradient_modes, set_gradient_modes, set_recording_level
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = Tensor | Sequence[Tensor]
Row = tuple[Tensor, ...]


def vjp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`func(*inputs)`, and `v` times its Jacobian: tensors of the inputs' sizes.

    `v` has the outputs' sizes, and is 1 where there is one output of one element. `strict` makes
    an output that does not depend on an input an error, where it has zeros otherwise.

    Raises:
        TypeError: inputs or outputs are no tensors.
        RuntimeError: `v` does not fit.

    Example:

        >>> x = aten.tensor([1.0, 2.0])
        >>> aten.autograd.functional.vjp(lambda x: (x * x).sum(), x)
        (tensor(5.), tensor([2., 4.]))
    """
    with _Recorded():
        given, is_row = _prepared("vjp", inputs, create_graph)
        outputs, is_output_row = _called("vjp", func, given, strict)
        vectors = _vectors("vjp", v, outputs, is_output_row, "outputs")
        found = _gradients(outputs, given, vectors, create_graph)
        made = _filled("vjp", found, given, strict, create_graph)
    return _given(outputs, is_output_row, create_graph), _given(made, is_row, create_graph)


def jvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`func(*inputs)`, and its Jacobian times `v`: tensors of the outputs' sizes.

    `v` has the inputs' sizes, and is 1 where there is one input of one element. `strict` and
    errors are `vjp`'s.

    Example:

        >>> x = aten.tensor([1.0, 2.0])
        >>> aten.autograd.functional.jvp(lambda x: x * x, x, aten.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with _Recorded():
        given, is_row = _prepared("jvp", inputs, create_graph)
        vectors = _vectors("jvp", v, given, is_row, "inputs")
        outputs, is_output_row = _called("jvp", func, given, strict)
        made = _times_vectors("jvp", outputs, given, vectors, strict, create_graph)
    return (
        _given(outputs, is_output_row, create_graph),
        _given(made, is_output_row, create_graph),
    )


def vhp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`func(*inputs)`, of one element, and `v` times its Hessian: tensors of the inputs' sizes.

    `v`, `strict` and errors are `jvp`'s; other outputs are a RuntimeError.

    Example:

        >>> x = aten.tensor([1.0, 2.0])
        >>> aten.autograd.functional.vhp(lambda x: (x**3).sum(), x, aten.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with _Recorded():
        given, is_row = _prepared("vhp", inputs, create_graph)
        vectors = _vectors("vhp", v, given, is_row, "inputs")
        outputs, is_output_row = _called("vhp", func, given, strict)
        slopes = _slopes("vhp", outputs, is_output_row, given, strict)
        found = _gradients(slopes, given, vectors, create_graph)
        made = _filled("vhp", found, given, strict, create_graph)
    return _given(outputs, is_output_row, create_graph), _given(made, is_row, create_graph)


def hvp(
    func: Function,
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`func(*inputs)`, of one element, and its Hessian times `v`; `vhp` gives the same sooner.

    Example:

        >>> x = aten.tensor([1.0, 2.0])
        >>> aten.autograd.functional.hvp(lambda x: (x**3).sum(), x, aten.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with _Recorded():
        given, is_row = _prepared("hvp", inputs, create_graph)
        vectors = _vectors("hvp", v, given, is_row, "inputs")
        outputs, is_output_row = _called("hvp", func, given, strict)
        slopes = _slopes("hvp", outputs, is_output_row, given, strict)
        made = _times_vectors("hvp", slopes, given, vectors, strict, create_graph)
    return _given(outputs, is_output_row, create_graph), _given(made, is_row, create_graph)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivatives of all outputs by all inputs: sizes of the output, then of the input.

    A tensor for one output and one input, a tuple over inputs or over outputs, or a tuple over
    outputs of tuples over inputs. `vectorize` walks back once for all elements of an output.
    `strategy="forward-mode"` gives the same numbers, and is no other way here.

    Raises:
        TypeError: inputs or outputs are no tensors.
        RuntimeError: with `strict`, an output does not depend on an input.
        NotImplementedError: forward mode with `create_graph`, or without `vectorize`.

    Example:

        >>> x = aten.tensor([1.0, 2.0])
        >>> aten.autograd.functional.jacobian(lambda x: x * x, x)
        tensor([[2., 0.],
                [0., 4.]])
    """
    _check_strategy("jacobian", strategy, create_graph, strict, vectorize)
    with _Recorded():
        given, is_row = _prepared("jacobian", inputs, create_graph)
        outputs, is_output_row = _called("jacobian", func, given, strict)
        rows = [_jacobian_of(one, given, strict, create_graph, vectorize) for one in outputs]
    made = tuple(_given(row, is_row, create_graph) for row in rows)
    return made if is_output_row else made[0]


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function that gives one element: a tensor, or tuples of tuples.

    Raises:
        RuntimeError: the function gives anything else; with `strict`, a derivative is constant.

    Example:

        >>> x = aten.tensor([1.0, 2.0])
        >>> aten.autograd.functional.hessian(lambda x: (x**3).sum(), x)
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    _check_strategy("hessian", outer_jacobian_strategy, create_graph, strict, vectorize)
    is_row = isinstance(inputs, (tuple, list))

    def slopes(*given: Tensor) -> Any:
        outputs, is_output_row = _called("hessian", func, given, strict)
        found = _slopes("hessian", outputs, is_output_row, given, strict)
        return found if is_row else found[0]

    return jacobian(slopes, inputs, create_graph, strict, vectorize)


class _Recorded:
    """Has operators recorded, whatever the thread's modes are."""

    def __enter__(self) -> None:
        self.before = gradient_modes()
        self.level = set_recording_level(0)
        set_gradient_modes(True, self.before[1])

    def __exit__(self, *exc_info: object) -> None:
        set_gradient_modes(*self.before)
        set_recording_level(self.level)


def _row(name: str, what: str, given: Any) -> tuple[Row, bool]:
    if isinstance(given, Tensor):
        return (given,), False
    if not isinstance(given, (tuple, list)):
        raise TypeError(
            f"{name}: {what} must be a tensor or a tuple of tensors, not {type(given).__name__}"
        )
    for place, one in enumerate(given):
        if not isinstance(one, Tensor):
            raise TypeError(f"{name}: {what}[{place}] must be a tensor, not {type(one).__name__}")
    return tuple(given), True


def _prepared(name: str, inputs: Any, create_graph: bool) -> tuple[Row, bool]:
    """The inputs as tensors of their own: with `create_graph`, where they are in their graph."""
    given, is_row = _row(name, "inputs", inputs)
    made = []
    for one in given:
        if create_graph and one.requires_grad:
            made.append(ops.aten.view(one, one.shape))
        else:
            made.append(one.detach().requires_grad_())
    return tuple(made), is_row


def _called(name: str, func: Function, given: Row, strict: bool) -> tuple[Row, bool]:
    outputs, is_row = _row(name, "the function's result", func(*given))
    if strict:
        for place, one in enumerate(outputs):
            if not one.requires_grad:
                _refuse_constant(name, f"output {place} does not depend on any input")
    return outputs, is_row


def _refuse_constant(name: str, what: str) -> NoReturn:
    raise RuntimeError(f"{name}: {what}, which strict=True does not allow")


def _vectors(name: str, v: Any, like: Row, is_row: bool, what: str) -> Row:
    if v is None:
        if len(like) != 1 or is_row or like[0].numel() != 1:
            raise RuntimeError(f"{name}: v can be left out only for {what} that are one element")
        return (ops.aten.ones_like(like[0].detach()),)
    vectors, _ = _row(name, "v", v)
    if len(vectors) != len(like):
        raise RuntimeError(f"{name}: v has {len(vectors)} tensors, and the {what} are {len(like)}")
    for place, (one, other) in enumerate(zip(vectors, like, strict=True)):
        if one.shape != other.shape:
            raise RuntimeError(
                f"{name}: v[{place}] has shape {list(one.shape)}, and the {what} have "
                f"{list(other.shape)}"
            )
    return vectors


def _gradients(outputs: Row, wanted: Row, seeds: Sequence[Any], create_graph: bool) -> list[Any]:
    """What of `seeds` arrives at each of `wanted`, or None."""
    pairs = [(one, seed) for one, seed in zip(outputs, seeds, strict=True) if one.requires_grad]
    if not pairs:
        return [None] * len(wanted)
    roots, given = zip(*pairs, strict=True)
    targets = [node.gradient_node(one) for one in wanted]
    found: list[Any] = engine.run_backward(roots, given, True, create_graph, targets)
    return found


def _filled(name: str, found: list[Any], like: Row, strict: bool, create_graph: bool) -> Row:
    """Zeros for what is None."""
    made = []
    for place, (one, other) in enumerate(zip(found, like, strict=True)):
        if strict and one is None:
            _refuse_constant(name, f"no output depends on input {place}")
        if strict and create_graph and not one.requires_grad:
            _refuse_constant(name, f"the derivative by input {place} depends on no input")
        made.append(ops.aten.zeros_like(other.detach()) if one is None else one)
    return tuple(made)


def _slopes(name: str, outputs: Row, is_row: bool, given: Row, strict: bool) -> Row:
    """The gradient of an output of one element, recorded."""
    if is_row or outputs[0].numel() != 1:
        raise RuntimeError(f"{name}: the function must give one tensor of one element")
    seeds = (ops.aten.ones_like(outputs[0].detach()),)
    return _filled(name, _gradients(outputs, given, seeds, True), given, strict, strict)


def _times_vectors(
    name: str, outputs: Row, given: Row, vectors: Row, strict: bool, create_graph: bool
) -> Row:
    """The Jacobian of recorded `outputs` times `vectors`."""
    seeds = tuple(ops.aten.zeros_like(one.detach()).requires_grad_() for one in outputs)
    slopes = _gradients(outputs, given, seeds, True)
    for place, slope in enumerate(slopes):
        if strict and slope is None:
            _refuse_constant(name, f"no output depends on input {place}")
    pairs = [
        (slope, vector) for slope, vector in zip(slopes, vectors, strict=True) if slope is not None
    ]
    found: list[Any] = [None] * len(outputs)
    if pairs:
        roots, along = zip(*pairs, strict=True)
        found = _gradients(roots, seeds, along, create_graph)
    return _filled(name, found, outputs, strict, create_graph)


def _jacobian_of(
    output: Tensor, given: Row, strict: bool, create_graph: bool, vectorize: bool
) -> Row:
    count = output.numel()
    shapes = [(*output.shape, *one.shape) for one in given]
    if count == 0 or not output.requires_grad:
        return tuple(
            ops.aten.new_zeros(one.detach(), shape)
            for one, shape in zip(given, shapes, strict=True)
        )
    unit = ops.aten.eye(count, dtype=output.dtype, device=output.device)
    seeds = ops.aten.reshape(unit, (count, *output.shape))
    if vectorize:
        found = _all_rows(output, given, seeds, create_graph)
        columns = _filled("jacobian", found, _expanded(given, count), strict, create_graph)
    else:
        rows = [
            _filled(
                "jacobian", _gradients((output,), given, (seed,), create_graph), given, strict,
                create_graph,
            )
            for seed in ops.aten.unbind(seeds)
        ]  # fmt: skip
        columns = tuple(ops.aten.stack(list(column)) for column in zip(*rows, strict=True))
    return tuple(
        ops.aten.reshape(column, shape) for column, shape in zip(columns, shapes, strict=True)
    )


def _all_rows(output: Tensor, given: Row, seeds: Tensor, create_graph: bool) -> list[Any]:
    from aten import autograd

    return list(
        autograd.grad(
            output, given, seeds, retain_graph=True, create_graph=create_graph, allow_unused=True,
            is_grads_batched=True,
        )
    )  # fmt: skip


def _expanded(given: Row, count: int) -> Row:
    return tuple(ops.aten.expand(one.detach(), (count, *one.shape)) for one in given)


def _given(values: Row, is_row: bool, create_graph: bool) -> Any:
    made = values if create_graph else tuple(one.detach() for one in values)
    return made if is_row else made[0]


def _check_strategy(
    name: str, strategy: str, create_graph: bool, strict: bool, vectorize: bool
) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f"{name}: strategy must be 'forward-mode' or 'reverse-mode', not {strategy!r}"
        )
    if strategy == "reverse-mode":
        return
    if create_graph:
        raise NotImplementedError(f"{name}: create_graph=True needs strategy='reverse-mode'")
    if strict:
        raise RuntimeError(f"{name}: strict=True needs strategy='reverse-mode'")
    if not vectorize:
        raise NotImplementedError(f"{name}: strategy='forward-mode' needs vectorize=True")
