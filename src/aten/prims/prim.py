"""What a primitive is, and the values that operator functions compute with.

An operator's function is ordinary Python over `Value`s. Each arithmetic step *binds* a primitive;
what that does is the interpreter's affair: record a graph, compute metadata, or call a backend.
The same function therefore yields the kernel, the meta result and the reference result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from aten._core.base.dtypes import DTYPES, dtype

Number = bool | int | float | complex
Shape = tuple[int, ...]


class Interpreter(Protocol):
    """Gives binding a meaning."""

    def bind(self, prim: Prim, operands: tuple[Value, ...], params: dict[str, Any]) -> Value:
        """Apply `prim` to operands of one shape (constants aside)."""
        ...

    def constant(self, value: Number, element: dtype) -> Value:
        """A 0-d value every element of which is `value`."""
        ...


class Prim:
    """A primitive: its schema, its meta rule, and what it means on NumPy arrays.

    `result_type(operand dtypes, params)` and `result_shape(operand shapes, params)` together are
    the meta rule. `reference(*arrays, **params)` is the meaning.
    """

    __slots__ = ("doc", "kind", "name", "reference", "result_shape", "result_type", "schema")

    table: ClassVar[dict[str, Prim]] = {}
    # Parameters that tell compilers what to expect. They change no result; schemas lack them.
    hints: ClassVar[frozenset[str]] = frozenset({"rare"})

    def __init__(
        self,
        name: str,
        *,
        schema: str,
        kind: str,
        result_type: Callable[[Sequence[dtype], dict[str, Any]], dtype],
        result_shape: Callable[[Sequence[Shape], dict[str, Any]], Shape],
        reference: Callable[..., Any],
        doc: str,
    ) -> None:
        if name in Prim.table:
            raise ValueError(f"prim {name!r} is defined twice")
        self.name = name
        self.schema = schema
        self.kind = kind
        self.result_type = result_type
        self.result_shape = result_shape
        self.reference = reference
        self.doc = doc
        Prim.table[name] = self

    def __call__(self, *operands: Value | Number, **params: Any) -> Value:
        return bind(self, operands, params)

    def __repr__(self) -> str:
        return f"<Prim {self.name}>"


def numpy_function(name: str) -> Callable[..., Any]:
    """NumPy's function `name`, looked up when first called: importing NumPy is slow."""

    def call(*arrays: Any, **params: Any) -> Any:
        import numpy

        return getattr(numpy, name)(*arrays, **params)

    return call


