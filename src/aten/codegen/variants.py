"""In-place and out= schemas, made from functional ones as torch makes them."""

from __future__ import annotations

from aten.schema import Annotation, Argument, FunctionSchema, OperatorName, Return

# A factory's dtype and device are those of its out= tensor.
_TENSOR_OPTIONS = {"dtype", "layout", "device", "pin_memory"}


def inplace_variant(schema: FunctionSchema, overload: str | None = None) -> FunctionSchema:
    """`add.Tensor(Tensor self, …) -> Tensor` → `add_.Tensor(Tensor(a!) self, …) -> Tensor(a!)`.

    The overload keeps its name where no other is given.

    Raises:
        SchemaError: the first argument is not `self`.
    """
    written = Annotation(("a",), is_write=True)
    first, *others = schema.arguments
    self_argument = Argument(first.type, first.name, written)
    # A list of tensors is changed, not returned.
    returns = () if first.type.is_list else (Return(first.type, written),)
    name = _inplace_name(schema.name, schema.name.overload if overload is None else overload)
    return FunctionSchema(name, (self_argument, *others), returns)


def _inplace_name(name: OperatorName, overload: str) -> OperatorName:
    if name.name.startswith("__") and name.name.endswith("__"):
        return OperatorName("", f"__i{name.name[2:]}", overload)
    return OperatorName("", f"{name.name}_", overload)


def out_variant(
    schema: FunctionSchema, overload: str, names: tuple[str, ...] = ()
) -> FunctionSchema:
    """`add.Tensor(…) -> Tensor` → `add.out(…, *, Tensor(a!) out) -> Tensor(a!)`."""
    if not names:
        count = len(schema.returns)
        names = ("out",) if count == 1 else tuple(f"out{index}" for index in range(count))
    annotations = [
        Annotation((chr(ord("a") + index),), is_write=True) for index in range(len(names))
    ]
    out_arguments = [
        Argument(returned.type, name, annotation, keyword_only=True)
        for returned, name, annotation in zip(schema.returns, names, annotations, strict=True)
    ]
    returns = [
        Return(returned.type, annotation, returned.name)
        for returned, annotation in zip(schema.returns, annotations, strict=True)
    ]
    return FunctionSchema(
        OperatorName("", schema.name.name, overload),
        (*_without_tensor_options(schema), *out_arguments),
        # A list of tensors is filled, not returned.
        tuple(returned for returned in returns if not returned.type.is_list),
    )


def _without_tensor_options(schema: FunctionSchema) -> tuple[Argument, ...]:
    names = {argument.name for argument in schema.keyword_only}
    if not names >= _TENSOR_OPTIONS:
        return tuple(_unaliased(argument) for argument in schema.arguments)
    return tuple(
        _unaliased(argument)
        for argument in schema.arguments
        if argument.name not in _TENSOR_OPTIONS
    )


def _unaliased(argument: Argument) -> Argument:
    if argument.annotation is None or argument.is_write:
        return argument
    return Argument(
        argument.type,
        argument.name,
        None,
        argument.default_text,
        argument.default,
        argument.keyword_only,
    )
