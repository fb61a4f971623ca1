"""Networks that transformers has no definition of, in plain torch, with random weights."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class SqueezeExcitation(nn.Module):
    """Channels weighed by what is in the whole image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = max(8, channels // 4)
        self.down = nn.Conv2d(channels, inner, 1)
        self.up = nn.Conv2d(inner, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        whole = functional.relu(self.down(functional.adaptive_avg_pool2d(x, 1)))
        return x * functional.hardsigmoid(self.up(whole))


def _convolution(
    inputs: int, outputs: int, kernel: int, stride: int, activation: Any, groups: int = 1
) -> nn.Sequential:
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-3),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class _InvertedResidual(nn.Module):
    def __init__(
        self, inputs: int, kernel: int, inner: int, outputs: int, squeezed: bool, swish: bool,
        stride: int,
    ) -> None:  # fmt: skip
        super().__init__()
        activation = nn.Hardswish if swish else nn.ReLU
        layers: list[nn.Module] = []
        if inner != inputs:
            layers.append(_convolution(inputs, inner, 1, 1, activation))
        layers.append(_convolution(inner, inner, kernel, stride, activation, inner))
        if squeezed:
            layers.append(SqueezeExcitation(inner))
        layers.append(_convolution(inner, outputs, 1, 1, None))
        self.layers = nn.Sequential(*layers)
        self.joins = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.joins else self.layers(x)


# Kernel, inner channels, channels, squeeze and excitation, hard swish, stride: Howard and others,
# "Searching for MobileNetV3" (2019), table 1.
_LARGE = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)


