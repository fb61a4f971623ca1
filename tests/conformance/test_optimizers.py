"""Optimizers' steps and scales of losses against torch: settings, types, forms, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from comparison import assert_same, torch, translated

import aten

TOLERANCE = {"float32": 2e-6, "float64": 1e-12, "bfloat16": 1e-2, "float16": 2e-3}
STATES = {"_fused_adam": 3, "_fused_adamw": 3, "_fused_sgd": 1, "_fused_adagrad": 1}
SETTINGS: dict[str, dict[str, list]] = {
    "_fused_adam": {
        "beta1": [0.9],
        "beta2": [0.99],
        "eps": [1e-6],
        "amsgrad": [False, True],
    },
    "_fused_sgd": {
        "momentum": [0.0, 0.9],
        "dampening": [0.1],
        "nesterov": [False, True],
        "is_first_step": [False, True],
    },
    "_fused_adagrad": {"lr_decay": [0.1], "eps": [1e-6]},
}
SETTINGS["_fused_adamw"] = SETTINGS["_fused_adam"]
COMMON = {"lr": [0.1], "weight_decay": [0.0, 0.2], "maximize": [False, True]}
SHAPES = [(3, 4), (5,), (), (0, 2)]


def lists(name: str, element: str, settings: dict[str, Any]) -> list[list]:
    """Parameters, gradients, states and steps; no states that the settings have no use for."""
    generator = torch.Generator().manual_seed(3)

    def numbers() -> list:
        made = [torch.rand(shape, generator=generator) for shape in SHAPES]
        made[0] = torch.rand(4, 3, generator=generator).t()
        return [one.to(getattr(torch, element)) for one in made]

    made = [numbers() for _ in range(2 + STATES[name])]
    if settings.get("amsgrad") is False or settings.get("momentum") == 0:
        made[-1] = []
    if name != "_fused_sgd":
        made.append([torch.tensor(3.0) for _ in SHAPES])
    return made


def settings_of(name: str) -> list[dict[str, Any]]:
    every = {**SETTINGS[name], **COMMON}
    return [dict(zip(every, chosen, strict=True)) for chosen in itertools.product(*every.values())]


def outcome(library, name: str, places: list, keywords: dict):
    packet, _, overload = name.partition(".")
    function = getattr(getattr(library.ops.aten, packet), overload or "default")
    try:
        return function(*places, **keywords), None
    except Exception as error:
        return None, error


def compare(name: str, places: list, keywords: dict, limit: float) -> bool:
    """Runs the operator on both; whether torch took the arguments."""
    given = translated(places)
    named = {key: translated(value) for key, value in keywords.items()}
    results, error = outcome(aten, name, given, named)
    theirs, their_error = outcome(torch, name, places, keywords)
    if their_error is not None:
        assert isinstance(error, type(their_error)), (error, their_error)
        return False
    assert error is None, error
    limits = {"tolerance": limit, "absolute": limit, "strides": False}
    assert_same(as_tuples(given), as_tuples(places), **limits)
    assert_same(as_tuples(list(named.values())), as_tuples(list(keywords.values())), **limits)
    assert_same(as_tuples(results), as_tuples(theirs), **limits)
    return True


def as_tuples(value: Any) -> Any:
    return tuple(map(as_tuples, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("name", list(STATES))
def test_every_setting(name, element):
    for settings in settings_of(name):
        assert compare(f"{name}_", lists(name, element, settings), settings, TOLERANCE[element])


@pytest.mark.parametrize("name", list(STATES))
def test_forms(name):
    for form, rate in itertools.product(("", "_"), (0.1, torch.tensor(0.1))):
        settings = {**settings_of(name)[-1], "lr": rate}
        overload = ".tensor_lr" if isinstance(rate, torch.Tensor) else ""
        assert compare(f"{name}{form}{overload}", lists(name, "float32", settings), settings, 2e-6)
        if form:
            continue
        overload = ".tensor_lr_out" if overload else ".out"
        settings["out"] = [torch.zeros(shape) for shape in SHAPES]
        assert compare(f"{name}{overload}", lists(name, "float32", settings), settings, 2e-6)


@pytest.mark.parametrize("name", list(STATES))
def test_scaled_gradients(name):
    for scale, found in itertools.product((None, 2.0), (None, 0.0, 1.0)):
        settings = {
            **settings_of(name)[-1],
            "grad_scale": None if scale is None else torch.tensor(scale),
            "found_inf": None if found is None else torch.tensor(found),
        }
        for element in ("float32", "bfloat16"):
            assert compare(f"{name}_", lists(name, element, settings), settings, TOLERANCE[element])


@pytest.mark.parametrize("name", list(STATES))
def test_lists_that_do_not_fit(name):
    settings = settings_of(name)[-1]
    for place in range(2 + STATES[name]):
        places = lists(name, "float32", settings)
        del places[place][-1]
        _, error = outcome(aten, f"{name}_", translated(places), settings)
        assert isinstance(error, RuntimeError)
        assert "equally long" in str(error)


@pytest.mark.parametrize("name", ["_fused_adam", "_fused_adamw", "_fused_sgd"])
def test_states_without_a_use_are_refused(name):
    settings = settings_of(name)[-1]
    places = lists(name, "float32", settings)
    without = {**settings, **({"momentum": 0.0} if name == "_fused_sgd" else {"amsgrad": False})}
    assert not compare(f"{name}_", places, without, 0)


@pytest.mark.parametrize("name", list(STATES))
def test_rows_that_do_not_fit_change_nothing(name):
    settings = settings_of(name)[-1]
    for wrong in (torch.ones(2), torch.ones(0, 2).double(), torch.ones(0, 2).long()):
        for place in range(1, 2 + STATES[name]):
            places = lists(name, "float32", settings)
            places[place][-1] = wrong
            given, kept = translated(places), translated(places)
            _, error = outcome(aten, f"{name}_", given, settings)
            assert isinstance(error, RuntimeError)
            pairs = zip(itertools.chain(*given), itertools.chain(*kept), strict=True)
            assert all(one.tolist() == other.tolist() for one, other in pairs)
            # torch does not look at sizes.
            if wrong.dim() == 2:
                assert not compare(f"{name}_", places, settings, 0)


def gradients(*bad: float) -> list:
    return [torch.tensor([1.0, 2.0, *bad]), torch.ones(2, 2).t(), torch.empty(0)]


@pytest.mark.parametrize("bad", [(), (float("inf"),), (float("nan"),)])
@pytest.mark.parametrize("element", ["float32", "float16", "float64"])
def test_non_finite_gradients(bad, element):
    made = [one.to(getattr(torch, element)) for one in gradients(*bad)]
    name = "_amp_foreach_non_finite_check_and_unscale"
    for form in ("_", ""):
        copies = [one.clone() for one in made]
        assert compare(f"{name}{form}", [copies, torch.zeros(1), torch.tensor(0.5)], {}, 1e-6)
    outs = [torch.empty_like(one) for one in made]
    assert compare(f"{name}.out", [made, torch.zeros(()), torch.tensor(0.5)], {"out": outs}, 1e-6)


def test_non_finite_gradients_are_refused():
    name = "_amp_foreach_non_finite_check_and_unscale_"
    for found, scale in (
        (torch.zeros(2), torch.ones(1)),
        (torch.zeros(1), torch.ones(2)),
        (torch.zeros(1).double(), torch.ones(1)),
        (torch.zeros(1), torch.ones(1).double()),
    ):
        assert not compare(name, [gradients(), found, scale], {}, 0)


@pytest.mark.parametrize("found", [0.0, 1.0])
@pytest.mark.parametrize("tracker", [0, 1, 2])
def test_scales(found, tracker):
    for scale, form in itertools.product((4.0, 3e38), ("_", "")):
        places = [
            torch.tensor([scale]),
            torch.tensor([tracker], dtype=torch.int32),
            torch.tensor([found]),
            *(2.0, 0.5, 2),
        ]
        assert compare(f"_amp_update_scale{form}", places, {}, 0)
    places = [torch.tensor(1.0), torch.tensor(tracker).int(), torch.tensor(found), 2.0, 0.5, 2]
    assert compare("_amp_update_scale.out", places, {"out": torch.zeros(())}, 0)


def test_scales_are_refused():
    good = [torch.ones(1), torch.zeros(1).int(), torch.zeros(1)]
    for place in range(3):
        for wrong in (torch.ones(2).to(good[place].dtype), torch.ones(1).double()):
            places = [wrong if place == one else good[one] for one in range(3)]
            assert not compare("_amp_update_scale_", [*places, 2.0, 0.5, 2], {}, 0)
