"""Rows by number."""

from __future__ import annotations

from typing import Any, Self

from aten._core.tensor.tensor import Tensor
from aten.grad_mode import no_grad
from aten.nn import functional, init
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = ["Embedding", "EmbeddingBag"]


class Embedding(Module):
    """Numbers (*) to rows (*, embedding_dim) of a table. The row `padding_idx` is not trained."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Embedding: padding_idx must be a row of the table")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        sizes = (num_embeddings, embedding_dim)
        if _weight is not None:
            if tuple(_weight.shape) != sizes:
                raise AssertionError(
                    f"Embedding: weight has shape {tuple(_weight.shape)}, expected {sizes}"
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)
            return
        table = ops.aten.empty(sizes, device=device, dtype=dtype)
        self.weight = Parameter(table, requires_grad=not _freeze)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw from the normal distribution; the row `padding_idx` is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Any:
        return functional.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, ordinary in (("padding_idx", None), ("max_norm", None), ("norm_type", 2)):
            if getattr(self, name) != ordinary:
                parts.append(f"{name}={getattr(self, name)}")
        for name in ("scale_grad_by_freq", "sparse"):
            if getattr(self, name):
                parts.append(f"{name}=True")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Self:
        """An embedding with a table (rows, columns) that is there."""
        if embeddings.dim() != 2:
            raise AssertionError(
                f"from_pretrained: expected a table of 2 dimensions, got {embeddings.dim()}"
            )
        rows, columns = embeddings.shape
        return cls(rows, columns, _weight=embeddings, _freeze=freeze, **settings)


class EmbeddingBag(Module):
    """Bags of numbers, the rows of (N, L) or runs of (L) from `offsets`, to sums, means or maxima
    of rows of a table, (N, embedding_dim). The row `padding_idx` counts for nothing."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("EmbeddingBag: padding_idx must be a row of the table")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.mode = max_norm, norm_type, mode
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.include_last_offset, self.padding_idx = include_last_offset, padding_idx
        sizes = (num_embeddings, embedding_dim)
        if _weight is not None:
            if tuple(_weight.shape) != sizes:
                raise AssertionError(
                    f"EmbeddingBag: weight has shape {tuple(_weight.shape)}, expected {sizes}"
                )
            self.weight = Parameter(_weight)
            return
        self.weight = Parameter(ops.aten.empty(sizes, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw from the normal distribution; the row `padding_idx` is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Any:
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, ordinary in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != ordinary:
                parts.append(f"{name}={getattr(self, name)}")
        parts.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Self:
        """Bags of the rows of a table (rows, columns) that is there."""
        if embeddings.dim() != 2:
            raise AssertionError(
                f"from_pretrained: expected a table of 2 dimensions, got {embeddings.dim()}"
            )
        rows, columns = embeddings.shape
        made = cls(rows, columns, _weight=embeddings, **settings)
        made.weight.requires_grad_(not freeze)
        return made