class MobileNetV3(nn.Module):
    """MobileNet-v3 large; `divisor` makes all of its layers narrower, `blocks` fewer."""

    def __init__(self, divisor: int = 1, blocks: int = len(_LARGE)) -> None:
        super().__init__()
        channels = 16 // divisor
        layers: list[nn.Module] = [_convolution(3, channels, 3, 2, nn.Hardswish)]
        for kernel, inner, outputs, squeezed, swish, stride in _LARGE[:blocks]:
            sizes = inner // divisor, outputs // divisor
            layers.append(_InvertedResidual(channels, kernel, *sizes, squeezed, swish, stride))
            channels = sizes[1]
        layers.append(_convolution(channels, 6 * channels, 1, 1, nn.Hardswish))
        self.layers = nn.Sequential(*layers)
        self.head = nn.Sequential(
            nn.Linear(6 * channels, 1280 // divisor),
            nn.Hardswish(),
            nn.Dropout(0.2),
            nn.Linear(1280 // divisor, 1000),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.head(functional.adaptive_avg_pool2d(self.layers(images), 1).flatten(1))


class _DoubleConvolution(nn.Sequential):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    """Ronneberger, Fischer and Brox, "U-Net" (2015), with padding and batch norms."""

    def __init__(self, width: int = 64, levels: int = 4, classes: int = 2) -> None:
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.down = nn.ModuleList(
            _DoubleConvolution(before, after)
            for before, after in zip([3, *widths], widths, strict=False)
        )
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(2 * one, one, 2, stride=2) for one in widths[-2::-1]
        )
        self.up = nn.ModuleList(_DoubleConvolution(2 * one, one) for one in widths[-2::-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        kept: list[Tensor] = []
        x = images
        for place, layer in enumerate(self.down):
            if place:
                kept.append(x)
                x = functional.max_pool2d(x, 2)
            x = layer(x)
        for grow, layer in zip(self.grow, self.up, strict=True):
            x = layer(torch.cat([kept.pop(), grow(x)], 1))
        return self.head(x)


class LanguageLSTM(nn.Module):
    """Zaremba, Sutskever and Vinyals, "Recurrent Neural Network Regularization" (2014)."""

    def __init__(self, words: int = 10000, width: int = 650, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(tokens))[0])


class DLRM(nn.Module):
    """Naumov and others, "Deep Learning Recommendation Model" (2019)."""

    def __init__(
        self, tables: int = 26, rows: int = 20000, width: int = 64, hidden: int = 512
    ) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(
            nn.Linear(13, hidden), nn.ReLU(), nn.Linear(hidden, 4 * width), nn.ReLU(),
            nn.Linear(4 * width, width), nn.ReLU(),
        )  # fmt: skip
        pairs = tables * (tables + 1) // 2
        self.top = nn.Sequential(
            nn.Linear(pairs + width, hidden), nn.ReLU(), nn.Linear(hidden, hidden // 2), nn.ReLU(),
            nn.Linear(hidden // 2, 1),
        )  # fmt: skip
        upper = torch.triu_indices(tables + 1, tables + 1, 1)
        self.register_buffer("first", upper[0])
        self.register_buffer("second", upper[1])

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        bottom = self.bottom(dense)
        rows = [table(sparse[:, place]) for place, table in enumerate(self.tables)]
        features = torch.stack([bottom, *rows], 1)
        products = features @ features.transpose(1, 2)
        pairs = products[:, self.first, self.second]
        return self.top(torch.cat([bottom, pairs], 1)).sigmoid()


def overlaps(boxes: Tensor) -> Tensor:
    """Intersection over union of all pairs of boxes, which are left, top, right, bottom."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    sides = (high - low).clamp(min=0)
    both = sides[..., 0] * sides[..., 1]
    return both / (areas[:, None] + areas[None, :] - both).clamp(min=1e-6)


def not_suppressed(boxes: Tensor, threshold: float) -> Tensor:
    """Which boxes stay, of boxes from the best to the worst, when none that stays overlaps a worse
    one by more than the threshold.

    Box by box, the best first; what is left when nothing changes any more is that.
    """
    worse = torch.ones_like(overlaps(boxes)).triu(1) > 0
    hidden = (overlaps(boxes) > threshold) & worse

    def goes_on(stays: Tensor, before: Tensor, hidden: Tensor) -> Tensor:
        return (stays != before).any()

    def again(stays: Tensor, before: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
        return ~(hidden & stays[:, None]).any(0), stays.clone(), hidden.clone()

    everything = torch.ones_like(boxes[:, 0]) > 0
    first = ~hidden.any(0)
    return torch.while_loop(goes_on, again, (first, everything, hidden))[0]


class Detector(nn.Module):
    """Boxes of one image, as many as are found: a convolution network, a head for each of its
    cells, and suppression of what overlaps.

    `image` is of any size that can be halved `levels` times. Results are boxes, scores and classes.
    """

    def __init__(
        self, width: int = 32, levels: int = 4, classes: int = 20, best: int = 200
    ) -> None:
        super().__init__()
        widths = [3, *(width << min(level, 3) for level in range(levels))]
        self.layers = nn.Sequential(
            *(_convolution(before, after, 3, 2, nn.SiLU) for before, after in pairwise(widths))
        )
        self.classes = nn.Conv2d(widths[-1], classes, 1)
        self.boxes = nn.Conv2d(widths[-1], 4, 1)
        self.step = 1 << levels
        self.best = best

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        cells = self.layers(image[None])
        scores, classes = self.classes(cells)[0].flatten(1).t().sigmoid().max(1)
        rows, columns = cells.shape[2], cells.shape[3]
        places = torch.stack(
            [
                torch.arange(columns, device=image.device).repeat(rows),
                torch.arange(rows, device=image.device).repeat_interleave(columns),
            ],
            1,
        )
        sides = self.boxes(cells)[0].flatten(1).t().exp() * self.step
        middles = (places + 0.5) * self.step
        boxes = torch.cat([middles - sides[:, :2], middles + sides[:, 2:]], 1)
        scores, order = scores.topk(self.best)
        boxes, classes = boxes[order], classes[order]
        # Boxes of different classes do not hide each other: they are moved apart.
        apart = boxes + (classes * 10000)[:, None]
        stays = not_suppressed(apart, 0.5).nonzero()[:, 0]
        return boxes[stays], scores[stays], classes[stays]
