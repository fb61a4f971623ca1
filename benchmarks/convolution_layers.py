"""Where whole image models spend their convolutions: time and share of the processor's peak.

    python benchmarks/convolution_layers.py [MODEL …] [--threads N] [--by-time]

For every convolution of a model, at 224² and batch 1, with the activation that follows it: how
often it comes, milliseconds of one call (the least of several), GFLOP/s, the share of what
`processor_peak.py` measures, and milliseconds of all of them. Batch norms count as taken into the
weights.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy
from processor_peak import operations_per_second

import aten

_SECONDS = 0.06
_FEWEST = 5


@dataclass(frozen=True)
class Layer:
    """A convolution of square images: channels, size of the image, window, what follows."""

    inputs: int
    outputs: int
    size: int
    kernel: int
    stride: int = 1
    groups: int = 1
    activation: str = "relu"
    residual: bool = False

    @property
    def seen(self) -> int:
        """The size of the result."""
        return (self.size - 1) // self.stride + 1

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        each = self.inputs // self.groups * self.kernel**2
        return 2 * self.outputs * self.seen**2 * each

    def __str__(self) -> str:
        parts = [f"{self.inputs}→{self.outputs} {self.size}² {self.kernel}×{self.kernel}"]
        parts += [f"s{self.stride}"] * (self.stride > 1)
        parts += ["depthwise"] * (self.groups > 1)
        return " ".join([*parts, self.activation, *["+"] * self.residual])

    def seconds(self) -> float:
        """The least time of a call."""
        draw = numpy.random.default_rng(0).standard_normal
        shapes = [
            (1, self.inputs, self.size, self.size),
            (self.outputs, self.inputs // self.groups, self.kernel, self.kernel),
            (self.outputs,),
            (1, self.outputs, self.seen, self.seen),
        ]
        image, weight, bias, residual = (
            aten.from_numpy(draw(shape).astype("float32")) for shape in shapes
        )
        window = ([self.stride] * 2, [self.kernel // 2] * 2, [1, 1], self.groups)
        values = [0.0, 6.0] if self.activation == "hardtanh" else []
        given = (image, weight, bias, residual if self.residual else None, *window)
        run = aten.ops.fused.convolution_epilogue.default
        best, calls, end = float("inf"), 0, time.perf_counter() + _SECONDS
        while calls < _FEWEST or time.perf_counter() < end:
            start = time.perf_counter()
            run(*given, self.activation, values)
            best = min(best, time.perf_counter() - start)
            calls += 1
        return best


def resnet50() -> Iterator[Layer]:
    """He et al., Deep Residual Learning for Image Recognition (2015), strides at the 3×3."""
    yield Layer(3, 64, 224, 7, 2)
    inputs, size = 64, 56
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            yield Layer(inputs, width, size, 1)
            yield Layer(width, width, size, 3, step)
            if block == 0:
                yield Layer(inputs, 4 * width, size, 1, step, activation="none")
            size = (size - 1) // step + 1
            yield Layer(width, 4 * width, size, 1, residual=True)
            inputs = 4 * width


def mobilenet_v2() -> Iterator[Layer]:
    """Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks (2018)."""
    yield Layer(3, 32, 224, 3, 2, activation="hardtanh")
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1))
    yield from _inverted((*rows, (6, 160, 3, 2), (6, 320, 1, 1)), (3,) * 7, "hardtanh")
    yield Layer(320, 1280, 7, 1, activation="hardtanh")


def efficientnet_b0() -> Iterator[Layer]:
    """Tan and Le, EfficientNet: Rethinking Model Scaling (2019), without squeezes."""
    yield Layer(3, 32, 224, 3, 2, activation="silu")
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 40, 2, 2), (6, 80, 3, 2), (6, 112, 3, 1))
    kernels = (3, 3, 5, 3, 5, 5, 3)
    yield from _inverted((*rows, (6, 192, 4, 2), (6, 320, 1, 1)), kernels, "silu")
    yield Layer(320, 1280, 7, 1, activation="silu")


def _inverted(
    rows: tuple[tuple[int, int, int, int], ...], kernels: tuple[int, ...], activation: str
) -> Iterator[Layer]:
    """Blocks that widen, look at each channel, and narrow again."""
    inputs, size = 32, 112
    for (factor, outputs, blocks, stride), kernel in zip(rows, kernels, strict=True):
        for block in range(blocks):
            step = stride if block == 0 else 1
            width = factor * inputs
            if factor > 1:
                yield Layer(inputs, width, size, 1, activation=activation)
            yield Layer(width, width, size, kernel, step, width, activation)
            size = (size - 1) // step + 1
            same = step == 1 and inputs == outputs
            yield Layer(width, outputs, size, 1, activation="none", residual=same)
            inputs = outputs


MODELS = {"resnet50": resnet50, "mobilenet_v2": mobilenet_v2, "efficientnet_b0": efficientnet_b0}


def show(model: str, peak: float, by_time: bool) -> None:
    """Print a model's layers."""
    counts = Counter(MODELS[model]())
    rows = [(layer, count, layer.seconds()) for layer, count in counts.items()]
    if by_time:
        rows.sort(key=lambda row: -row[1] * row[2])
    print(f"\n{model:44} times    each ms  GFLOP/s  of peak   all ms")
    for layer, count, seconds in rows:
        rate = layer.operations / seconds
        print(
            f"  {layer!s:42} {count:5} {seconds * 1e3:10.3f} {rate / 1e9:8.1f} "
            f"{rate / peak:8.0%} {count * seconds * 1e3:8.2f}"
        )
    total = sum(count * seconds for _, count, seconds in rows)
    rate = sum(layer.operations * count for layer, count, _ in rows) / total
    print(f"  {'all':48} {'':10} {rate / 1e9:8.1f} {rate / peak:8.0%} {total * 1e3:8.2f}")


def main() -> None:
    """Show the models asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL")
    parser.add_argument("--threads", type=int, default=aten.get_num_threads())
    parser.add_argument("--by-time", action="store_true")
    given = parser.parse_args()
    aten.set_num_threads(given.threads)
    peak = operations_per_second(given.threads)
    print(f"peak of {given.threads} threads: {peak / 1e9:.1f} GFLOP/s")
    for model in given.models:
        show(model, peak, given.by_time)


if __name__ == "__main__":
    main()
