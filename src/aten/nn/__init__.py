"""Neural networks: modules, the functions of `aten.nn.functional`, initial values, sequences."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aten.nn import functional
from aten.refusals import refuse

__all__ = ["attention", "functional", "init", "modules", "parameter", "utils"]


if TYPE_CHECKING:
    from aten.nn.modules import *  # noqa: F403
    from aten.nn.parameter import Buffer as Buffer
    from aten.nn.parameter import Parameter as Parameter

    # isort: split
    from aten.nn import attention, init, modules, parameter, utils

    __all__ += [
        "CELU",
        "ELU",
        "GELU",
        "GLU",
        "SELU",
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveAvgPool3d",
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d",
        "AlphaDropout",
        "AvgPool1d",
        "AvgPool2d",
        "AvgPool3d",
        "BCELoss",
        "BCEWithLogitsLoss",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "Bilinear",
        "Buffer",
        "CTCLoss",
        "ChannelShuffle",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "CrossEntropyLoss",
        "Dropout",
        "Dropout1d",
        "Dropout2d",
        "Dropout3d",
        "Embedding",
        "FeatureAlphaDropout",
        "Flatten",
        "GroupNorm",
        "Hardshrink",
        "Hardsigmoid",
        "Hardswish",
        "Hardtanh",
        "HingeEmbeddingLoss",
        "HuberLoss",
        "Identity",
        "InstanceNorm1d",
        "InstanceNorm2d",
        "InstanceNorm3d",
        "KLDivLoss",
        "L1Loss",
        "LayerNorm",
        "LeakyReLU",
        "Linear",
        "LogSigmoid",
        "LogSoftmax",
        "MSELoss",
        "MaxPool1d",
        "MaxPool2d",
        "MaxPool3d",
        "Mish",
        "Module",
        "ModuleDict",
        "ModuleList",
        "MultiLabelMarginLoss",
        "NLLLoss",
        "Parameter",
        "ParameterDict",
        "ParameterList",
        "PixelShuffle",
        "PixelUnshuffle",
        "RMSNorm",
        "ReLU",
        "ReLU6",
        "Sequential",
        "SiLU",
        "Sigmoid",
        "SmoothL1Loss",
        "SoftMarginLoss",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "Softplus",
        "Softshrink",
        "Softsign",
        "Tanh",
        "Tanhshrink",
        "Threshold",
        "Unflatten",
        "Upsample",
    ]
else:  # so that checkers know of no name that is not there

    def __getattr__(name: str) -> Any:
        if name in ("attention", "init", "modules", "parameter", "utils"):
            return import_module(f"aten.nn.{name}")
        place = "parameter" if name in ("Buffer", "Parameter") else "modules"
        found = import_module(f"aten.nn.{place}").__dict__.get(name)
        if not isinstance(found, type):
            return refuse(__name__, name)
        # The next one asking finds it without coming here.
        globals()[name] = found
        return found
