"""Functions whose arguments are freer than one schema says: any number of tensors, or two kinds."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.annotating import overload
from aten._core.base.sizes import Size
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "meshgrid",
    "split",
]


def _listed(tensors: tuple[Any, ...]) -> Sequence[Tensor]:
    """The tensors given one by one, or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        return tensors[0]
    return tensors


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of the tensors with their common shape. Raises RuntimeError where there is none.

    Example:

        >>> aten.broadcast_tensors(aten.tensor([1, 2]), aten.tensor([[3], [4]]))[0]
        tensor([[1, 2],
                [1, 2]])
    """
    return ops.aten.broadcast_tensors(_listed(tensors))


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The common shape; a number is the shape of a vector.

    Raises RuntimeError where sizes differ and neither is 1, ValueError for negative sizes,
    TypeError for what is no shape.

    Example:

        >>> aten.broadcast_shapes((3, 1), (4,))
        aten.Size([3, 4])
    """
    common: list[int] = []
    for given in shapes:
        shape = [given] if isinstance(given, int) else [_size(size) for size in given]
        if any(size < 0 for size in shape):
            raise ValueError(f"broadcast_shapes: sizes must not be negative, got {shape}")
        common = [1] * (len(shape) - len(common)) + common
        shape = [1] * (len(common) - len(shape)) + shape
        for dim, size in enumerate(shape):
            if 1 != size != common[dim] != 1:
                raise RuntimeError(
                    f"broadcast_shapes: {list(given) if not isinstance(given, int) else given} "
                    f"does not broadcast with {common}"
                )
            common[dim] = size if common[dim] == 1 else common[dim]
    return Size(common)


def _size(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"broadcast_shapes: sizes must be integers, not {type(value).__name__}")
    return value


def meshgrid(
    *tensors: Tensor | Sequence[Tensor], indexing: str | None = None
) -> tuple[Tensor, ...]:
    """The vectors' elements at each point of their grid, as views.

    With indexing "ij", the default, dimension i of the grid is vector i's; with "xy" the first two
    change places. Raises RuntimeError for dtypes that differ and for tensors that are no vectors.

    Example:

        >>> aten.meshgrid(aten.tensor([1, 2]), aten.tensor([3, 4]), indexing="ij")[0]
        tensor([[1, 1],
                [2, 2]])
    """
    return ops.aten.meshgrid.indexing(
        _listed(tensors), indexing="ij" if indexing is None else indexing
    )


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples of the vectors' elements, as rows.

    Example:

        >>> aten.cartesian_prod(aten.tensor([1, 2]), aten.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    return ops.aten.cartesian_prod(_listed(tensors))


def block_diag(*tensors: Tensor) -> Tensor:
    """Zeros with the matrices along the diagonal; vectors are rows, numbers 1 × 1.

    Example:

        >>> aten.block_diag(aten.tensor([[1, 2]]), aten.tensor([[3]]))
        tensor([[1, 2, 0],
                [0, 0, 3]])
    """
    return ops.aten.block_diag(tensors)


@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]: ...
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensor with one dimension or more; of several, all of them.

    Example:

        >>> aten.atleast_1d(aten.tensor(5))
        tensor([5])
    """
    return _each("atleast_1d", tensors)


@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]: ...
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensor with two dimensions or more; of several, all of them.

    Example:

        >>> aten.atleast_2d(aten.tensor([1, 2]))
        tensor([[1, 2]])
    """
    return _each("atleast_2d", tensors)


@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]: ...
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """The tensor with three dimensions or more; of several, all of them.

    Example:

        >>> aten.atleast_3d(aten.tensor([1, 2])).shape
        aten.Size([1, 2, 1])
    """
    return _each("atleast_3d", tensors)


def _each(name: str, tensors: tuple[Any, ...]) -> Any:
    operator = getattr(ops.aten, name)
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return operator(tensors[0])
    return operator.Sequence(_listed(tensors))


def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Pieces of one size along `dim`, or of the sizes listed.

    Example:

        >>> aten.split(aten.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if isinstance(split_size_or_sections, int):
        return ops.aten.split.Tensor(tensor, split_size_or_sections, dim)
    return ops.aten.split_with_sizes(tensor, split_size_or_sections, dim)
