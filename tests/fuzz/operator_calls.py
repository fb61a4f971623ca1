"""Random calls of registered operators: operands of any layout, numbers from edge to edge.

Everything is drawn from one `random.Random`, so that a number repeats a call, and so that
hypothesis can play the generator itself, and shrink what it finds.
"""

from __future__ import annotations

import math
import random
from typing import Any

from tensor_bits import as_bits

import aten
from aten import registry

# What a call may raise. Anything else (KeyError, AssertionError, SystemError, …) is a fault.
ALLOWED = (
    RuntimeError,
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
    MemoryError,
    OverflowError,
    BufferError,
)

_NUMBERS = (
    *(0, 1, -1, 2, 3, -2, 7, 63, 64, 255),
    *(2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**63, 2**64),
    *(0.0, -0.0, 0.5, -1.5, 1e-45, 1e30, 1e300, math.inf, -math.inf, math.nan),
    *(True, False, 1j, complex(math.nan, 1), complex(math.inf, 0)),
)
_INTEGERS = (0, 0, 1, 1, 2, 3, -1, -1, -2, 5, 100, -100, 2**31, 2**40, 2**63 - 1, -(2**63))
_SIZES = (0, 1, 1, 2, 2, 3, 4, 5, 17)
_DTYPES = tuple(
    aten.DTYPES[name]
    for name in (
        *("float32", "float32", "float32", "float64", "int64", "int64", "bool", "int32", "uint8"),
        *("int8", "int16", "float16", "bfloat16", "complex64", "complex128", "float8_e4m3fn"),
    )
)
_WORDS = ("", "mean", "sum", "none", "trunc", "floor", "constant", "reflect", "linear", "ij", "fro")
_WORDS_OF_REDUCE = ("prod", "amax", "amin", "nearest", "left", "right", "ortho", "forward", "xyz")


def operators() -> list[Any]:
    """Every registered overload."""
    from aten._generated.table import OPERATORS

    return [registry.operator(f"aten::{name}") for name in OPERATORS]


_LENGTHS = (0, 1, 1, 2, 2, 2, 3, 4)


class Calls:
    """Arguments for calls. Tensors of one call tend to have shapes that go together, and lists of
    one call lengths.

    `kinds`, by default the same source, is what dtypes, numbers and flags are drawn from: they
    decide what has to be compiled. Shapes, layouts and elements come from `source`.
    """

    def __init__(self, source: random.Random, kinds: random.Random | None = None) -> None:
        self._random = source
        self._kinds = kinds or source
        self._shape: list[int] = []
        self._length = 1
        self._dtype = _DTYPES[0]

    def arguments(self, op: Any) -> tuple[list[Any], dict[str, Any]]:
        rank = self._random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5))
        self._shape = [self._random.choice(_SIZES) for _ in range(rank)]
        self._dtype = self._kinds.choice(_DTYPES)
        self._length = self._kinds.choice(_LENGTHS)
        positional = []
        keywords = {}
        for argument in op._schema.arguments:
            if argument.has_default and self._kinds.random() < 0.5:
                break
            if argument.keyword_only:
                keywords[argument.name] = self._value(argument.type)
            else:
                positional.append(self._value(argument.type))
        for argument in op._schema.keyword_only:
            if argument.is_out or (not argument.has_default or self._kinds.random() < 0.3):
                keywords[argument.name] = self._value(argument.type)
        return positional, keywords

    def _value(self, type_: Any) -> Any:
        if self._kinds.random() < 0.01:
            return self._kinds.choice((None, "x", 1.5, -3, [], [None], object))
        if type_.is_nullable and self._kinds.random() < 0.4:
            return None
        if type_.is_list:
            return [self._single(str(type_)) for _ in range(self._list_length(str(type_)))]
        return self._single(str(type_))

    def _list_length(self, text: str) -> int:
        if text.startswith(("int", "SymInt")):
            # How many integers: nothing that is compiled asks.
            return self._random.choice(_LENGTHS)
        return self._length if self._kinds.random() < 0.7 else self._kinds.choice(_LENGTHS)

    def _single(self, text: str) -> Any:
        base = text.replace("?", "").partition("[")[0].partition("(")[0]
        if base == "Tensor":
            if "?" in text.partition("[")[0] and self._kinds.random() < 0.3:
                return None
            return self.tensor()
        make = getattr(self, f"_{base}", None)
        return None if make is None else make()

    # The methods from here on are named after the schema's types.

    def _Scalar(self) -> Any:
        return self._kinds.choice(_NUMBERS)

    def _int(self) -> int:
        if self._random.random() < 0.7:
            return self._random.randint(-3, 4)
        return self._random.choice(_INTEGERS)

    _SymInt = _int

    def _float(self) -> float:
        return float(self._kinds.choice([one for one in _NUMBERS if type(one) is float]))

    def _bool(self) -> bool:
        return self._kinds.random() < 0.5

    def _complex(self) -> complex:
        return complex(self._float(), self._float())

    def _str(self) -> str:
        return self._kinds.choice(_WORDS + _WORDS_OF_REDUCE)

    def _ScalarType(self) -> Any:
        return self._kinds.choice(_DTYPES)

    def _Layout(self) -> Any:
        return self._kinds.choice(tuple(aten.LAYOUTS.values()))

    def _MemoryFormat(self) -> Any:
        return self._kinds.choice(tuple(aten.MEMORY_FORMATS.values()))

    def _Device(self) -> str:
        return self._kinds.choice(("cpu", "cpu", "cpu", "meta", "cuda", "nonsense"))

    def some_tensor(self) -> Any:
        """A tensor of a shape and type that no call has asked for."""
        self._shape = [self._random.choice(_SIZES) for _ in range(self._random.randint(0, 4))]
        self._dtype = self._kinds.choice(_DTYPES)
        return self.tensor()

    def tensor(self) -> Any:
        """A tensor: dense, strided, broadcast, overlapping, offset, empty, 0-d or on meta."""
        dtype = self._dtype if self._kinds.random() < 0.8 else self._kinds.choice(_DTYPES)
        shape = list(self._shape)
        if shape and self._random.random() < 0.25:
            shape[self._random.randrange(len(shape))] = self._random.choice(_SIZES)
        if self._random.random() < 0.15:
            shape = [self._random.choice(_SIZES) for _ in range(self._random.randint(0, 4))]
        if self._random.random() < 0.03:
            return aten.empty(shape, dtype=dtype, device="meta")
        layout = self._random.choice(("dense", "dense", "transposed", "stepped", "window"))
        if layout == "window":
            return self._window(shape, dtype)
        if layout == "transposed" and shape:
            return self._filled(shape[::-1], dtype).permute(list(reversed(range(len(shape)))))
        if layout == "stepped" and shape:
            wide = [*shape[:-1], 2 * shape[-1] + 1]
            return self._filled(wide, dtype)[..., 1::2]
        return self._filled(shape, dtype)

    def _window(self, shape: list[int], dtype: Any) -> Any:
        """A view with strides of its own: overlapping, broadcast, from an offset on."""
        strides = [self._random.choice((0, 0, 1, 1, 2, 3, 5)) for _ in shape]
        offset = self._random.choice((0, 0, 1, 4))
        reach = sum((size - 1) * step for size, step in zip(shape, strides, strict=True) if size)
        return self._filled([offset + reach + 1], dtype).as_strided(shape, strides, offset)

    def _filled(self, shape: list[int], dtype: Any) -> Any:
        count = math.prod(shape)
        if dtype.name.startswith("float8"):
            raw = [self._random.randrange(256) for _ in range(count)]
            return aten.tensor(raw, dtype=aten.uint8).view(dtype).reshape(shape)
        values = [self._element(dtype) for _ in range(count)]
        return aten.tensor(values, dtype=dtype).reshape(shape)

    def _element(self, dtype: Any) -> Any:
        if dtype.name == "bool":
            return self._random.random() < 0.5
        small = self._random.random() < 0.9
        if not dtype.is_floating_point and not dtype.is_complex:
            if small:
                return self._random.randint(0 if dtype.name == "uint8" else -3, 4)
            bounds = aten.iinfo(dtype)
            return self._random.choice((bounds.min, bounds.max))
        if small:
            return self._random.uniform(-3, 3)
        return self._random.choice((math.nan, math.inf, -math.inf, 0.0, -0.0, 1e4, 1e-6))


