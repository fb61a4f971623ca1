"""The examples that train, with aten and with torch in its place: the same losses step by step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest
from comparison import torch

import aten

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = 50


@pytest.fixture(autouse=True)
def one_thread():
    """Small as it all is, torch's threads only wait for each other."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


def program(name: str, library: Any) -> dict[str, Any]:
    """What a file of the examples defines, with one library or the other."""
    source = (EXAMPLES / name).read_text()
    if library is torch:
        source = re.sub(r"^import aten$", "import torch as aten", source, flags=re.MULTILINE)
        source = re.sub(r"^from aten\b", "from torch", source, flags=re.MULTILINE)
    # The data of the digits are aten's in both.
    source = source.replace("Path(aten.__file__)", f"Path({aten.__file__!r})")
    names: dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), names)
    names["tqdm"] = lambda steps, **settings: steps
    return names


def test_transformer():
    found = []
    for library in (aten, torch):
        names = program("train_transformer.py", library)
        names.update(BATCH=8, WINDOW=32, WIDTH=32)
        found.append(names["train"](names["documentation"]()[:20_000], STEPS)[1])
    assert len(found[0]) == STEPS
    assert numpy.abs(numpy.subtract(*found)).max() <= 1e-4
    assert found[0][-1] < found[0][0] - 0.5


class EnoughError(Exception):
    """So many steps were taken."""


def test_digits():
    found = []
    for library in (aten, torch):
        names = program("train_digits.py", library)
        losses: list[float] = []

        def entropy(scores, labels, library=library, losses=losses):
            if len(losses) == STEPS:
                raise EnoughError
            loss = library.nn.functional.cross_entropy(scores, labels)
            losses.append(loss.item())
            return loss

        class Functions:
            """`nn.functional` with a loss that counts."""

            cross_entropy = staticmethod(entropy)
            pad = staticmethod(library.nn.functional.pad)

        class Networks:
            """`nn` with these functions."""

            functional = Functions

            def __getattr__(self, name, library=library):
                return getattr(library.nn, name)

        names["nn"] = Networks()
        try:
            names["train"]()
        except EnoughError:
            found.append(losses)
    assert [len(one) for one in found] == [STEPS, STEPS]
    assert numpy.abs(numpy.subtract(*found)).max() <= 1e-4
