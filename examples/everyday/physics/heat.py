"""Heat that spreads over a plate, step by step."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    plate = P.zeros(64, 64)
    plate[24:40, 24:40] = 1.0
    return (plate,)


def run(plate: P.Tensor) -> P.Tensor:
    plate = plate.clone()
    for _ in range(30):
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    return plate


if __name__ == "__main__":
    print(run(*prepare()))
