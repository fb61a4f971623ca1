"""What a tensor says of itself, as operators, and conversions that have names of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, can_cast, dtype, promote_types
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops

_NAMED_TYPES = {
    "_cast_Byte": "uint8",
    "_cast_Char": "int8",
    "_cast_Double": "float64",
    "_cast_Float": "float32",
    "_cast_Half": "float16",
    "_cast_Int": "int32",
    "_cast_Long": "int64",
    "_cast_Short": "int16",
}


def _told(name: str, self: Tensor, arguments: Any, keywords: Any) -> Any:
    found = getattr(self, name)
    return found(*arguments, **keywords) if callable(found) else found


@op
def told_by_tensor(called: OpOverload, self: Tensor, *arguments: Any, **keywords: Any) -> Any:
    """The tensor's own attribute or method of this name, without "sym_"."""
    return _told(called.name.removeprefix("sym_"), self, arguments, keywords)


@op
def told_by_device(called: OpOverload, self: Tensor, *arguments: Any, **keywords: Any) -> Any:
    """As `told_by_tensor`, where torch asks the device."""
    return _told(called.name, self, arguments, keywords)


@op
def told_by_types(called: OpOverload, *arguments: Any) -> Any:
    """What types have in common, or whether one holds the other, by the function of this name."""
    known: dict[str, Callable[..., Any]] = {
        "result_type": result_type,
        "can_cast": can_cast,
        "promote_types": promote_types,
    }
    return known[called.name](*arguments)


@op
def absent(called: OpOverload, *arguments: Any) -> bool:
    """What there is none of here: zero tensors, other devices, other libraries."""
    return False


@op
def cast_to_named_type(called: OpOverload, self: Tensor, non_blocking: bool = False) -> Tensor:
    return self.to(DTYPES[_NAMED_TYPES[called.name]], non_blocking)


@op
def chalf(self: Tensor, *, memory_format: Any = None) -> Tensor:
    return self.to(DTYPES["complex32"], memory_format=memory_format)


@op
def dequantize(self: Tensor) -> Tensor:
    """Tensors without a quantized type are numbers already: in float32."""
    return self.to(DTYPES["float32"])


@op
def _shape_as_tensor(self: Tensor) -> Tensor:
    made: Tensor = ops.aten.empty((self.dim(),), dtype=DTYPES["int64"])
    for place, size in enumerate(self.shape):
        made[place] = size
    return made


@op
def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """0, 1, … for each place of a dimension."""
    return ops.aten.arange(like.size(dim), dtype=DTYPES["int64"], device=like.device)


@op
def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
    if shape.dim() != 1:
        raise RuntimeError(f"_reshape_from_tensor: shape must be 1-d, but is {shape.dim()}-d")
    return self.reshape([int(size) for size in shape.tolist()])


@op
def _to_cpu(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(one.cpu() for one in tensors)


@op
def _lazy_clone(self: Tensor) -> Tensor:
    """A copy whose elements are shared until one of the two is written to."""
    return self.clone()


@op
def flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements one after another."""
    return ops.aten.cat([one.contiguous().view(-1) for one in tensors])


@op
def unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Pieces of `flat` with the sizes of `tensors`, one after another."""
    pieces, place = [], 0
    for one in tensors:
        count = one.numel()
        pieces.append(flat.narrow(0, place, count).view(one.shape))
        place += count
    return tuple(pieces)


@op
def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences as rows of one tensor, filled up on one side to the longest.

    Raises RuntimeError for no sequences, sizes that differ beyond the first, and other sides.
    """
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"pad_sequence: padding_side must be 'left' or 'right', but is {padding_side!r}"
        )
    first, behind = sequences[0], sequences[0].shape[1:]
    longest = max(one.size(0) for one in sequences)
    leading = (len(sequences), longest) if batch_first else (longest, len(sequences))
    out: Tensor = ops.aten.full(
        (*leading, *behind), padding_value, dtype=first.dtype, device=first.device
    )
    for place, one in enumerate(sequences):
        start = 0 if padding_side == "right" else longest - one.size(0)
        row = out.select(0 if batch_first else 1, place)
        row.narrow(0, start, one.size(0)).copy_(one)
    return out


@op
def same_as(called: OpOverload, *arguments: Any) -> Any:
    """What another operator does under another name."""
    others = {
        "_logcumsumexp": ops.aten.logcumsumexp.default,
        "_stack": ops.aten.stack.default,
        "_unsafe_view": ops.aten.view.default,
        "_cholesky_solve_helper": ops.aten.cholesky_solve.default,
    }
    return others[called.name](*arguments)


@op
def linalg_matmul(self: Tensor, other: Tensor) -> Tensor:
    return ops.aten.matmul(self, other)


@op
def _reshape_alias_copy(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    return self.as_strided(size, stride).clone()


@op
def running_extreme_helper(
    called: OpOverload, self: Tensor, values: Tensor, indices: Tensor, dim: int
) -> None:
    """Running extremes and their places, written to `values` and `indices` of the same sizes.

    Raises RuntimeError for other sizes.
    """
    for name, given in (("values", values), ("indices", indices)):
        if given.shape != self.shape:
            raise RuntimeError(
                f"{called.name}: {name} must have the sizes of self, {list(self.shape)}, "
                f"but it has {list(given.shape)}"
            )
    scan = {"_cummax_helper": ops.aten.cummax, "_cummin_helper": ops.aten.cummin}[called.name]
    scan.out(self, dim, values=values, indices=indices)


@op
def least_and_largest(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return tuple(ops.aten.aminmax(self, dim=dim, keepdim=keepdim))


@op
def to_dense(self: Tensor, dtype: dtype | None = None, masked_grad: bool | None = None) -> Tensor:
    """Tensors that are dense already: themselves, in the type asked for."""
    return self if dtype is None else self.to(dtype)


@op
def slice_inverse(
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """What of `self` lies where `src` lies in its own memory."""
    return self.as_strided(src.shape, src.stride(), src.storage_offset())


@op
def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of matrices of int8, in int32.

    Raises RuntimeError for other types, and for what are no matrices that fit.
    """
    if self.dtype.name != "int8" or mat2.dtype.name != "int8":
        raise RuntimeError(f"_int_mm: expected int8, but got {self.dtype} and {mat2.dtype}")
    if self.dim() != 2 or mat2.dim() != 2 or self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"_int_mm: cannot multiply {list(self.shape)} and {list(mat2.shape)} as matrices"
        )
    wide = DTYPES["int32"]
    return ops.aten.mm(self.to(wide), mat2.to(wide))


@op
def _compute_linear_combination(input: Tensor, coefficients: Tensor) -> Tensor:
    """Sums of `input[0]`, `input[1]`, … weighed by each row of `coefficients`."""
    if input.dim() == 0 or coefficients.dim() != 2 or coefficients.size(1) != input.size(0):
        raise RuntimeError(
            f"_compute_linear_combination: coefficients of {list(coefficients.shape)} do not fit "
            f"{list(input.shape)}"
        )
    return ops.aten.tensordot(coefficients, input, [1], [0])
