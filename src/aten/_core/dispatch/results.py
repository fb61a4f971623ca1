"""Whether what a Python kernel returned is what its operator's schema says.

Types are compared always. A kernel for one backend gives tensors of its device, or of the one that
`device=` names; a factory's have the sizes and the element type it was asked for.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, NoReturn

from aten._core.base.device import device, device_types
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aten._core.dispatch.dispatcher import OpOverload
    from aten._core.dispatch.python_kernel import PythonKernel
    from aten.schema.types import Type

# What values of a type are instances of; types that are not here take anything.
_CLASSES: dict[str, Any] = {
    "Tensor": Tensor,
    "int": numbers.Integral,
    "SymInt": numbers.Integral,
    "float": numbers.Real,
    "SymFloat": numbers.Real,
    "complex": numbers.Complex,
    "Scalar": numbers.Number,
    "str": str,
    "ScalarType": dtype,
    "Device": device,
}
_TRUTHS = ("bool", "SymBool")
_NUMPY_TRUTHS = ("bool", "bool_")


def check_results(
    op: OpOverload, kernel: PythonKernel, arguments: Sequence[Any], result: Any
) -> None:
    """Compare what `kernel` returned with what `op` returns.

    Raises:
        TypeError: the number or the type of the results is another one.
        RuntimeError: a tensor is not the one that was to be written to, lies on another device, or
            a factory's differs from what was asked for.
    """
    returns = op._schema.returns
    results = (result,) if len(returns) == 1 else result
    if not returns:
        if result is not None:
            _refuse(TypeError, op, kernel, "nothing (None)", result)
        return
    if len(returns) > 1 and not (isinstance(result, tuple) and len(result) == len(returns)):
        _refuse(TypeError, op, kernel, f"a tuple of {len(returns)} results", result)
    masked = any(argument.name == "output_mask" for argument in op._schema.arguments)
    for place, (returned, one) in enumerate(zip(returns, results, strict=True)):
        where = f" as result {place}" if len(returns) > 1 else ""
        if masked and one is None:
            continue
        if not _is_of(one, returned.type):
            _refuse(TypeError, op, kernel, f"{returned.type}{where}", one)
        if returned.is_write:
            _check_written(op, kernel, arguments, place, one)
            continue
        for tensor in _tensors_of(one):
            _check_device(op, kernel, arguments, tensor)
    if op.entry is not None and op.entry.kind == "factory" and isinstance(result, Tensor):
        _check_made(op, kernel, arguments, result)


def _is_of(value: Any, expected: Type) -> bool:
    if value is None:
        return expected.is_nullable or expected.base == "Any"
    if expected.is_nullable:
        expected = expected.element  # type: ignore[attr-defined]
    if expected.is_list:
        element = expected.element  # type: ignore[attr-defined]
        return isinstance(value, (list, tuple)) and all(_is_of(one, element) for one in value)
    if expected.base in _TRUTHS:
        return isinstance(value, bool) or type(value).__name__ in _NUMPY_TRUTHS
    return isinstance(value, _CLASSES.get(expected.base, object))


def _tensors_of(value: Any) -> list[Tensor]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in values if isinstance(one, Tensor)]


def _check_written(
    op: OpOverload, kernel: PythonKernel, arguments: Sequence[Any], place: int, result: Any
) -> None:
    """Raises RuntimeError unless the result is the argument of the same alias set."""
    annotation = op._schema.returns[place].annotation
    for argument, value in zip(op._schema.arguments, arguments, strict=True):
        if argument.annotation == annotation and isinstance(value, Tensor) and value is not result:
            _refuse(
                RuntimeError, op, kernel, f"its argument {argument.name!r}, written to,", result
            )


def _check_device(
    op: OpOverload, kernel: PythonKernel, arguments: Sequence[Any], result: Tensor
) -> None:
    """Raises RuntimeError where a backend's kernel gives a tensor of a device nobody mentioned."""
    if kernel.device_type < 0:
        return
    schema = zip(op._schema.arguments, arguments, strict=True)
    asked = {
        device(value).type
        for argument, value in schema
        if argument.type.base == "Device" and value is not None
    }
    if asked:
        expected = asked
    else:
        names = {code: name for name, code in device_types().items()}
        expected = {names[kernel.device_type]}
        expected |= {one.device.type for value in arguments for one in _tensors_of(value)}
    if result.device.type not in expected:
        on = " or ".join(sorted(expected))
        _refuse(RuntimeError, op, kernel, f"a tensor on the device {on}", result)


def _check_made(
    op: OpOverload, kernel: PythonKernel, arguments: Sequence[Any], result: Tensor
) -> None:
    """Raises RuntimeError where a factory's tensor has other sizes or elements than asked for."""
    asked = dict(zip((one.name for one in op._schema.arguments), arguments, strict=True))
    size, element = asked.get("size"), asked.get("dtype")
    if isinstance(size, (list, tuple)) and tuple(result.shape) != tuple(size):
        _refuse(RuntimeError, op, kernel, f"a tensor of shape {list(size)}", result)
    if isinstance(element, dtype) and result.dtype is not element:
        _refuse(RuntimeError, op, kernel, f"a tensor of {element}", result)


def _refuse(
    error: type[Exception], op: OpOverload, kernel: PythonKernel, expected: str, given: Any
) -> NoReturn:
    place = f" registered at {kernel.provenance}" if kernel.provenance else ""
    raise error(
        f"{op.qualified_name}: expected {expected} from its kernel ({kernel.describe()}{place}), "
        f"but it returned {described(given)}"
    )


def described(value: Any) -> str:
    """A kernel's result in a few words: what it is, not what it holds."""
    if isinstance(value, Tensor):
        return f"a {value.dtype} tensor of shape {list(value.shape)} on {value.device}"
    if value is None:
        return "None"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(described(one) for one in value[:3])
        return (
            f"a {type(value).__name__} of {len(value)} ({inner}{', …' if len(value) > 3 else ''})"
        )
    return f"{value!r:.40} of type {type(value).__name__}"
