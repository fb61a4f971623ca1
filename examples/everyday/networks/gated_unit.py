"""A recurrent network with gates, over a sequence."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return P.randn(24, 4, 16), P.randn(96, 16) * 0.3, P.randn(96, 32) * 0.2


def run(steps: P.Tensor, enter: P.Tensor, keep: P.Tensor) -> P.Tensor:
    state = P.zeros(steps.shape[1], 32)
    for step in steps:
        reset, update, new = (step @ enter.t()).chunk(3, dim=1)
        old_reset, old_update, old_new = (state @ keep.t()).chunk(3, dim=1)
        share = P.sigmoid(update + old_update)
        fresh = P.tanh(new + P.sigmoid(reset + old_reset) * old_new)
        state = (1 - share) * fresh + share * state
    return state


if __name__ == "__main__":
    print(run(*prepare()))
