"""The transformer of Vaswani et al., Attention Is All You Need (2017), and its layers."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.nn import functional, init
from aten.nn.modules.attention import MultiheadAttention
from aten.nn.modules.containers import ModuleList
from aten.nn.modules.dropout import Dropout
from aten.nn.modules.linear import Linear
from aten.nn.modules.module import Module
from aten.nn.modules.normalization import LayerNorm
from aten.registry import ops

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
}


def _activation(given: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        raise RuntimeError(f"activation must be relu or gelu, got {given!r}")
    return _ACTIVATIONS[given]


class _Layer(Module):
    """Attentions and two products, each added to its input, normed after the sum or before."""

    def __init__(
        self,
        attentions: tuple[str, ...],
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        for name in attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **made
            )
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        parts = range(1, len(attentions) + 2)
        for number in parts:
            self.add_module(f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **made))
        for number in parts:
            self.add_module(f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(
        self,
        attention: MultiheadAttention,
        rows: Tensor,
        others: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        causal: bool,
    ) -> Tensor:
        found = attention(
            rows,
            others,
            others,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=causal,
            need_weights=False,
        )
        return found[0]  # type: ignore[no-any-return]

    def _feed_forward(self, rows: Tensor) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(rows))))

    def _through(self, rows: Tensor, parts: list[Callable[[Tensor], Tensor]]) -> Tensor:
        for number, part in enumerate(parts, 1):
            norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
            if self.norm_first:
                rows = rows + dropout(part(norm(rows)))
            else:
                rows = norm(rows + dropout(part(rows)))
        return rows


class TransformerEncoderLayer(_Layer):
    """(S, N, d_model) to the same: attention to itself, then two products."""

    self_attn: MultiheadAttention

    def __init__(self, d_model: int, nhead: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(("self_attn",), d_model, nhead, *args, **kwargs)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(rows: Tensor) -> Tensor:
            return self._attend(
                self.self_attn, rows, rows, src_mask, src_key_padding_mask, is_causal
            )

        return self._through(src, [attend, self._feed_forward])


class TransformerDecoderLayer(_Layer):
    """(T, N, d_model) to the same: attention to itself, to a memory, then two products."""

    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

    def __init__(self, d_model: int, nhead: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(("self_attn", "multihead_attn"), d_model, nhead, *args, **kwargs)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(rows: Tensor) -> Tensor:
            masks = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            return self._attend(self.self_attn, rows, rows, *masks)

        def remember(rows: Tensor) -> Tensor:
            masks = (memory_mask, memory_key_padding_mask, memory_is_causal)
            return self._attend(self.multihead_attn, rows, memory, *masks)

        return self._through(tgt, [attend, remember, self._feed_forward])


class _Stack(Module):
    """Copies of a layer one after another, and a norm at the end."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _run(self, rows: Tensor, *memory: Tensor, **masks: Any) -> Tensor:
        for layer in self.layers:
            rows = layer(rows, *memory, **masks)
        return rows if self.norm is None else self.norm(rows)


class TransformerEncoder(_Stack):
    """Encoder layers one after another, all copies of `encoder_layer`.

    `enable_nested_tensor` and `mask_check` are taken and change nothing: padding is masked.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        return self._run(
            src,
            src_mask=mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=bool(is_causal),
        )


class TransformerDecoder(_Stack):
    """Decoder layers one after another, all copies of `decoder_layer`."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        return self._run(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=bool(tgt_is_causal),
            memory_is_causal=memory_is_causal,
        )


class Transformer(Module):
    """An encoder over src (S, N, d_model), and a decoder over tgt (T, N, d_model) and what it gave.

    Raises RuntimeError for widths and batches that do not agree.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        more = (batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **made)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer: Module = TransformerEncoderLayer(*shape, *more, **made)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*shape, *more, **made)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for one in self.parameters():
            if one.dim() > 1:
                init.xavier_uniform_(one)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        place = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(place) != tgt.size(place):
            raise RuntimeError(
                f"Transformer: src has a batch of {src.size(place)}, tgt one of {tgt.size(place)}"
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"Transformer: src and tgt must be {self.d_model} wide, got {src.size(-1)} and "
                f"{tgt.size(-1)}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz), -inf where a later place would be seen, else 0."""
        full = ops.aten.full((sz, sz), -float("inf"), device=device, dtype=dtype)
        return full.triu(1)
