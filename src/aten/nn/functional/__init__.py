"""Layers, activations and losses as functions, with the signatures users of torch know.

A function here checks and completes its arguments and calls operators; it computes nothing. Where
an operator takes the very same arguments, it is the function itself.
"""

from __future__ import annotations

import sys

from aten._core.base.namespaces import look_up_at_once
from aten._core.dispatch.functions import let_override
from aten._core.dispatch.packets import OpOverloadPacket
from aten.names.naming import show_as_own
from aten.names.refusals import refuse
from aten.nn.functional.activation import *
from aten.nn.functional.attention import *
from aten.nn.functional.classification import *
from aten.nn.functional.dropout import *
from aten.nn.functional.embedding import *
from aten.nn.functional.folding import *
from aten.nn.functional.loss import *
from aten.nn.functional.normalization import *
from aten.nn.functional.pooling import *
from aten.nn.functional.resampling import *
from aten.nn.functional.softmax import *
from aten.registry import find_packet

# Operators that are functions of this namespace as they are.
_OPERATORS = frozenset(
    {
        "adaptive_avg_pool1d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "bilinear",
        "channel_shuffle",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "cosine_similarity",
        "gelu",
        "hardshrink",
        "linear",
        "native_channel_shuffle",
        "logsigmoid",
        "pad",
        "pairwise_distance",
        "pdist",
        "pixel_shuffle",
        "pixel_unshuffle",
        "prelu",
        "scaled_dot_product_attention",
        "softplus",
        "softshrink",
    }
)
_RENAMED = {"logsigmoid": "log_sigmoid"}

# What the namespace itself needs; its files have names of their own.
_INNER = frozenset(
    {
        *("OpOverloadPacket", "annotations", "find_packet", "let_override", "refuse"),
        *("look_up_at_once", "show_as_own", "sys"),
        *("activation", "attention", "classification", "folding", "loss", "normalization"),
        *("pooling", "reduction", "resampling"),
    }
)


let_override(
    globals(), set(globals()) - {"find_packet", "look_up_at_once", "refuse", "show_as_own", "sys"}
)
show_as_own(__name__, globals())
look_up_at_once(sys.modules[__name__])


def __getattr__(name: str) -> OpOverloadPacket:
    found = find_packet("aten", _RENAMED.get(name, name)) if name in _OPERATORS else None
    if found is None:
        refuse(__name__, name)
    # The next call finds it without coming here.
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_OPERATORS} - _INNER)
