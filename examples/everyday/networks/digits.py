"""A small convolutional network, as functions."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    weights = [P.randn(8, 1, 3, 3) * 0.3, P.randn(16, 8, 3, 3) * 0.1, P.randn(10, 400) * 0.1]
    return (P.randn(4, 1, 28, 28), *weights)


def run(images: P.Tensor, first: P.Tensor, second: P.Tensor, last: P.Tensor) -> P.Tensor:
    functional = P.nn.functional
    x = functional.max_pool2d(functional.relu(functional.conv2d(images, first)), 2)
    x = functional.max_pool2d(functional.relu(functional.conv2d(x, second)), 2)
    return functional.log_softmax(functional.linear(x.flatten(1), last), dim=1)


if __name__ == "__main__":
    print(run(*prepare()))
