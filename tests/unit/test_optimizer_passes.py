"""Compiled steps of optimizers against their definitions, and what they decline."""

from __future__ import annotations

import itertools

import pytest

import aten
from aten.backends.cpu.operators import optimizers as passes
from aten.ops.networks import optimizers as definitions

SHAPES = [(3, 5), (), (0, 4), (40000,)]
ADAM = {"lr": 0.01, "beta2": 0.99, "eps": 1e-8}
# Roundings of a step: each side has at most eight, of values that the step adds up to.
ROUNDINGS = 16


def _lists(dtype, count):
    aten.manual_seed(1)
    signed = [[aten.randn(shape, dtype=dtype) for shape in SHAPES] for _ in range(3)]
    return signed + [[one.abs() for one in signed[place]] for place in range(count - 3)]


def _compared(dtype, columns, run) -> None:
    """`run(module, columns)` with both modules gives the same up to roundings."""
    made = []
    for module in (passes, definitions):
        copies = [[one.clone() for one in column] for column in columns]
        run(module, copies)
        made.append(copies)
    bound = ROUNDINGS * aten.finfo(dtype).eps
    for ours, expected in zip(*made, strict=True):
        for one, other in zip(ours, expected, strict=True):
            assert one.shape == other.shape
            assert one.numel() == 0 or bool(
                ((one - other).abs() <= bound * (1 + other.abs())).all()
            )


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64, aten.bfloat16])
@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_"])
def test_steps_of_adam_are_those_of_the_definition(dtype, name) -> None:
    steps = [aten.tensor(float(place + 1)) for place in range(len(SHAPES))]
    for amsgrad, maximize, decay, beta in itertools.product(
        (False, True), (False, True), (0.0, 0.1), (0.9, 0.4)
    ):

        def run(module, columns, amsgrad=amsgrad, maximize=maximize, decay=decay, beta=beta):
            most = columns[4] if amsgrad else []
            getattr(module, name)(
                *columns[:4],
                most,
                steps,
                weight_decay=decay,
                amsgrad=amsgrad,
                maximize=maximize,
                beta1=beta,
                **ADAM,
            )

        _compared(dtype, _lists(dtype, 5), run)


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64])
def test_steps_of_descent_are_those_of_the_definition(dtype) -> None:
    for momentum, nesterov, maximize, decay, first in itertools.product(
        (0.0, 0.9), (False, True), (False, True), (0.0, 0.1), (False, True)
    ):

        def run(module, columns, settings=(momentum, nesterov, maximize, decay, first)):
            momentum, nesterov, maximize, decay, first = settings
            module._fused_sgd_(
                *columns[:2],
                columns[2] if momentum else [],
                weight_decay=decay,
                momentum=momentum,
                lr=0.1,
                dampening=0.25,
                nesterov=nesterov,
                maximize=maximize,
                is_first_step=first,
            )

        _compared(dtype, _lists(dtype, 3), run)


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64])
def test_steps_of_adagrad_are_those_of_the_definition(dtype) -> None:
    def run(module, columns):
        steps = [aten.tensor(float(place + 1)) for place in range(len(SHAPES))]
        settings = {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.1, "eps": 1e-10}
        module._fused_adagrad_(*columns[:2], columns[3], steps, maximize=True, **settings)

    _compared(dtype, _lists(dtype, 4), run)


def test_nan_is_kept_among_the_largest_squares() -> None:
    def run(module, columns):
        columns[1][0].fill_(float("nan"))
        module._fused_adam_(
            *columns[:5],
            [aten.tensor(1.0)] * len(SHAPES),
            weight_decay=0.0,
            amsgrad=True,
            maximize=False,
            beta1=0.9,
            **ADAM,
        )
        assert columns[4][0].isnan().all()
        columns[0][0].fill_(0)
        for column in columns[1:]:
            column[0].fill_(0)

    _compared(aten.float32, _lists(aten.float32, 5), run)


@pytest.mark.parametrize("module", [passes, definitions])
@pytest.mark.parametrize("beta", [1.0, 2.0, -0.5])
def test_settings_without_a_step_give_what_floating_point_gives(module, beta) -> None:
    columns = _lists(aten.float32, 4)
    for step in (0.0, 0.5, 1e6):
        module._fused_adam_(
            *columns,
            [],
            [aten.tensor(step)] * len(SHAPES),
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
            lr=0.1,
            beta1=beta,
            beta2=beta,
            eps=1e-8,
        )
    assert not columns[0][0].isfinite().any()


def test_gradients_in_another_order_of_memory_and_repeated_parameters_are_served() -> None:
    parameter = aten.zeros(3, 4)
    gradient = aten.arange(12.0).reshape(4, 3).t()
    settings = {
        "weight_decay": 0.0,
        "momentum": 0.0,
        "lr": 1.0,
        "dampening": 0.0,
        "nesterov": False,
        "maximize": False,
        "is_first_step": False,
    }
    aten._fused_sgd_([parameter], [gradient], [], **settings)
    assert parameter.tolist() == (-gradient).tolist()
    aten._fused_sgd_([parameter, parameter], [gradient.contiguous()] * 2, [], **settings)
    assert parameter.tolist() == (-3 * gradient).tolist()


def test_a_lazy_copy_of_a_parameter_stays_as_it_was_and_writes_are_counted() -> None:
    parameter, gradient = aten.ones(4), aten.ones(4)
    copy, version = parameter.clone(), parameter._version
    optimizer = aten.optim.SGD([parameter.requires_grad_()], lr=0.5)
    parameter.grad = gradient
    optimizer.step()
    assert (copy.tolist(), parameter.tolist()) == ([1.0] * 4, [0.5] * 4)
    assert parameter._version == version + 1
    assert gradient._version == 0


def test_unlike_sizes_are_refused_before_anything_is_changed() -> None:
    parameters, gradients = [aten.ones(3), aten.ones(2)], [aten.ones(3), aten.ones(3)]
    with pytest.raises(RuntimeError, match="_fused_sgd_"):
        aten._fused_sgd_(
            parameters,
            gradients,
            [],
            weight_decay=0.0,
            momentum=0.0,
            lr=1.0,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )
    assert parameters[0].tolist() == [1.0] * 3
