"""Primitives that fold dimensions into one value. `dims` are sorted, not negative, and dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten.prims.prim import Prim, Shape


def _same(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0]


def _index(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return DTYPES["int64"]


def reduced_shape(shapes: Sequence[Shape], params: dict[str, Any]) -> Shape:
    """The shape without the reduced dimensions."""
    return tuple(size for dim, size in enumerate(shapes[0]) if dim not in params["dims"])


def _reference(name: str) -> Callable[..., Any]:
    def call(array: Any, *, dims: Shape) -> Any:
        import numpy

        return getattr(numpy, name)(array, axis=tuple(dims)).astype(array.dtype)

    return call


def _argument_reference(name: str) -> Callable[..., Any]:
    def call(array: Any, *, dims: Shape) -> Any:
        import numpy

        kept = [dim for dim in range(array.ndim) if dim not in dims]
        rows = array.transpose(*kept, *dims).reshape(*(array.shape[dim] for dim in kept), -1)
        return getattr(numpy, name)(rows, axis=-1).astype(numpy.int64)

    return call


def _numpy_xor(array: Any, *, dims: Shape) -> Any:
    import numpy

    return numpy.bitwise_xor.reduce(array, axis=tuple(dims))


def reduction(
    name: str,
    reference: Callable[..., Any],
    *,
    result: Callable[[Sequence[dtype], dict[str, Any]], dtype] = _same,
    doc: str = "",
) -> Prim:
    """Define a reduction primitive."""
    return Prim(
        name,
        schema=f"{name}(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor",
        kind="reduction",
        result_type=result,
        result_shape=reduced_shape,
        reference=reference,
        doc=doc,
    )


def _extreme_reference(name: str, highest: bool) -> Callable[..., Any]:
    """NumPy's function; of no elements the number that is the least, or the greatest, there is."""

    def call(array: Any, *, dims: Shape) -> Any:
        import numpy

        if 0 not in array.shape:
            return getattr(numpy, name)(array, axis=tuple(dims))
        kind = array.dtype.kind
        if kind == "b":
            limit: Any = highest
        elif kind in "iu":
            information = numpy.iinfo(array.dtype)
            limit = information.max if highest else information.min
        else:
            limit = numpy.inf if highest else -numpy.inf
        return getattr(numpy, name)(array, axis=tuple(dims), initial=limit)

    return call


sum = reduction("sum", _reference("sum"))
prod = reduction("prod", _reference("prod"))
amax = reduction("amax", _extreme_reference("max", False), doc="NaN if any element is.")
amin = reduction("amin", _extreme_reference("min", True), doc="NaN if any element is.")
xor = reduction(
    "xor",
    _numpy_xor,
    doc="Bits that are set in an odd number of elements.",
)
argmax = reduction(
    "argmax",
    _argument_reference("argmax"),
    result=_index,
    doc="The row-major position of the first largest element; a NaN is largest.",
)
argmin = reduction(
    "argmin",
    _argument_reference("argmin"),
    result=_index,
    doc="The row-major position of the first smallest element; a NaN is smallest.",
)


def _extent_reference(array: Any, *, dims: Shape, dtype: dtype) -> Any:
    import numpy

    from aten._core.base.numpy_types import numpy_dtype

    count = 1
    for dim in dims:
        count *= array.shape[dim]
    return numpy.array(count, numpy_dtype(dtype))


extent = Prim(
    "extent",
    schema="extent(Tensor inp, int[] dims, *, ScalarType dtype) -> Tensor",
    kind="reduction",
    result_type=lambda types, params: params["dtype"],
    result_shape=lambda shapes, params: (),
    reference=_extent_reference,
    doc="How many elements the reduced dimensions hold, as a 0-d value of `dtype`: sizes are known "
    "only when a kernel runs.",
)


def _position_reference(array: Any, *, dims: Shape) -> Any:
    import numpy

    extents = [array.shape[dim] if dim in dims else 1 for dim in range(array.ndim)]
    count = 1
    for size in extents:
        count *= size
    return numpy.broadcast_to(numpy.arange(count).reshape(extents), array.shape)


position = Prim(
    "position",
    schema="position(Tensor inp, int[] dims) -> Tensor",
    kind="elementwise",
    result_type=_index,
    result_shape=lambda shapes, params: shapes[0],
    reference=_position_reference,
    doc="Each element's row-major position among the dimensions `dims`.",
)
