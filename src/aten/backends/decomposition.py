"""Operators on backends that know the primitives only.

The operator's function runs on values that hold tensors; every primitive it binds is a call of
`aten.ops.prims`, dispatched to whatever the backend registered. A math function the backend lacks
is expanded into arithmetic first. No kernel is compiled and nothing is copied to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from aten import registry
from aten._core.base.device import memory_format
from aten._core.base.dtypes import DTYPES, can_cast, dtype, get_default_dtype
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import PythonKernel
from aten._core.tensor import memory
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import (
    Definition,
    Parameter,
    checks_of,
    converted,
    operation_type,
)
from aten.ops.folding import reduction_graph, run_reduction
from aten.prims import Number, Prim, Value, broadcast_shapes, broadcast_to
from aten.prims.prim import Interpreter, Shape


class DispatchInterpreter:
    """Binds primitives by calling them as operators on tensors of one device."""

    def __init__(self, device: Any, key: DispatchKey) -> None:
        self.device = device
        self.key = key

    def value(self, tensor: Tensor) -> Value:
        """The value that stands for `tensor`."""
        return Value(self, tensor, tensor.dtype, tuple(tensor.shape))

    def constant(self, value: Number, element: dtype) -> Value:
        """A number; it becomes a tensor when a primitive needs one."""
        return Value(self, _Constant(value), element, ())

    def bind(self, prim: Prim, operands: tuple[Value, ...], params: dict[str, Any]) -> Value:
        """Call the primitive, or the expansion of a function that the backend lacks."""
        if prim.name == "extent":
            # Here sizes are known: it is a number, and no kernel has to count.
            counted = (operands[0].shape[dim] for dim in params["dims"])
            return self.constant(prod(counted), params["dtype"])
        op = registry.operator(f"prims::{prim.name}")
        if not self._has_kernel(op):
            # Few programs have a device that lacks a function: `import aten` comes without them.
            from aten.loops.math import DECOMPOSITIONS

            if prim.name in DECOMPOSITIONS:
                return DECOMPOSITIONS[prim.name](*operands, **params)
        shape = None
        if prim.kind == "elementwise":
            shape = broadcast_shapes([operand.shape for operand in operands])
        tensors = [self.tensor(operand, shape) for operand in operands]
        meant = {name: value for name, value in params.items() if name not in Prim.hints}
        made = op(*tensors, **meant)
        element = prim.result_type([operand.dtype for operand in operands], params)
        shapes = [tuple(tensor.shape) for tensor in tensors]
        self._require(op, made, element, prim.result_shape(shapes, params))
        return self.value(made)

    def tensor(self, value: Value, shape: Shape | None) -> Tensor:
        """The tensor behind `value`, at `shape` where one is asked for."""
        if isinstance(value.payload, _Constant):
            op = registry.operator("prims::scalar_tensor")
            number = _wrapped(value.payload.number, value.dtype)
            made = op(number, dtype=value.dtype, device=self.device)
            self._require(op, made, value.dtype, ())
            value = self.value(made)
        if shape is not None and value.shape != shape:
            value = broadcast_to(value, shape)
        return value.payload  # type: ignore[no-any-return]

    def _require(self, op: OpOverload, made: Tensor, element: dtype, shape: Shape) -> None:
        """Raises RuntimeError where a primitive's kernel did not give what the primitive is."""
        place = self.device.type
        if made.dtype is element and tuple(made.shape) == shape and made.device.type == place:
            return
        # What only an error needs, `import aten` comes without.
        from aten._core.dispatch.results import described

        kernel, _ = op.registrations.resolve(self.key)
        assert kernel is not None
        raise RuntimeError(
            f"{op.qualified_name}: expected a {element} tensor of shape {list(shape)} on {place} "
            f"from its kernel ({kernel.describe()} registered at {kernel.provenance}), but it "
            f"returned {described(made)}"
        )

    def _has_kernel(self, op: OpOverload) -> bool:
        kernel, _ = op.registrations.resolve(self.key)
        return kernel is not None


def _wrapped(number: Number, element: dtype) -> Number:
    """An integer with the bits that the dtype has, as arithmetic takes it."""
    if not isinstance(number, int) or element.kind not in ("signed", "unsigned"):
        return number
    bits = 8 * element.itemsize
    kept = number & ((1 << bits) - 1)
    return kept - (1 << bits) if element.kind == "signed" and kept >> (bits - 1) else kept


class _Constant:
    __slots__ = ("number",)

    def __init__(self, number: Number) -> None:
        self.number = number


