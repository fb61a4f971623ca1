"""Attention of several heads as a layer."""

from __future__ import annotations

from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.nn import functional, init
from aten.nn.modules.linear import NonDynamicallyQuantizableLinear
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """query (L, N, E), key (S, N, kdim) and value (S, N, vdim), or without N; N first with
    `batch_first`. Gives what is attended to, (L, N, E), and weights (N, L, S) or None.

    Vaswani et al., Attention Is All You Need (2017), section 3.2.2. Raises ValueError for sizes
    below 1, AssertionError where heads do not divide the width.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"MultiheadAttention: embed_dim and num_heads must be at least 1, got "
                f"{embed_dim} and {num_heads}"
            )
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"MultiheadAttention: embed_dim {embed_dim} does not make {num_heads} heads"
            )
        made = {"device": device, "dtype": dtype}
        sizes: dict[str, tuple[int, ...]]
        if self._qkv_same_embed_dim:
            sizes = {"in_proj_weight": (3 * embed_dim, embed_dim)}
        else:
            sizes = {
                "q_proj_weight": (embed_dim, embed_dim),
                "k_proj_weight": (embed_dim, self.kdim),
                "v_proj_weight": (embed_dim, self.vdim),
            }
        if bias:
            sizes["in_proj_bias"] = (3 * embed_dim,)
        everything = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_weight")
        for name in (*everything, "in_proj_bias"):
            one = Parameter(ops.aten.empty(sizes[name], **made)) if name in sizes else None
            self.register_parameter(name, one)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **made)
        for name in ("bias_k", "bias_v"):
            extra = Parameter(ops.aten.empty((1, 1, embed_dim), **made)) if add_bias_kv else None
            self.register_parameter(name, extra)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for one in (self.bias_k, self.bias_v):
            if one is not None:
                init.xavier_normal_(one)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        turned = self.batch_first and query.dim() == 3
        if turned:
            # The same operand stays one, so that its three projections are one product.
            seen = {id(one): one.transpose(0, 1) for one in (query, key, value)}
            query, key, value = (seen[id(one)] for one in (query, key, value))
        result, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (result.transpose(0, 1) if turned else result), weights
