"""How well a model foresees words: exp of the mean cross entropy."""

from __future__ import annotations

import aten as P


def prepare() -> tuple[P.Tensor, ...]:
    P.manual_seed(0)
    words = P.randint(0, 500, (4, 32))
    words[:, 28:] = -100
    return P.randn(4, 32, 500), words


def run(logits: P.Tensor, words: P.Tensor) -> tuple[P.Tensor, P.Tensor]:
    losses = P.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, logits.shape[-1]), words[:, 1:].reshape(-1), ignore_index=-100
    )
    return losses, P.exp(losses)


if __name__ == "__main__":
    print(run(*prepare()))