def decomposing_kernel(op: OpOverload, definition: Definition) -> PythonKernel:
    """The kernel that runs `definition` on primitives."""
    if op.qualified_name in MOVES:
        return PythonKernel(MOVES[op.qualified_name])
    run = run_pointwise if op.entry.kind == "pointwise" else _run_folds

    def decomposed(op: OpOverload, *arguments: Any, **named: Any) -> Any:
        return run(definition, [*arguments, *named.values()])

    return PythonKernel(decomposed, with_op=True)


def run_pointwise(definition: Definition, arguments: Sequence[Any]) -> Tensor:
    """A pointwise operator on primitives, in any of its variants."""
    named = dict(zip((p.name for p in definition.parameters), arguments, strict=True))
    out = arguments[definition.out_position] if definition.out_position >= 0 else None
    if definition.entry.variant == "out":
        named.popitem()
    interpreter = _interpreter_for(arguments)

    def value_of(tensor: Tensor) -> Value:
        return interpreter.value(_on_device(interpreter, definition, tensor))

    result = pointwise_value(definition, named, interpreter, value_of)
    shape = broadcast_shapes([tuple(one.shape) for one in named.values() if _is_tensor(one)])
    tensor = interpreter.tensor(result, shape)
    if out is not None:
        return write(definition.name, out, tensor, definition)
    return _apart([tensor], arguments, named.get("memory_format"))[0]


def pointwise_value(
    definition: Definition,
    arguments: dict[str, Any],
    interpreter: Interpreter,
    value_of: Callable[[Tensor], Value],
) -> Value:
    """The result of a pointwise operator's definition, of the type that the operator gives.

    It has the shape that the operands have together, or fewer dimensions where it does not depend
    on all of them. Raises what the operator's checks raise.
    """
    named = dict(arguments)
    operands = [p for p in definition.parameters if _is_operand(p, named)]
    partaking = [named[p.name] for p in operands if p.takes_part]
    compute = _compute_type(definition, named, result_type(*partaking))
    for check in checks_for(definition, compute):
        check(named)
    named["types"] = {p.name: _type_of(named[p.name]) for p in operands}
    for parameter in operands:
        given = named[parameter.name]
        if not _is_constant(definition, parameter, given):
            value = value_of(given) if isinstance(given, Tensor) else given
            named[parameter.name] = _operand(interpreter, parameter, value, definition, compute)
    made = definition(named)
    if not isinstance(made, Value):
        made = interpreter.constant(made, compute)
    return _in_result_type(made, definition, compute)


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def checks_for(definition: Definition, compute: dtype) -> list[Callable[[dict[str, Any]], None]]:
    """The definition's checks of argument values that apply where `compute` is computed."""
    check, integer_check = checks_of(definition, {})
    if compute.kind not in ("bool", "signed", "unsigned"):
        integer_check = None
    return [one for one in (check, integer_check) if one is not None]


def _is_operand(parameter: Parameter, named: dict[str, Any]) -> bool:
    """Whether the argument is a tensor, or a number that stands where one might."""
    if parameter.kind in ("attribute", "memory_format"):
        return False
    return named.get(parameter.name) is not None


def _is_constant(definition: Definition, parameter: Parameter, value: Any) -> bool:
    """Whether the function is to see a plain number: a default, or a value with its own code."""
    if isinstance(value, Tensor):
        return False
    if parameter.kind == "scalar" and parameter.has_default and value is parameter.default:
        return True
    return value in definition.options.constants.get(parameter.name, ())


def _type_of(value: Any) -> dtype:
    if isinstance(value, Tensor):
        return value.dtype
    names = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    return DTYPES[names[type(value)]]


def _interpreter_for(arguments: Sequence[Any]) -> DispatchInterpreter:
    """An interpreter for the device of the arguments that is not the CPU."""
    tensors = [value for value in arguments if isinstance(value, Tensor)]
    first = next((tensor for tensor in tensors if not tensor.is_cpu), tensors[0])
    keys = [key for key in first._dispatch_keys() if key.functionality == "Dense"]
    return DispatchInterpreter(first.device, keys[0])


def _compute_type(definition: Definition, named: dict[str, Any], common: dtype) -> dtype:
    rule = definition.promotion
    if rule == "division":
        rule = "float" if named.get("rounding_mode") is None else "default"
    integral = common.kind in ("bool", "signed", "unsigned")
    if rule == "float" and integral:
        return get_default_dtype()
    if (rule == "long" and integral) or (rule == "number" and common.kind == "bool"):
        return DTYPES["int64"]
    return common


def _operand(
    interpreter: Interpreter,
    parameter: Parameter,
    value: Value | Number,
    definition: Definition,
    compute: dtype,
) -> Value:
    element = compute if definition.promotion == "exact" else operation_type(compute)
    if not isinstance(value, Value):
        return interpreter.constant(value, element)
    if definition.promotion == "same" or not parameter.takes_part:
        return value
    return converted(value, element)


