"""What a definition gives beside what the CPU's own function gives."""

from __future__ import annotations

import aten
from aten.registry import operator


def moved(value, place):
    """The tensors in `value` on a device, as they lie in memory."""
    if isinstance(value, (list, tuple)):
        return type(value)(moved(one, place) for one in value)
    if not isinstance(value, aten.Tensor):
        return value
    made = aten.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=place)
    return made if place == "meta" else made.copy_(value.to(place))


def results(op, arguments, options):
    made = op(*arguments, **options)
    return made if isinstance(made, (list, tuple)) else (made,)


def check(name, *arguments, tolerance=1e-6, places=("reference", "meta"), **options):
    """The operator gives on other devices what it gives on the CPU."""
    op = operator(f"aten::{name}")
    expected = results(op, arguments, options)
    for place in places:
        given = results(op, moved(arguments, place), options)
        assert len(given) == len(expected), (name, place)
        for wanted, found in zip(expected, given, strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), (name, place)
            assert not wanted.numel() or found.stride() == wanted.stride(), (name, place, options)
            if place != "meta":
                assert found.device.type == place
                near = {"rtol": tolerance, "atol": tolerance, "equal_nan": True}
                assert aten.allclose(found.to("cpu"), wanted, **near), (name, place, options)