class Value:
    """An array seen from inside an operator's function: an element type and a shape.

    Operators broadcast as NumPy's do; both sides must have one element type, and Python numbers
    take the other side's. Conversion is explicit (`convert_element_type`).
    """

    __slots__ = ("dtype", "interpreter", "payload", "shape")

    def __init__(
        self, interpreter: Interpreter, payload: Any, element: dtype, shape: Shape
    ) -> None:
        self.interpreter = interpreter
        self.payload = payload
        self.dtype = element
        self.shape = shape

    def __add__(self, other: Value | Number) -> Value:
        return Prim.table["add"](self, other)

    def __radd__(self, other: Number) -> Value:
        return Prim.table["add"](other, self)

    def __sub__(self, other: Value | Number) -> Value:
        return Prim.table["sub"](self, other)

    def __rsub__(self, other: Number) -> Value:
        return Prim.table["sub"](other, self)

    def __mul__(self, other: Value | Number) -> Value:
        return Prim.table["mul"](self, other)

    def __rmul__(self, other: Number) -> Value:
        return Prim.table["mul"](other, self)

    def __truediv__(self, other: Value | Number) -> Value:
        return Prim.table["div"](self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return Prim.table["div"](other, self)

    def __neg__(self) -> Value:
        return Prim.table["neg"](self)

    def __abs__(self) -> Value:
        return Prim.table["abs"](self)

    def __and__(self, other: Value | Number) -> Value:
        return Prim.table["bitwise_and"](self, other)

    def __rand__(self, other: Number) -> Value:
        return Prim.table["bitwise_and"](other, self)

    def __or__(self, other: Value | Number) -> Value:
        return Prim.table["bitwise_or"](self, other)

    def __ror__(self, other: Number) -> Value:
        return Prim.table["bitwise_or"](other, self)

    def __xor__(self, other: Value | Number) -> Value:
        return Prim.table["bitwise_xor"](self, other)

    def __rxor__(self, other: Number) -> Value:
        return Prim.table["bitwise_xor"](other, self)

    def __invert__(self) -> Value:
        return Prim.table["bitwise_not"](self)

    def __lshift__(self, other: Value | Number) -> Value:
        return Prim.table["shift_left"](self, other)

    def __rshift__(self, other: Value | Number) -> Value:
        return Prim.table["shift_right_arithmetic"](self, other)

    def __lt__(self, other: Value | Number) -> Value:
        return Prim.table["lt"](self, other)

    def __le__(self, other: Value | Number) -> Value:
        return Prim.table["le"](self, other)

    def __gt__(self, other: Value | Number) -> Value:
        return Prim.table["gt"](self, other)

    def __ge__(self, other: Value | Number) -> Value:
        return Prim.table["ge"](self, other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return Prim.table["eq"](self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return Prim.table["ne"](self, other)  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError(
            "an operator's function cannot branch on a tensor's values; use where(condition, a, b)"
        )

    def __repr__(self) -> str:
        return f"Value({self.dtype.name}{list(self.shape)})"


def bind(prim: Prim, operands: Sequence[Value | Number], params: dict[str, Any]) -> Value:
    """Bring operands to one shape and numbers to values, then let the interpreter apply `prim`.

    Raises TypeError when no operand is a Value, or when element types differ where they must not.
    """
    first = next((operand for operand in operands if isinstance(operand, Value)), None)
    if first is None:
        raise TypeError(f"prims.{prim.name}: at least one operand must be a Value")
    interpreter = first.interpreter
    element = operands[1].dtype if prim.name == "where" and isinstance(operands[1], Value) else None
    if element is None:
        element = _element_type_for_numbers(prim, operands, first)
    values = tuple(
        operand if isinstance(operand, Value) else interpreter.constant(operand, element)
        for operand in operands
    )
    if prim.kind == "elementwise" and len(values) > 1:
        _check_element_types(prim, values)
        values = broadcast(values)
    return interpreter.bind(prim, values, params)


def _element_type_for_numbers(
    prim: Prim, operands: Sequence[Value | Number], first: Value
) -> dtype:
    if prim.name != "where":
        return first.dtype
    branches = [operand for operand in operands[1:] if isinstance(operand, Value)]
    return branches[0].dtype if branches else DTYPES["float32"]


def _check_element_types(prim: Prim, values: tuple[Value, ...]) -> None:
    checked = values[1:] if prim.name == "where" else values
    if any(value.dtype is not checked[0].dtype for value in checked):
        names = ", ".join(value.dtype.name for value in values)
        raise TypeError(f"prims.{prim.name}: operands must have one element type, got {names}")


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """The shape all `shapes` broadcast to. Raises RuntimeError where they do not."""
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for position, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == result[position]:
                continue
            if result[position] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({result[position]}) must match the size of tensor b "
                    f"({size}) at non-singleton dimension {position}"
                )
            result[position] = size
    return tuple(result)


def broadcast(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """All values at their common shape; constants stay 0-d, they fit everywhere."""
    shape = broadcast_shapes([value.shape for value in values])
    return tuple(
        value if value.shape in (shape, ()) else broadcast_to(value, shape) for value in values
    )


def broadcast_to(value: Value, shape: Shape) -> Value:
    """`value` with its dimensions aligned to the last ones of `shape`."""
    if value.shape == shape:
        return value
    first = len(shape) - len(value.shape)
    dimensions = tuple(range(first, len(shape)))
    return Prim.table["broadcast_in_dim"](value, shape=shape, broadcast_dimensions=dimensions)