def tensors_in(values: Any) -> list[Any]:
    if isinstance(values, aten.Tensor):
        return [values]
    if isinstance(values, (list, tuple)):
        return [one for value in values for one in tensors_in(value)]
    return []


def _bytes_of(tensor: Any) -> bytes:
    if tensor.device.type != "cpu" or tensor.numel() == 0:
        return b""
    return as_bits(tensor).tobytes()  # type: ignore[no-any-return]


def _state(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.dtype, _bytes_of(tensor)


def _exception_of(op: Any, positional: list[Any], keywords: dict[str, Any]) -> Exception | None:
    try:
        op(*positional, **keywords)
    except Exception as error:
        return error
    return None


def call(op: Any, positional: list[Any], keywords: dict[str, Any]) -> bool:
    """Whether the call succeeded. After one that did not, operands are what they were.

    Raises AssertionError for an exception that no call may raise, and for operands that changed.
    """
    operands = tensors_in([positional, list(keywords.values())])
    before = [_state(tensor) for tensor in operands]
    raised = _exception_of(op, positional, keywords)
    if raised is None:
        return True
    if not isinstance(raised, ALLOWED) or isinstance(raised, RecursionError):
        raise AssertionError(f"{op} raised {type(raised).__name__}: {raised}") from raised
    changed = [place for place, tensor in enumerate(operands) if _state(tensor) != before[place]]
    assert not changed, f"{op} failed, and operands {changed} are not what they were"
    return False


def call_recorded(
    op: Any, positional: list[Any], keywords: dict[str, Any], source: random.Random
) -> bool:
    """Whether a call with operands that require gradients succeeded, and the way back from it.

    Raises AssertionError for an exception that neither may raise.
    """
    for tensor in tensors_in([positional, list(keywords.values())]):
        takes = tensor.is_floating_point() or tensor.is_complex()
        if takes and source.random() < 0.6:
            tensor.requires_grad_()
    try:
        results = [one for one in tensors_in([op(*positional, **keywords)]) if one.requires_grad]
        if results:
            seeds = [aten.ones_like(one.detach()) for one in results]
            aten.autograd.backward(results, seeds, retain_graph=source.random() < 0.5)
    except ALLOWED as error:
        if isinstance(error, RecursionError):
            raise AssertionError(f"{op} raised {error}") from error
        return False
    except Exception as error:
        raise AssertionError(f"{op} raised {type(error).__name__}: {error}") from error
    return True