def _on_device(interpreter: DispatchInterpreter, definition: Definition, value: Tensor) -> Tensor:
    """The operand; a number in a tensor of the host is copied. Raises RuntimeError for others."""
    place = interpreter.device
    if value.device.type == place.type:
        return value
    if value.dim() or not value.is_cpu:
        raise RuntimeError(
            f"{definition.name}: expected all tensors to be on the same device, but one is on "
            f"{value.device} and another is on {place}"
        )
    return value.to(place)


def _in_result_type(value: Value, definition: Definition, compute: dtype) -> Value:
    if definition.promotion == "same":
        return value
    if definition.promotion == "bool":
        return converted(value, DTYPES["bool"])
    return converted(value, compute.to_real() if definition.promotion == "real" else compute)


def _run_folds(definition: Definition, arguments: Sequence[Any]) -> Any:
    _require_one_walk(definition, arguments)
    interpreter = _interpreter_for(arguments)
    results, single = run_reduction(definition, arguments, interpreter.value)
    tensors = _apart([interpreter.tensor(result, None) for result in results], arguments)
    return tensors[0] if single else tensors


def _apart(
    results: Sequence[Tensor], arguments: Sequence[Any], order: memory_format | None = None
) -> tuple[Tensor, ...]:
    """Results in memory of their own: a function may return an operand, a value spread over it, or
    one value twice, and its operator is none that says so in its schema."""
    taken = [value.untyped_storage() for value in arguments if isinstance(value, Tensor)]
    made = []
    for result in results:
        if 0 in result.stride() or any(result.untyped_storage() is one for one in taken):
            result = _copied(result, order)
        taken.append(result.untyped_storage())
        made.append(result)
    return tuple(made)


def _copied(tensor: Tensor, order: memory_format | None) -> Tensor:
    made = registry.operator("aten::empty_like")(tensor, memory_format=order)
    return registry.operator("prims::copy_to")(made, tensor)  # type: ignore[no-any-return]


# What of an operator's arguments found one walk before: shapes, element types, attributes.
_WALKED: dict[Any, None] = {}
_MAXIMUM_WALKED = 1024


def _require_one_walk(definition: Definition, arguments: Sequence[Any]) -> None:
    """Refuse here, too, what no compiled kernel can walk: a definition works on all backends, or
    on none."""
    key = (definition, *map(_walked_as, arguments))
    if key in _WALKED:
        return
    # Not needed by programs on ordinary devices, for which `import aten` comes without it.
    from aten.loops.expand import without_index_folds
    from aten.loops.geometry import UnsupportedGraphError, find_space

    graph, _, _ = reduction_graph(definition, arguments)
    try:
        find_space(without_index_folds(graph))
    except UnsupportedGraphError as error:
        raise refused_by_space(error, definition) from None
    if len(_WALKED) >= _MAXIMUM_WALKED:
        _WALKED.clear()
    _WALKED[key] = None


def _walked_as(argument: Any) -> Any:
    if isinstance(argument, Tensor):
        return tuple(argument.shape), argument.dtype
    value = tuple(argument) if isinstance(argument, list) else argument
    return type(argument), value


def refused_by_space(error: Exception, definition: Definition) -> Exception:
    """`error`, of a graph without a walk, with the place of the definition that made the graph."""
    name = definition.entry.base or definition.name
    return type(error)(f"{error}; {name} is defined at {definition.place}")


def write(name: str, out: Tensor, result: Tensor, definition: Definition) -> Tensor:
    """`result` written to `out`. Raises RuntimeError where type, shape or device forbid it."""
    if out.device.type != result.device.type:
        raise RuntimeError(
            f"{name}: expected out on device {result.device}, but it is on {out.device}"
        )
    if not can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"result type {result.dtype.scalar_type_name} can't be cast to the desired output "
            f"type {out.dtype.scalar_type_name}"
        )
    if tuple(out.shape) != tuple(result.shape):
        if definition.entry.variant == "inplace":
            raise RuntimeError(
                f"output with shape {list(out.shape)} doesn't match the broadcast shape "
                f"{list(result.shape)}"
            )
        memory.resize(out, result.shape)
    return registry.operator("prims::copy_to")(out, result)  # type: ignore[no-any-return]


def _copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """A primitive between tensors of one dtype and shape: `src` is converted where it is."""
    if src.shape != self.shape:
        src = src.expand(self.shape)
    if src.dtype is not self.dtype:
        src = registry.operator("prims::convert_element_type")(src, self.dtype)
    return registry.operator("prims::copy_to")(self, src)  # type: ignore[no-any-return]


# Moving data is not computing: these go to one primitive as they are.
MOVES: dict[str, Callable[..., Any]] = {"aten::copy_": _copy}
