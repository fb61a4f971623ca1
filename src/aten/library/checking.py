"""Whether an operator of one's own keeps to what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.keys import DispatchKey, gradient_modes
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.packets import OpOverloadPacket
from aten._core.tensor.tensor import Tensor
from aten.graph.pytree import map_tensors
from aten.library.registration import NamedOperator, name_of
from aten.registry import operator, ops

_SKIPPED_KEYS = tuple(
    key
    for key in DispatchKey.__members__.values()
    if key.name.startswith("Autograd") or key.name == "CompositeImplicitAutograd"
)


class OpCheckError(Exception):
    """What `opcheck` raises where an operator does not keep to what it says."""


def opcheck(
    op: OpOverload | OpOverloadPacket | NamedOperator,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Calls the operator with these arguments, and looks at what it says and does.

    `test_schema`: arguments that are written to and results that share memory are those of the
    schema. `test_autograd_registration`: gradients are registered where dispatch looks for them.
    `test_faketensor`: what the operator gives for tensors without data has the sizes, strides and
    dtypes of what it gives. `test_aot_dispatch_dynamic`: results and gradients of the recorded
    program are those of the operator. Returns "SUCCESS", or the error, by the name of the check.

    Raises:
        ValueError: `test_utils` names no check.
        OpCheckError: a check has failed and `raise_exception` is on.

    Example:

        >>> @aten.library.custom_op("my_ops::doubled", mutates_args=())
        ... def doubled(x: aten.Tensor) -> aten.Tensor:
        ...     return x * 2
        >>> _ = doubled.register_fake(lambda x: aten.empty_like(x))
        >>> aten.library.opcheck(doubled, (aten.ones(3),), test_utils="test_faketensor")
        {'test_faketensor': 'SUCCESS'}
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in _CHECKS]
    if unknown:
        raise ValueError(f"opcheck(): there is no check {unknown[0]!r}: expected {list(_CHECKS)}")
    found = _overload(op)
    tolerances = {"atol": atol, "rtol": rtol}
    results: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](found, args, dict(kwargs or {}), tolerances)
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck({found}): {name} failed: {error}") from error
            results[name] = error
        else:
            results[name] = "SUCCESS"
    return results


def _overload(op: Any) -> OpOverload:
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, OpOverloadPacket):
        found: OpOverload = getattr(op, op.overloads()[0])
        return found
    return operator(name_of(op))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [one for member in value for one in _tensors(member)]
    return []


def _copied(values: Any) -> Any:
    return map_tensors(lambda one: one.detach().clone().requires_grad_(one.requires_grad), values)


def _bound(op: OpOverload, args: Any, kwargs: Any) -> list[tuple[Any, Any]]:
    """The schema's arguments with what was given for them."""
    arguments = op._schema.arguments
    names = [one.name for one in arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    return [(one, given[one.name]) for one in arguments if one.name in given]


def _same(first: Tensor, second: Tensor) -> bool:
    if tuple(first.shape) != tuple(second.shape) or first.dtype is not second.dtype:
        return False
    return bool(ops.aten.allclose(first, second, 0.0, 0.0, True)) if first.numel() else True


def _check_schema(op: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    args, kwargs = _copied((args, kwargs))
    bound = _bound(op, args, kwargs)
    before = [[one.detach().clone() for one in _tensors(value)] for _, value in bound]
    with_no_grad = _unrecorded(op, args, kwargs)
    for (argument, value), copies in zip(bound, before, strict=True):
        changed = any(
            not _same(one.detach(), copy) for one, copy in zip(_tensors(value), copies, strict=True)
        )
        if changed and not argument.is_write:
            raise RuntimeError(
                f"the argument {argument.name!r} was written to, and the schema does not say so: "
                f"{op._schema}"
            )
    if any(one.annotation for one in op._schema.returns):
        return
    results = _tensors(with_no_grad)
    for place, result in enumerate(results):
        for argument, value in bound:
            if any(_shares(result, one) for one in _tensors(value)):
                raise RuntimeError(
                    f"result {place} shares memory with the argument {argument.name!r}, and the "
                    f"schema does not say so: {op._schema}"
                )
        if any(_shares(result, one) for one in results[place + 1 :]):
            raise RuntimeError(f"result {place} shares memory with another result")


def _shares(first: Tensor, second: Tensor) -> bool:
    return first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr() != 0


def _unrecorded(op: OpOverload, args: Any, kwargs: Any) -> Any:
    from aten._core.base.keys import set_gradient_modes

    grad, inference = gradient_modes()
    set_gradient_modes(False, inference)
    try:
        return op(*args, **kwargs)
    finally:
        set_gradient_modes(grad, inference)


def _check_autograd(op: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    if not any(one.requires_grad for one in _tensors((args, kwargs))):
        return
    registered = op.registrations.kernels
    if any(key in registered for key in _SKIPPED_KEYS):
        return
    args, kwargs = _copied((args, kwargs))
    if any(one.requires_grad for one in _tensors(op(*args, **kwargs))):
        raise RuntimeError(
            "gradients are recorded inside of the kernel of a device, which compiled programs "
            "do not see: use register_autograd, or the key Autograd"
        )


def _check_fake(op: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    args, kwargs = _copied((args, kwargs))
    meta_args, meta_kwargs = map_tensors(
        lambda one: ops.aten.empty_strided(
            tuple(one.shape), one.stride(), dtype=one.dtype, device="meta"
        ),
        (args, kwargs),
    )
    described = _tensors(_unrecorded(op, meta_args, meta_kwargs))
    given = _tensors(_unrecorded(op, args, kwargs))
    if len(described) != len(given):
        raise RuntimeError(f"without data it gives {len(described)} tensors, else {len(given)}")
    for place, (fake, real) in enumerate(zip(described, given, strict=True)):
        for what, one, other in (
            ("the shape", list(fake.shape), list(real.shape)),
            ("the dtype", fake.dtype, real.dtype),
            ("the strides", fake.stride(), real.stride()),
        ):
            if one != other:
                raise RuntimeError(
                    f"without data, {what} of result {place} is {one}, and with data {other}"
                )


def _check_recorded(op: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    """Results, and gradients where something requires them, by a recording and by the operator."""
    expected, wanted = _results_and_gradients(op, op, args, kwargs)
    found, gradients = _results_and_gradients(op, _recorded(op), args, kwargs)
    for what, ours, theirs in (("result", found, expected), ("gradient", gradients, wanted)):
        if len(ours) != len(theirs):
            raise RuntimeError(f"recorded, there are {len(ours)} {what}s, else {len(theirs)}")
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if not _close(one, other, tolerances):
                raise RuntimeError(f"recorded, {what} {place} is another one")


def _recorded(op: OpOverload) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        from aten.backends.modes import DispatchMode

        with DispatchMode():
            return op(*args, **kwargs)

    return run


def _results_and_gradients(
    op: OpOverload, function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[list[Tensor], list[Tensor]]:
    args, kwargs = _copied((args, kwargs))
    results = _tensors(function(*args, **kwargs))
    leaves = [one for one in _tensors((args, kwargs)) if one.requires_grad]
    goals = [one.sum() for one in results if one.requires_grad and not one.is_complex()]
    if not leaves or not goals:
        return results, []
    from aten.autograd import grad

    found = grad(goals, leaves, allow_unused=True)
    return results, [one for one in found if one is not None]


def _close(first: Tensor, second: Tensor, tolerances: dict[str, float | None]) -> bool:
    if tuple(first.shape) != tuple(second.shape) or first.dtype is not second.dtype:
        return False
    default = 1.3e-6 if first.is_floating_point() or first.is_complex() else 0.0
    rtol = default if tolerances["rtol"] is None else tolerances["rtol"]
    atol = 1e-5 * bool(default) if tolerances["atol"] is None else tolerances["atol"]
    return bool(ops.aten.allclose(first.detach(), second.detach(), rtol, atol, True))


_CHECKS: dict[str, Callable[[OpOverload, Any, Any, dict[str, float | None]], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_recorded,
}
