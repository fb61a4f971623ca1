"""Models with random weights, each at its true size and as small as its layers allow.

What transformers defines is taken from there, the others are in `networks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Inputs = tuple[Any, ...]


@dataclass(frozen=True)
class Architecture:
    """How a model is made at a size, "true" or "small".

    Attributes:
        build: gives the model, which returns a tensor or a tuple of them.
        inputs: gives the arguments for a batch.
        dynamic: for each argument the names of its dimensions that may be of any size.
        relates: whether what sizes may be is for torch to find out.
        batches: batches that one dynamic program must serve; of a detector, sizes of an image.
    """

    build: Callable[[str], nn.Module]
    inputs: Callable[[str, int], Inputs]
    dynamic: tuple[dict[int, str], ...]
    batches: tuple[int, int] = (2, 3)
    relates: bool = False


class Result(nn.Module):
    """A model of transformers of whose results one is returned."""

    def __init__(self, model: nn.Module, result: str) -> None:
        super().__init__()
        self.model = model
        self.result = result

    def forward(self, given: Tensor) -> Tensor:
        return getattr(self.model(given), self.result)


class WithCache(nn.Module):
    """A language model that is given what earlier tokens left, two tensors a layer, and gives this
    with what the new tokens leave. Without any, the tokens are the first ones."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, past: Sequence[Tensor] = ()) -> tuple[Tensor, ...]:
        from transformers import DynamicCache

        for one in past:
            torch._check(one.shape[2] == past[0].shape[2])
        pairs = list(zip(past[::2], past[1::2], strict=True))
        cache = DynamicCache(pairs, config=self.model.config)
        made = self.model(tokens, past_key_values=cache, use_cache=True)
        kept = [one for layer in cache.layers for one in (layer.keys, layer.values)]
        return made.logits, *kept


def _transformers(
    name: str, config: str, result: str, small: dict[str, Any], **settings: Any
) -> Callable[[str], nn.Module]:
    def build(scale: str) -> nn.Module:
        import transformers

        made = getattr(transformers, config)(**settings | (small if scale == "small" else {}))
        return Result(getattr(transformers, name)(made), result)

    return build


def _vision(name: str, small: dict[str, Any], **settings: Any) -> Architecture:
    build = _transformers(
        f"{name}ForImageClassification",
        f"{name}Config",
        "logits",
        small={**small, "num_labels": 5},
        **settings,
    )
    return Architecture(build, _images(small.get("image_size", 64)), ({0: "batch"},))


def _images(small: int, true: int = 224) -> Callable[[str, int], Inputs]:
    def inputs(scale: str, batch: int) -> Inputs:
        size = small if scale == "small" else true
        return (torch.randn(batch, 3, size, size),)

    return inputs


def _tokens(*counts: int, small: int = 7, words: int = 90) -> Callable[[str, int], Inputs]:
    """Arguments of tokens, one for each of the counts."""

    def inputs(scale: str, batch: int) -> Inputs:
        return tuple(
            torch.randint(3, words, (batch, small if scale == "small" else count))
            for count in counts
        )

    return inputs


def _language(
    name: str, config: str, result: str, tokens: int, small: dict[str, Any], **settings: Any
) -> Architecture:
    settings["attn_implementation"] = "sdpa"
    build = _transformers(name, config, result, small=small, **settings)
    return Architecture(build, _tokens(tokens), ({0: "batch"},))


