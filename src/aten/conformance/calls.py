"""Random calls that operators mostly accept, so that kernels really run.

Shapes that go together are told by stories (`stories.py`). Which story, dtype and kind of
values an overload takes is found by trying, and kept: the next call of it uses one that it took.
Everything about one call is drawn from its seed, so that story and seed repeat it.
"""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

import aten
from aten import registry
from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import DTYPES as DTYPES_BY_NAME
from aten._core.base.numpy_types import numpy_for
from aten._generated.table import OPERATORS
from aten.conformance.stories import STORIES, Sizes, Story

numpy = numpy_for("comparing devices")
DTYPES = (
    *("float32", "float64", "int64", "bool", "int32", "uint8", "int8", "int16", "float16"),
    *("bfloat16", "complex64", "complex128", "float8_e4m3fn"),
)
VALUES = ("general", "unit", "small")

# What a word, a number or a list of numbers may be, by what the schema calls it.
_WORDS = {
    "reduce": ("sum", "prod", "mean", "amax", "amin", "add", "multiply"),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "UPLO": ("L", "U"),
    "norm": ("backward", "ortho", "forward"),
    "rounding_mode": ("trunc", "floor"),
    "driver": ("gels", "gelsy", "gelsd", "gelss"),
    "side": ("left", "right"),
    "ord": ("fro", "nuc"),
    "p": ("fro", "nuc"),
    "approximate": ("none", "tanh"),
    "indexing": ("ij", "xy"),
    "mode": ("constant", "reflect", "replicate", "circular", "reduced", "complete", "r"),
    "pad_mode": ("reflect", "constant", "replicate"),
    "padding": ("valid", "same"),
}
_CODES = {"reduction", "interpolation_mode", "padding_mode", "mode", "normalization"}
_ONES = {"groups", "edge_order", "stride", "dilation", "group"}
_SIZES = {"size", "shape", "sizes", "normalized_shape"}
_INDICES = {"index", "indices"}
_POSITIVE = {"eps", "sigma", "std", "lambd", "delta", "scale", "p", "q", "momentum", "dropout"}


def table_name(op: Any) -> str:
    """ "add.Tensor", as the operator table has it."""
    return str(op.qualified_name).partition("::")[2]


class Combination(NamedTuple):
    """What a call is made of, beside its seed."""

    story: int
    dtype: str
    values: str


class Chooser:
    """Combinations for calls of overloads, more and more of them those that succeeded."""

    def __init__(self, dtypes: tuple[str, ...] = DTYPES) -> None:
        self._dtypes = dtypes
        self._serving: dict[str, list[int]] = {}
        self._taken: dict[str, list[Combination]] = {}

    def choose(self, op: Any, source: random.Random) -> Combination:
        taken = self._taken.get(table_name(op))
        if taken and source.random() < 0.8:
            chosen = source.choice(taken)
            if source.random() < 0.3:
                chosen = chosen._replace(dtype=source.choice(self._dtypes))
            return chosen
        return Combination(
            self._story(op, source), _dtype(source, self._dtypes), source.choice(VALUES)
        )

    def note(self, op: Any, chosen: Combination, succeeded: bool) -> None:
        taken = self._taken.setdefault(table_name(op), [])
        if succeeded and chosen not in taken:
            taken.append(chosen)

    def _story(self, op: Any, source: random.Random) -> int:
        if table_name(op) not in self._serving:
            names = {one.name for one in op._schema.arguments}
            self._serving[table_name(op)] = [
                number
                for number, story in enumerate(STORIES)
                if story.rank is None and story.serves(names)
            ]
        specific = self._serving[table_name(op)]
        if specific and source.random() < 0.6:
            # Those that name more arguments fit better.
            weights = [_words(STORIES[number]) ** 2 for number in specific]
            return source.choices(specific, weights)[0]
        return len(STORIES) - 1 - source.choice((0, 1, 2, 3, 3, 4, 4, 5))


def _words(story: Story) -> int:
    return len(story.shapes) + len(story.values)


