"""Layers, activations and losses as functions, with the signatures users of torch know.

A function here checks and completes its arguments and calls operators; it computes nothing. Where
an operator of the same name takes the very same arguments, it is the function itself.
"""

from __future__ import annotations

from aten._core.dispatcher import OpOverloadPacket
from aten.nn.functional.activation import (
    celu,
    elu,
    glu,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from aten.nn.functional.classification import (
    cross_entropy,
    linear_cross_entropy,
    multi_margin_loss,
    multilabel_margin_loss,
    nll_loss,
)
from aten.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from aten.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from aten.registry import find_packet

# Operators that are functions of this namespace as they are.
_OPERATORS = frozenset(
    {
        "bilinear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "cosine_similarity",
        "gelu",
        "hardshrink",
        "linear",
        "logsigmoid",
        "pairwise_distance",
        "prelu",
        "scaled_dot_product_attention",
        "softplus",
        "softshrink",
    }
)
_RENAMED = {"logsigmoid": "log_sigmoid"}

__all__ = [
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "elu",
    "gaussian_nll_loss",
    "glu",
    "group_norm",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear_cross_entropy",
    "local_response_norm",
    "margin_ranking_loss",
    "mish",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "poisson_nll_loss",
    "relu",
    "relu6",
    "rms_norm",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def __getattr__(name: str) -> OpOverloadPacket:
    found = find_packet("aten", _RENAMED.get(name, name)) if name in _OPERATORS else None
    if found is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_OPERATORS})