def _t5(scale: str) -> nn.Module:
    import transformers

    small = {"d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4}
    config = transformers.T5Config(
        use_cache=False, **({**small, "vocab_size": 96} if scale == "small" else {})
    )
    return Decoded(transformers.T5ForConditionalGeneration(config), "input_ids")


class Decoded(nn.Module):
    """A model with an encoder and a decoder, of which the logits are returned."""

    def __init__(self, model: nn.Module, source: str, result: str = "logits") -> None:
        super().__init__()
        self.model = model
        self.source = source
        self.result = result

    def forward(self, source: Tensor, tokens: Tensor) -> Tensor:
        given = {self.source: source, "decoder_input_ids": tokens, "use_cache": False}
        return getattr(self.model(**given), self.result)


def _whisper(scale: str) -> nn.Module:
    import transformers

    sizes: dict[str, Any] = {"d_model": 384, "encoder_layers": 4, "decoder_layers": 4}
    sizes |= {"encoder_attention_heads": 6, "decoder_attention_heads": 6}
    sizes |= {"encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536}
    if scale == "small":
        sizes = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 96}
        sizes |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        sizes |= {"encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_source_positions": 20}
        sizes |= {"num_mel_bins": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
        sizes |= {"decoder_start_token_id": 1}
    config = transformers.WhisperConfig(attn_implementation="sdpa", **sizes)
    return Decoded(transformers.WhisperForConditionalGeneration(config), "input_features")


def _sound(scale: str, batch: int) -> Inputs:
    bins, frames, tokens = (8, 40, 5) if scale == "small" else (80, 3000, 4)
    return torch.randn(batch, bins, frames), torch.randint(3, 90, (batch, tokens))


def _clip_vision(scale: str) -> nn.Module:
    import transformers

    small = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    small |= {"num_attention_heads": 2, "image_size": 32, "patch_size": 16, "projection_dim": 8}
    # ViT-B/16, as in CLIP.
    true = {"patch_size": 16}
    config = transformers.CLIPVisionConfig(
        attn_implementation="sdpa", **(small if scale == "small" else true)
    )
    return Result(transformers.CLIPVisionModelWithProjection(config), "image_embeds")


def _efficient_net(scale: str) -> nn.Module:
    import transformers

    sizes = {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280}
    if scale == "small":
        sizes = {"width_coefficient": 0.25, "depth_coefficient": 0.4, "hidden_dim": 320}
        sizes |= {"num_labels": 5}
    model = transformers.EfficientNetForImageClassification(
        transformers.EfficientNetConfig(**sizes)
    )
    # The mean over a plane, which is here that of a window larger than it: OpenVINO refuses that.
    model.efficientnet.pooler = nn.AdaptiveAvgPool2d(1)
    return Result(model, "logits")


_LLAMA = {
    "true": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "num_key_value_heads": 12,
        "vocab_size": 32000,
    },
    "small": {
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 96,
    },
}


def _llama(scale: str) -> nn.Module:
    import transformers

    config = transformers.LlamaConfig(attn_implementation="sdpa", **_LLAMA[scale])
    return WithCache(transformers.LlamaForCausalLM(config))


def _decoding(scale: str, batch: int) -> Inputs:
    sizes = _LLAMA[scale]
    heads = sizes["num_key_value_heads"]
    width = sizes["hidden_size"] // sizes["num_attention_heads"]
    kept = 6 if scale == "small" else 128
    layers = sizes["num_hidden_layers"]
    past = [torch.randn(batch, heads, kept, width) for _ in range(2 * layers)]
    return torch.randint(3, 90, (batch, 1)), past


def _detected(scale: str, size: int) -> Inputs:
    """`size` is the image's, in steps of 16 pixels, or of 128: then cells are more than boxes."""
    step = 16 if scale == "small" else 128
    return (torch.randn(3, step * size, step * size + 32),)


def _plain(name: str, small: dict[str, Any], **true: Any) -> Callable[[str], nn.Module]:
    def build(scale: str) -> nn.Module:
        import networks

        return getattr(networks, name)(**(small if scale == "small" else true))

    return build


def _recommended(scale: str, batch: int) -> Inputs:
    tables, rows, bag = (3, 10, 2) if scale == "small" else (26, 20000, 1)
    batch = batch if scale == "small" else 128 * batch
    return torch.randn(batch, 13), torch.randint(0, rows, (batch, tables, bag))


_BERT = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 96,
}
_VIT = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 16,
}
_RESNET = {"depths": [1, 1], "hidden_sizes": [8, 16], "embedding_size": 8}
_BATCH = ({0: "batch"},)
ARCHITECTURES: dict[str, Architecture] = {
    "ResNet-18": _vision(
        "ResNet",
        {**_RESNET, "layer_type": "basic"},
        depths=[2, 2, 2, 2],
        hidden_sizes=[64, 128, 256, 512],
        layer_type="basic",
    ),
    "ResNet-50": _vision("ResNet", {**_RESNET, "layer_type": "bottleneck"}),
    "MobileNet-v2": _vision("MobileNetV2", {"depth_multiplier": 0.25, "min_depth": 4}),
    "MobileNet-v3": Architecture(
        _plain("MobileNetV3", {"divisor": 4, "blocks": 6}), _images(32), _BATCH
    ),
    "EfficientNet-B0": Architecture(_efficient_net, _images(64), _BATCH),
    "ConvNeXt-T": _vision("ConvNext", {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 8, 16, 16]}),
    "ViT-B/16": _vision("ViT", _VIT),
    "Swin-T": _vision(
        "Swin",
        {
            "embed_dim": 8,
            "depths": [2, 2],
            "num_heads": [2, 4],
            "window_size": 4,
            "image_size": 64,
        },
    ),
    "CLIP image": Architecture(_clip_vision, _images(32), _BATCH),
    "CLIP text, 77 tokens": _language(
        "CLIPTextModelWithProjection",
        "CLIPTextConfig",
        "text_embeds",
        77,
        {**_BERT, "projection_dim": 8, "eos_token_id": 2, "bos_token_id": 1},
    ),
    "BERT-base, 128 tokens": _language("BertModel", "BertConfig", "last_hidden_state", 128, _BERT),
    "DistilBERT, 128 tokens": _language(
        "DistilBertModel",
        "DistilBertConfig",
        "last_hidden_state",
        128,
        {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2, "vocab_size": 96},
    ),
    "GPT-2, 64 tokens": _language(
        "GPT2LMHeadModel",
        "GPT2Config",
        "logits",
        64,
        {
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 2,
            "vocab_size": 96,
            "n_positions": 32,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        use_cache=False,
    ),
    "Llama 160M, 64 tokens": Architecture(_llama, _tokens(64), _BATCH),
    "Llama 160M, 1 token after 128": Architecture(
        _llama, _decoding, ({0: "batch"}, {0: "batch", 2: "kept"}), relates=True
    ),
    "T5-small": Architecture(_t5, _tokens(64, 16), ({0: "batch"},) * 2),
    "Whisper-tiny": Architecture(_whisper, _sound, ({0: "batch"},) * 2),
    "UNet": Architecture(_plain("UNet", {"width": 4, "levels": 2}), _images(16, 256), _BATCH),
    "LSTM language model, 64 words": Architecture(
        _plain("LanguageLSTM", {"words": 96, "width": 16}), _tokens(64), _BATCH
    ),
    "DLRM": Architecture(
        _plain("DLRM", {"tables": 3, "rows": 10, "width": 4, "hidden": 8}),
        _recommended,
        ({0: "batch"},) * 2,
    ),
    "Detector": Architecture(
        _plain("Detector", {"width": 4, "best": 9}),
        _detected,
        ({1: "rows", 2: "columns"},),
        (3, 5),
        relates=True,
    ),
}