def _dtype(source: random.Random, dtypes: tuple[str, ...] = DTYPES) -> str:
    return source.choice(dtypes[:3]) if source.random() < 0.6 else source.choice(dtypes)


class ValidCalls:
    """The arguments of one call; its tensors are laid out in every way there is."""

    def __init__(self, op: Any, chosen: Combination, seed: str) -> None:
        self._op = op
        self._random = random.Random(seed)
        self._draw = numpy.random.default_rng(self._random.getrandbits(64))
        self._story = STORIES[chosen.story]
        self._sizes = Sizes(self._story, self._random)
        self._dtype = DTYPES_BY_NAME[chosen.dtype]
        self._values = chosen.values
        self._written = {one.name for one in op._schema.arguments if one.is_write}
        # Not where the call gives a window of its own on what is between the elements.
        is_window = {"size", "stride"} <= {one.name for one in op._schema.arguments}
        self._has_gaps = not is_window and self._random.random() < 0.5
        self._main = self._main_shape()
        self._least = self._least_size()

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        skips = False
        for argument in self._op._schema.arguments:
            if argument.is_out:
                continue
            named = argument.name in self._story.shapes or argument.name in self._story.values
            if argument.has_default and not named and self._random.random() < 0.6:
                skips = True
                continue
            value = self._value(argument)
            if argument.keyword_only or skips:
                keywords[argument.name] = value
            else:
                positional.append(value)
        outs = self._op._schema.out_arguments
        if outs:
            keywords |= self._outs(outs, positional, keywords)
        return positional, keywords

    def _main_shape(self) -> list[int]:
        if self._story.rank is not None:
            return self._sizes.any_shape(self._story.rank)
        for shapes in self._story.shapes.values():
            return self._sizes.shape(shapes[0][0])
        return self._sizes.any_shape(2)

    def _least_size(self) -> int:
        shapes = [self._main]
        for listed in self._story.shapes.values():
            shapes += [self._sizes.shape(dims) for dims, kind in listed if not kind]
        sizes = [size for shape in shapes for size in shape]
        return max(min(sizes, default=1), 1)

    # Arguments

    def _value(self, argument: Any) -> Any:
        type_ = argument.type
        text = str(type_)
        base = text.replace("?", "").partition("[")[0]
        if argument.name in self._story.values:
            return self._told(self._story.values[argument.name], base, type_)
        if argument.name in self._story.shapes:
            return self._placed(argument, self._story.shapes[argument.name], type_.is_list)
        if type_.is_nullable and self._random.random() < 0.6:
            return None
        if base == "Tensor":
            kind = "i" if argument.name in _INDICES else ""
            count = self._random.randint(1, 3) if type_.is_list else 1
            made = [self._tensor(self._main, kind, argument) for _ in range(count)]
            return made if type_.is_list else made[0]
        if type_.is_list:
            return self._numbers(argument.name, base, text)
        return self._single(argument.name, base)

    def _told(self, text: str, base: str, type_: Any) -> Any:
        value = self._sizes.value(text, type_.is_list)
        if base == "bool" and not type_.is_list and value is not None:
            return bool(value)
        return [value] if type_.is_list and not isinstance(value, list | None) else value

    def _placed(self, argument: Any, shapes: list[tuple[list[str], str]], is_list: bool) -> Any:
        made = [
            self._tensor(self._sizes.shape(dims), kind or self._kind(argument.name), argument)
            for dims, kind in shapes
        ]
        if not is_list:
            return made[0]
        if len(made) > 1 or "?" in str(argument.type):
            return made
        dims, kind = shapes[0]
        more = range(self._random.randint(0, 3))
        return made + [self._tensor(self._sizes.shape(dims), kind, argument) for _ in more]

    @staticmethod
    def _kind(name: str) -> str:
        return "i" if name in _INDICES else ""

    def _numbers(self, name: str, base: str, text: str) -> Any:
        rank = len(self._main)
        count = text.partition("[")[2].partition("]")[0]
        if base == "bool":
            return [self._random.random() < 0.7 for _ in range(int(count or 2))]
        if base in ("float", "Scalar"):
            if name == "range":
                return [-2.0, 3.0] * (self._main[-1] if self._random.random() < 0.5 and rank else 1)
            return [self._random.choice((0.5, 1.5, 2.0)) for _ in range(max(rank - 2, 1))]
        if name in _SIZES:
            return self._main if self._random.random() < 0.7 else [max(math.prod(self._main), 0)]
        if name.startswith(("dim", "source", "destination")) and rank:
            wanted = rank if name == "dims" and self._random.random() < 0.5 else 1
            axes = self._random.sample(range(rank), min(max(int(count or 1), wanted), rank))
            return [axis - self._random.choice((0, rank)) for axis in axes]
        wanted = int(count or 0)
        if wanted < 2:
            wanted = self._random.choice((1, rank, max(rank - 2, 1)))
        return [self._single(name, "int") for _ in range(wanted)]

    def _single(self, name: str, base: str) -> Any:
        make = getattr(self, f"_{base}", None)
        return None if make is None else make(name)

    # The methods from here to `_Storage` are named after the schema's types.

    def _int(self, name: str) -> int:
        rank = len(self._main)
        if name.startswith(("dim", "axis", "start_dim", "end_dim", "source", "destination")):
            return self._random.randrange(-rank, rank) if rank else self._random.choice((0, -1))
        if name in _CODES:
            return self._random.randint(0, 2)
        if name in _ONES:
            return 1 if self._random.random() < 0.7 else 2
        if "padding" in name or name in ("offset", "diagonal", "storage_offset", "blank"):
            return self._random.choice((0, 0, 1))
        if name == "index":
            return self._random.randrange(self._least)
        if name in ("k", "n", "size", "length", "num_samples", "kernel_size", "step"):
            return self._random.randint(1, min(self._least, 5))
        return self._random.randint(1, 6)

    _SymInt = _int

    def _Scalar(self, name: str) -> Any:
        if self._dtype.is_floating_point and self._random.random() < 0.6:
            return self._random.choice((0.5, 1.0, 1.5, 2.0, -1.5))
        return self._random.choice((1, 1, 2, 3, 0, -2))

    def _float(self, name: str) -> float:
        if name in _POSITIVE:
            return self._random.choice((0.25, 0.5, 0.75))
        return self._random.choice((0.0, 0.5, 1.0, 2.0, -1.5))

    def _bool(self, name: str) -> bool:
        return self._random.random() < 0.5

    def _str(self, name: str) -> str:
        return self._random.choice(_WORDS.get(name, ("",)))

    def _ScalarType(self, name: str) -> Any:
        return self._dtype if self._random.random() < 0.5 else DTYPES_BY_NAME[_dtype(self._random)]

    def _Layout(self, name: str) -> Any:
        return aten.strided

    def _MemoryFormat(self, name: str) -> Any:
        return self._random.choice(tuple(MEMORY_FORMATS.values()))

    def _Device(self, name: str) -> str:
        return "cpu"

    def _Storage(self, name: str) -> Any:
        return self._tensor(self._main, "", None).untyped_storage()

    # Results to write to

    def _outs(self, outs: Any, positional: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        """Tensors of the geometry that the overload without out= gives, or empty ones."""
        try:
            base = registry.operator(f"aten::{OPERATORS[table_name(self._op)][3]}")
            results = _tensors(base(*positional, **keywords))
        except Exception:
            results = []
        made: dict[str, Any] = {}
        for place, argument in enumerate(outs):
            if argument.type.is_list:
                made[argument.name] = [self._like(one) for one in results]
            elif place < len(results) and self._random.random() < 0.8:
                made[argument.name] = self._like(results[place])
            else:
                dtype = results[place].dtype if place < len(results) else self._dtype
                made[argument.name] = aten.empty(0, dtype=dtype)
        return made

    def _like(self, result: Any) -> Any:
        window = self._window(list(result.shape), result.dtype)
        return window.fill_(1) if window.numel() else window

    # Tensors

    def _tensor(self, shape: list[int], kind: str, argument: Any) -> Any:
        is_written = argument is None or argument.name in self._written
        dtype, values = self._elements(shape, kind)
        window = self._window(shape, dtype)
        if values.size:
            window.copy_(aten.from_numpy(values))
        if is_written or not shape or self._random.random() < 0.85:
            return window
        axis = self._random.randrange(len(shape))
        return window.narrow(axis, 0, min(shape[axis], 1)).expand(shape)

    def _elements(self, shape: list[int], kind: str) -> tuple[Any, Any]:
        """A dtype, and values that it holds."""
        draw = self._draw
        if kind == "i":
            return aten.int64, draw.integers(0, self._least, shape)
        if kind == "p":
            return aten.int32, numpy.broadcast_to(numpy.arange(1, 1 + shape[-1]), shape).copy()
        if kind in ("z", "o"):
            return aten.int64, numpy.full(shape, int(kind == "o"))
        if kind == "a":
            return aten.int64, numpy.arange(math.prod(shape)).reshape(shape)
        if kind == "b":
            return aten.bool, numpy.asarray(draw.random(shape) < 0.5)
        if kind == "u":
            return self._real(), numpy.asarray(draw.random(shape))
        if kind == "r":
            return self._real(), numpy.sort(draw.uniform(-3, 3, shape), -1)
        if kind == "s":
            return self._dtype, numpy.asarray(1.0 - 2 * (draw.random(shape) < 0.5))
        if kind == "d":
            return self._dtype, _definite(draw.uniform(-1, 1, shape))
        dtype = self._real() if kind == "f" else self._dtype
        if not kind and self._random.random() < 0.05:
            dtype = DTYPES_BY_NAME[_dtype(self._random)]
        return dtype, self._ordinary(shape, dtype)

    def _real(self) -> Any:
        return aten.empty(0, dtype=self._dtype).real.dtype

    def _ordinary(self, shape: list[int], dtype: Any) -> Any:
        draw = self._draw
        if dtype == aten.bool:
            return numpy.asarray(draw.random(shape) < 0.5)
        if not dtype.is_floating_point and not dtype.is_complex:
            least = 0 if self._values != "general" or not dtype.is_signed else -4
            return draw.integers(least, 5, shape)
        if self._values == "unit":
            return numpy.asarray(draw.random(shape))
        if self._values == "small":
            return draw.integers(0, 4, shape).astype("float64")
        values = numpy.asarray(draw.uniform(-3, 3, shape))
        if self._random.random() < 0.1:
            rare = draw.random(shape) < 0.05
            values[rare] = self._random.choice((math.nan, math.inf, -math.inf, 1e30, 0.0))
        if dtype.is_complex:
            return numpy.asarray(values + 1j * draw.uniform(-3, 3, shape))
        return values

    def _window(self, shape: list[int], dtype: Any) -> Any:
        """A view with odd steps and an odd offset, on memory that ends where it ends."""
        order = list(range(len(shape)))
        layout = self._random.choice(("dense", "dense", "permuted", "stepped", "rows"))
        if layout == "permuted":
            self._random.shuffle(order)
        step = self._random.choice((2, 3)) if layout == "stepped" else 1
        strides = [0] * len(shape)
        for place, axis in enumerate(reversed(order)):
            strides[axis] = step
            step *= max(shape[axis], 1)
            if layout == "rows" and place == 0:
                step += self._random.randint(1, 5)
        offset = self._random.choice((0, 0, 1, 3, 5, 7))
        reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        count = offset + reach + 1 if 0 not in shape else offset
        held = aten.empty(count, dtype=dtype)
        if not self._has_gaps and count:
            held.fill_(1)
        return held.as_strided(shape, strides, offset)


def _definite(values: Any) -> Any:
    if values.ndim < 2:
        return values
    side = values.shape[-1]
    return values @ numpy.swapaxes(values, -1, -2) + side * numpy.eye(values.shape[-2])


def _tensors(values: Any) -> list[Any]:
    if isinstance(values, aten.Tensor):
        return [values]
    if isinstance(values, (list, tuple)):
        return [one for value in values for one in _tensors(value)]
    return []
