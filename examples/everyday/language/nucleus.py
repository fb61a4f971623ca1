"""The likeliest words that have 90 % together: what others get is minus infinity."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    return (P.randn(8, 500) * 3,)


def run(logits: P.Tensor) -> P.Tensor:
    ordered, places = P.sort(logits / 0.8, descending=True, dim=-1)
    above = P.softmax(ordered, dim=-1).cumsum(dim=-1) > 0.9
    above = P.cat([P.zeros_like(above[:, :1]), above[:, :-1]], dim=-1)
    dropped = P.zeros_like(above).scatter(1, places, above)
    return logits.masked_fill(dropped, float("-inf"))


if __name__ == "__main__":
    print(run(*prepare()))
