"""Convolutions: the layers of image, segmentation and audio models, forward and backward.

Names say channels, size of the image, then kernel, stride (s), groups (g), dilation (d).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from operands import normal
from timing import Case, Result, geometric_mean, measure


@dataclass(frozen=True)
class Layer:
    """A convolution of one model: channels in and out, the image's size, and the window."""

    model: str
    inputs: int
    outputs: int
    image: tuple[int, ...]
    kernel: int
    stride: int = 1
    groups: int = 1
    dilation: int = 1
    transposed: bool = False
    batch: int = 1

    @property
    def padding(self) -> int:
        if self.transposed:
            return 0
        return self.dilation * (self.kernel - 1) // 2

    @property
    def name(self) -> str:
        rank = len(self.image)
        parts = [
            f"{self.batch}×{self.inputs}→{self.outputs}",
            "×".join(map(str, self.image)),
            "×".join([str(self.kernel)] * rank),
        ]
        parts += [f"s{self.stride}"] * (self.stride > 1)
        parts += [f"g{self.groups}"] * (self.groups > 1)
        parts += [f"d{self.dilation}"] * (self.dilation > 1)
        parts += ["transposed"] * self.transposed
        return f"{self.model}: {' '.join(parts)}"

    def case(self, dtype: str = "float32") -> Case:
        outputs, inputs = self.outputs, self.inputs
        channels = (inputs, outputs) if self.transposed else (outputs, inputs // self.groups)
        rank = len(self.image)
        operands = {
            "x": normal(self.batch, inputs, *self.image, dtype=dtype),
            "weight": normal(*channels, *[self.kernel] * rank, dtype=dtype),
            "bias": normal(outputs, dtype=dtype),
        }
        window = (
            f"stride={self.stride}, padding={self.padding}, groups={self.groups}, "
            f"dilation={self.dilation}"
        )
        function = f"conv{'_transpose' if self.transposed else ''}{rank}d"
        statement = f"lib.nn.functional.{function}(x, weight, bias, {window})"
        name = self.name if dtype == "float32" else f"{self.name}, {dtype}"
        return Case(name, statement, operands, group=self.model, least_ratio=1)

    def last(self) -> Case:
        """The same with channels last."""
        case = self.case()
        setup = "x, weight = (t.to(memory_format=lib.channels_last) for t in (x, weight))"
        return replace(case, name=f"{case.name}, channels last", setup=setup, group="layouts")

    def backward(self) -> Case:
        """The gradients of input, weight and bias."""
        case = self.case()
        rank = len(self.image)
        numbers = ", ".join(
            str([number] * rank) for number in (self.stride, self.padding, self.dilation)
        )
        setup = f"gradient = lib.ones_like({case.statement})"
        statement = (
            f"lib.ops.aten.convolution_backward(gradient, x, weight, [{self.outputs}], {numbers}, "
            f"{self.transposed}, {[0] * rank}, {self.groups}, [True, True, True])"
        )
        return replace(
            case,
            name=f"{case.name}, backward",
            setup=setup,
            statement=statement,
            group="backward",
        )


LAYERS = [
    Layer("ResNet-50", 3, 64, (224, 224), 7, 2),
    Layer("ResNet-50", 64, 64, (56, 56), 1),
    Layer("ResNet-50", 64, 64, (56, 56), 3),
    Layer("ResNet-50", 64, 256, (56, 56), 1),
    Layer("ResNet-50", 128, 128, (56, 56), 3, 2),
    Layer("ResNet-50", 128, 128, (28, 28), 3),
    Layer("ResNet-50", 512, 128, (28, 28), 1),
    Layer("ResNet-50", 256, 512, (56, 56), 1, 2),
    Layer("ResNet-50", 256, 256, (14, 14), 3),
    Layer("ResNet-50", 1024, 256, (14, 14), 1),
    Layer("ResNet-50", 512, 512, (7, 7), 3),
    Layer("ResNet-50", 2048, 512, (7, 7), 1),
    Layer("MobileNet", 3, 32, (224, 224), 3, 2),
    Layer("MobileNet", 32, 32, (112, 112), 3, groups=32),
    Layer("MobileNet", 32, 16, (112, 112), 1),
    Layer("MobileNet", 96, 96, (112, 112), 3, 2, 96),
    Layer("MobileNet", 144, 144, (56, 56), 3, groups=144),
    Layer("MobileNet", 192, 32, (28, 28), 1),
    Layer("MobileNet", 384, 384, (14, 14), 3, groups=384),
    Layer("MobileNet", 64, 384, (14, 14), 1),
    Layer("MobileNet", 960, 960, (7, 7), 3, groups=960),
    Layer("MobileNet", 960, 320, (7, 7), 1),
    Layer("MobileNet", 120, 120, (28, 28), 5, groups=120),
    Layer("EfficientNet", 144, 144, (56, 56), 5, 2, 144),
    Layer("EfficientNet", 480, 480, (14, 14), 5, groups=480),
    Layer("EfficientNet", 1152, 1152, (7, 7), 5, groups=1152),
    Layer("EfficientNet", 1152, 320, (7, 7), 1),
    Layer("EfficientNet", 40, 240, (28, 28), 1),
    Layer("ConvNeXt", 3, 96, (224, 224), 4, 4),
    Layer("ConvNeXt", 96, 96, (56, 56), 7, groups=96),
    Layer("ConvNeXt", 192, 384, (28, 28), 2, 2),
    Layer("ConvNeXt", 384, 384, (14, 14), 7, groups=384),
    Layer("ConvNeXt", 768, 768, (7, 7), 7, groups=768),
    Layer("Detector", 128, 256, (48, 52), 3, stride=2),
    Layer("UNet", 1, 32, (128, 128), 3),
    Layer("UNet", 64, 64, (128, 128), 3),
    Layer("UNet", 128, 64, (64, 64), 3),
    Layer("UNet", 128, 64, (32, 32), 2, 2, transposed=True),
    Layer("UNet", 96, 96, (56, 56), 3),
    Layer("UNet", 1024, 512, (32, 32), 3),
    Layer("UNet", 64, 64, (64, 64), 3, dilation=2),
    Layer("audio", 80, 384, (3000,), 3),
    Layer("audio", 384, 384, (3000,), 3, 2),
    Layer("audio", 1, 512, (16000,), 10, 5),
    Layer("audio", 256, 256, (1500,), 3, dilation=4),
    Layer("audio", 256, 256, (500,), 31, groups=256),
]
GROUPED = [
    Layer("ResNeXt", 128, 128, (56, 56), 3, groups=32),
    Layer("video", 16, 32, (8, 28, 28), 3),
    Layer("ResNet-50", 64, 64, (56, 56), 3, batch=8),
]
RECORDED = [
    Layer("ResNet-50", 64, 64, (56, 56), 3),
    Layer("ResNet-50", 128, 128, (56, 56), 3, 2),
    Layer("ResNet-50", 256, 64, (56, 56), 1),
    Layer("ResNet-50", 512, 512, (7, 7), 3),
    Layer("ResNet-50", 3, 64, (224, 224), 7, 2),
    Layer("MobileNet", 144, 144, (56, 56), 3, groups=144),
    Layer("MobileNet", 96, 96, (112, 112), 3, 2, 96),
    Layer("audio", 80, 384, (3000,), 3),
]
HALF = [
    Layer("ResNet-50", 64, 64, (56, 56), 3),
    Layer("ResNet-50", 256, 64, (56, 56), 1),
    Layer("ResNet-50", 256, 256, (14, 14), 3),
    Layer("ResNet-50", 3, 64, (224, 224), 7, 2),
    Layer("MobileNet", 144, 144, (56, 56), 3, groups=144),
    Layer("audio", 80, 384, (3000,), 3),
]
LAST = [
    Layer("ResNet-50", 64, 64, (56, 56), 3),
    Layer("ResNet-50", 64, 256, (56, 56), 1),
    Layer("ResNet-50", 256, 256, (14, 14), 3),
    Layer("ResNet-50", 512, 2048, (7, 7), 1),
    Layer("MobileNet", 144, 144, (56, 56), 3, groups=144),
]


def cases() -> list[Case]:
    return [
        *(layer.case() for layer in LAYERS),
        *(replace(layer.case(), group="others") for layer in GROUPED),
        *(layer.last() for layer in LAST),
        *(layer.backward() for layer in RECORDED),
        *(replace(layer.case("bfloat16"), group="bfloat16") for layer in HALF),
    ]


def run() -> list[Result]:
    results = measure(cases())
    models = {layer.model for layer in LAYERS}
    forward = [result for result in results if result.group in models]
    means = [geometric_mean(f"convolution: mean of {len(forward)} layers", forward, 1.5)]
    for group in ("backward", "bfloat16"):
        of_group = [result for result in results if result.group == group]
        means.append(
            geometric_mean(f"convolution: mean of {len(of_group)}, {group}", of_group, 1.2)
        )
    return [*results, *means]
