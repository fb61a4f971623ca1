"""Layers, activations, losses and containers, by family."""

from __future__ import annotations

from aten.nn.modules.activation import *
from aten.nn.modules.adaptive import *
from aten.nn.modules.attention import *
from aten.nn.modules.containers import *
from aten.nn.modules.convolution import *
from aten.nn.modules.distance import *
from aten.nn.modules.dropout import *
from aten.nn.modules.embedding import *
from aten.nn.modules.lazy import *
from aten.nn.modules.linear import *
from aten.nn.modules.linear_cross_entropy import *
from aten.nn.modules.loss import *
from aten.nn.modules.margins import *
from aten.nn.modules.module import *
from aten.nn.modules.normalization import *
from aten.nn.modules.padding import *
from aten.nn.modules.pooling import *
from aten.nn.modules.recurrent import *
from aten.nn.modules.shape import *
from aten.nn.modules.synchronized import *
from aten.nn.modules.transformer import *
from aten.nn.modules.unpooling import *