def built(name: str, scale: str) -> nn.Module:
    """The model, the same for every process, ready for inference."""
    torch.manual_seed(0)
    model = ARCHITECTURES[name].build(scale).eval()
    for one in model.modules():
        if isinstance(one, nn.BatchNorm2d):
            nn.init.uniform_(one.running_var, 0.5, 1.5)
            nn.init.normal_(one.running_mean, 0, 0.1)
    return model


def exported(name: str, scale: str, dynamic: bool = True) -> torch.export.ExportedProgram:
    """The program that torch makes of a model, with dynamic sizes if wanted."""
    architecture = ARCHITECTURES[name]
    batch = architecture.batches[0] if dynamic or scale == "small" else 1
    return torch.export.export(
        built(name, scale),
        given(name, scale, batch),
        dynamic_shapes=dimensions(name) if dynamic else None,
    )


def given(name: str, scale: str, batch: int) -> Inputs:
    """Arguments for a batch, the same for every process."""
    torch.manual_seed(batch)
    return ARCHITECTURES[name].inputs(scale, batch)


def dimensions(name: str) -> Any:
    """What is dynamic, nested as the arguments are."""
    architecture = ARCHITECTURES[name]
    example = architecture.inputs("small", 2)
    places = []
    for one, named in zip(example, architecture.dynamic, strict=True):
        sizes = {
            dim: torch.export.Dim.DYNAMIC if architecture.relates else torch.export.Dim(symbol)
            for dim, symbol in named.items()
        }
        places.append([sizes] * len(one) if isinstance(one, list) else sizes)
    return tuple(places)
