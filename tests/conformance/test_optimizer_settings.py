"""What optimizers and schedules take and refuse: complex parameters, tensor rates, epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from comparison import same

import aten

OPTIMIZERS = (
    *("SGD", "Adam", "AdamW", "Adamax", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam"),
    *("ASGD", "Rprop", "Adafactor", "Muon"),
)
SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "StepLR": lambda kinds, one: kinds.StepLR(one, 2),
    "ExponentialLR": lambda kinds, one: kinds.ExponentialLR(one, 0.5),
    "LambdaLR": lambda kinds, one: kinds.LambdaLR(one, lambda epoch: 0.5**epoch),
    "MultiStepLR": lambda kinds, one: kinds.MultiStepLR(one, [2, 4]),
    "CosineAnnealingLR": lambda kinds, one: kinds.CosineAnnealingLR(one, 10),
    "LinearLR": lambda kinds, one: kinds.LinearLR(one),
    "ConstantLR": lambda kinds, one: kinds.ConstantLR(one),
    "PolynomialLR": lambda kinds, one: kinds.PolynomialLR(one),
    "MultiplicativeLR": lambda kinds, one: kinds.MultiplicativeLR(one, lambda epoch: 0.9),
    "CyclicLR": lambda kinds, one: kinds.CyclicLR(one, 0.01, 0.1, cycle_momentum=False),
    "OneCycleLR": lambda kinds, one: kinds.OneCycleLR(one, 0.1, total_steps=20),
    "Restarts": lambda kinds, one: kinds.CosineAnnealingWarmRestarts(one, 3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_complex_parameters(name: str) -> None:
    def trained(lib: Any) -> Any:
        parameter = lib.nn.Parameter(lib.tensor([[1 + 2j, 0.5 - 1j]]))
        optimizer = getattr(lib.optim, name)([parameter])
        for _ in range(3):
            optimizer.zero_grad()
            (parameter * parameter.conj()).real.sum().backward()
            optimizer.step()
        return [(round(one.real, 5), round(one.imag, 5)) for one in parameter.tolist()[0]]

    same(trained)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("setting", ["capturable", "fused", "foreach", "other"])
def test_settings_that_an_optimizer_has(name: str, setting: str) -> None:
    def made(lib: Any) -> bool:
        return bool(getattr(lib.optim, name)([lib.ones(2, 2)], **{setting: True}))

    same(made)


def test_state_of_a_parameter_that_has_none() -> None:
    parameter = aten.ones(2, requires_grad=True)
    assert aten.optim.SGD([parameter]).state[parameter] == {}


@pytest.mark.parametrize("names", [(True, False), (False, True), (True, True), (False, False)])
@pytest.mark.parametrize("grouped", [False, True])
def test_mixed_names(names: tuple[bool, bool], grouped: bool) -> None:
    def made(lib: Any) -> int:
        given = [("p", lib.ones(2)) if named else lib.ones(2) for named in names]
        params = [{"params": [one]} for one in given] if grouped else given
        return len(lib.optim.SGD(params).param_groups)

    if grouped and names == (False, True):
        # torch finds it when the names are asked for.
        with pytest.raises(ValueError, match="names"):
            made(aten)
        return
    same(made)


@pytest.mark.parametrize("name", SCHEDULES)
def test_steps_to_an_epoch(name: str) -> None:
    def rates(lib: Any) -> Any:
        optimizer = lib.optim.SGD([lib.ones(2)], lr=0.1)
        schedule = SCHEDULES[name](lib.optim.lr_scheduler, optimizer)
        found = []
        for epoch in ((), (5,), (), (2,)):
            optimizer.step()
            schedule.step(*epoch)
            found.append(round(optimizer.param_groups[0]["lr"], 6))
        return found, schedule.last_epoch

    same(rates)


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_that_are_tensors_stay_the_tensors(name: str) -> None:
    def rates(lib: Any) -> Any:
        optimizer = lib.optim.Adam([lib.ones(2)], lr=lib.tensor(0.1))
        rate = optimizer.param_groups[0]["lr"]
        schedule = SCHEDULES[name](lib.optim.lr_scheduler, optimizer)
        found = []
        for _ in range(3):
            optimizer.step()
            schedule.step()
            found.append(round(float(rate), 5))
        return found, rate is optimizer.param_groups[0]["lr"]

    same(rates)


def test_going_on_needs_the_initial_rate() -> None:
    optimizer = aten.optim.SGD([aten.ones(2)], lr=0.1)
    with pytest.raises(KeyError, match="initial_lr"):
        aten.optim.lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=3)


def test_averages_of_counts() -> None:
    model = aten.nn.BatchNorm1d(2)
    averaged = aten.optim.swa_utils.AveragedModel(model, use_buffers=True)
    for _ in range(3):
        model(aten.ones(2, 2))
        averaged.update_parameters(model)
    assert averaged.module.num_batches_tracked == 1
