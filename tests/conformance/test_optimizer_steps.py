"""Twenty steps of every optimizer, and of every schedule, against torch's."""

from __future__ import annotations

import itertools

import pytest
from comparison import torch

import aten

# torch's schedules within others step before the optimizer has, and it says so.
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of .lr_scheduler:UserWarning")

LIMITS = {"float64": 1e-10, "float32": 1e-5}
SETTINGS = {
    "SGD": [
        {"lr": 0.05},
        {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.02, "momentum": 0.5, "dampening": 0.2, "maximize": True},
    ],
    "Adam": [{"lr": 0.02}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}],
    "AdamW": [{"lr": 0.02}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}],
    "Adagrad": [
        {},
        {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2},
        {"maximize": True},
    ],
    "RMSprop": [
        {},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1},
        {"momentum": 0.9, "maximize": True},
    ],
    "NAdam": [
        {"lr": 0.02},
        {"weight_decay": 0.1, "momentum_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RAdam": [
        {"lr": 0.02},
        {"weight_decay": 0.1, "betas": (0.8, 0.9)},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "Adamax": [{"lr": 0.02}, {"weight_decay": 0.1, "betas": (0.8, 0.9)}, {"maximize": True}],
    "Adadelta": [{}, {"rho": 0.5, "weight_decay": 0.1}, {"maximize": True, "eps": 1e-3}],
    "ASGD": [
        {},
        {"lambd": 0.1, "alpha": 0.5, "t0": 5, "weight_decay": 0.1},
        {"t0": 3, "maximize": True},
    ],
    "Rprop": [
        {},
        {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.05)},
        {"maximize": True},
    ],
}
CASES = [
    (name, settings, element)
    for name, listed in SETTINGS.items()
    for settings, element in itertools.product(listed, LIMITS)
]
SHAPES = [(3, 4), (4,), (), (0, 2)]


def parameters(library, element):
    library.manual_seed(0)
    return [
        library.nn.Parameter(library.randn(shape).to(getattr(library, element))) for shape in SHAPES
    ]


def loss_of(library, listed, step):
    """A different bowl each step; the last parameter but one has no gradient every third step."""
    total = (listed[0].sin() * (listed[1] + step)).square().mean() + listed[1].cos().sum()
    total = total + listed[3].sum()
    return total if step % 3 == 1 else total + (listed[2] - 1) ** 2 / 3


def differ(ours, theirs, limit):
    for mine, other in zip(ours, theirs, strict=True):
        given = torch.tensor(mine.tolist(), dtype=other.dtype).reshape(other.shape)
        torch.testing.assert_close(given, other.detach(), rtol=limit, atol=limit)


def run(library, listed, optimizer, steps):
    for step in steps:
        optimizer.zero_grad()
        loss_of(library, listed, step).backward()
        optimizer.step()


@pytest.mark.parametrize(("name", "settings", "element"), CASES)
def test_twenty_steps(name, settings, element):
    found = []
    for library in (aten, torch):
        listed = parameters(library, element)
        run(library, listed, getattr(library.optim, name)(listed, **settings), range(20))
        found.append(listed)
    differ(*found, LIMITS[element])


@pytest.mark.parametrize("name", SETTINGS)
def test_groups_and_states(name):
    """Two groups; after ten steps the state goes to a fresh optimizer, and by a file to torch's."""
    settings = SETTINGS[name][1]

    def made(library, listed):
        groups = [{"params": listed[:1]}, {"params": listed[1:], "lr": 0.005}]
        return getattr(library.optim, name)(groups, **settings)

    first = parameters(aten, "float64")
    optimizer = made(aten, first)
    run(aten, first, optimizer, range(10))
    others = []
    for library in (aten, torch):
        listed = parameters(library, "float64")
        with library.no_grad():
            for one, value in zip(listed, first, strict=True):
                numbers = library.tensor(value.tolist(), dtype=library.float64)
                one.copy_(numbers.reshape(one.shape))
        others.append((library, listed, made(library, listed)))
    state = optimizer.state_dict()
    others[0][2].load_state_dict(state)
    theirs = others[1][2].state_dict()
    for number, values in state["state"].items():
        theirs["state"][number] = {
            key: torch.tensor(one.tolist(), dtype=getattr(torch, one.dtype.name)).reshape(
                tuple(one.shape)
            )
            for key, one in values.items()
        }
    others[1][2].load_state_dict(theirs)
    run(aten, first, optimizer, range(10, 20))
    for library, listed, one in others:
        run(library, listed, one, range(10, 20))
    assert [one.tolist() for one in others[0][1]] == [one.tolist() for one in first]
    differ(first, others[1][1], 1e-10)


@pytest.mark.parametrize("element", LIMITS)
@pytest.mark.parametrize(
    "settings",
    [
        {"lr": 0.1, "max_iter": 4},
        {"lr": 0.1, "max_iter": 5, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 20, "max_eval": 7},
    ],
)
def test_quasi_newton(settings, element):
    found = []
    for library in (aten, torch):
        listed = parameters(library, element)
        optimizer = library.optim.LBFGS(listed, **settings)
        losses = []

        def closure(library=library, listed=listed, optimizer=optimizer):
            optimizer.zero_grad()
            # Rosenbrock's valley, along rows.
            rows = listed[0]
            valley = (rows[:, 1:] - rows[:, :-1] ** 2).square() + (1 - rows[:, :-1]) ** 2 / 10
            loss = valley.sum() + (listed[1] - 1).square().sum() + listed[2] ** 4
            loss.backward()
            return loss

        for _ in range(5):
            losses.append(optimizer.step(closure).item())
        counts = optimizer.state[listed[0]]
        found.append((listed, losses, (counts["n_iter"], counts["func_evals"])))
    limit = 1e-8 if element == "float64" else 1e-3
    differ(found[0][0], found[1][0], limit)
    assert found[0][1] == pytest.approx(found[1][1], rel=limit, abs=limit)
    if element == "float64":
        assert found[0][2] == found[1][2]


def test_quasi_newton_refuses():
    for library in (aten, torch):
        one = parameters(library, "float32")
        with pytest.raises(ValueError):
            library.optim.LBFGS([{"params": one[:1]}, {"params": one[1:]}])
        with pytest.raises(TypeError):
            library.optim.LBFGS(one).step()


@pytest.mark.parametrize("name", SETTINGS)
def test_ways_of_a_step(name):
    for library in (aten, torch):
        optimizer = getattr(library.optim, name)
        optimizer(parameters(library, "float32"), foreach=True, differentiable=False)
        with pytest.raises(TypeError):
            optimizer(parameters(library, "float32"), forall=True)
    with pytest.raises(ValueError, match="differentiable"):
        getattr(aten.optim, name)(parameters(aten, "float32"), differentiable=True)


WRONG = [
    ("Adam", {"lr": -1}),
    ("Adadelta", {"rho": 2}),
    ("Adamax", {"betas": (1.0, 0.9)}),
    ("RAdam", {"eps": -1}),
    ("ASGD", {"weight_decay": -1}),
    ("Rprop", {"etas": (1.2, 0.5)}),
    ("NAdam", {"momentum_decay": -1}),
]


@pytest.mark.parametrize(("name", "settings"), WRONG)
def test_wrong_settings(name, settings):
    for library in (aten, torch):
        with pytest.raises(ValueError):
            getattr(library.optim, name)(parameters(library, "float32"), **settings)


def schedules(library):
    rates = library.optim.lr_scheduler
    return {
        "constant": lambda it: rates.ConstantLR(it, 0.25, 4),
        "polynomial": lambda it: rates.PolynomialLR(it, 6, 1.5),
        "factors": lambda it: rates.MultiplicativeLR(it, lambda epoch: 0.9 + epoch / 100),
        "linear": lambda it: rates.LinearLR(it, 0.25, 0.75, 6),
        "milestones": lambda it: rates.MultiStepLR(it, [3, 7, 7]),
        "cosine": lambda it: rates.CosineAnnealingLR(it, 5, 0.01),
        "restarts": lambda it: rates.CosineAnnealingWarmRestarts(it, 3, 2, 0.01),
        "even restarts": lambda it: rates.CosineAnnealingWarmRestarts(it, 4),
        "cycle": lambda it: rates.CyclicLR(it, 0.1, 0.5, 3, 5),
        "halved": lambda it: rates.CyclicLR(it, 0.1, [0.5, 0.6], 3, mode="triangular2"),
        "decaying": lambda it: rates.CyclicLR(
            it, 0.1, 0.5, 3, mode="exp_range", gamma=0.9, cycle_momentum=False
        ),
        "own": lambda it: rates.CyclicLR(
            it, 0.1, 0.5, 2, scale_fn=lambda at: 1 / at, scale_mode="cycle"
        ),
        "one cycle": lambda it: rates.OneCycleLR(it, 0.5, total_steps=20),
        "three phases": lambda it: rates.OneCycleLR(
            it, [0.5, 0.6], epochs=5, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"
        ),
        "chained": lambda it: rates.ChainedScheduler(
            [rates.ConstantLR(it, 0.1, 3), rates.ExponentialLR(it, 0.9), rates.LinearLR(it)]
        ),
        "in turn": lambda it: rates.SequentialLR(
            it,
            [
                rates.LinearLR(it, 0.1, 1.0, 4),
                rates.CosineAnnealingLR(it, 8),
                rates.ExponentialLR(it, 0.5),
            ],
            [4, 12],
        ),
        "turns of turns": lambda it: rates.SequentialLR(
            it,
            [
                rates.SequentialLR(it, [rates.ConstantLR(it, 0.5, 2), rates.StepLR(it, 2)], [3]),
                rates.CosineAnnealingWarmRestarts(it, 3),
            ],
            [8],
        ),
    }


def rated(library, name, optimizer="SGD"):
    listed = parameters(library, "float64")
    settings = {"momentum": 0.9} if optimizer == "SGD" else {}
    groups = [{"params": listed[:1]}, {"params": listed[1:], "lr": 0.2}]
    made = getattr(library.optim, optimizer)(groups, lr=0.3, **settings)
    return made, schedules(library)[name](made)


def seen(optimizer, schedule):
    settings = [
        (group["lr"], *group.get("betas", (group.get("momentum"),)))
        for group in optimizer.param_groups
    ]
    assert schedule.get_last_lr() == [one[0] for one in settings]
    return [value for one in settings for value in one]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name", schedules(torch))
def test_schedules(name, optimizer):
    pairs = [rated(library, name, optimizer) for library in (aten, torch)]
    for _ in range(20):
        ours, theirs = (seen(*pair) for pair in pairs)
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
        for made, schedule in pairs:
            made.step()
            schedule.step()


@pytest.mark.filterwarnings("ignore:lr_scheduler.step")
@pytest.mark.parametrize("name", schedules(torch))
def test_states_of_schedules(name):
    first, fresh = rated(aten, name), rated(aten, name)
    for _ in range(7):
        first[1].step()
    fresh[0].load_state_dict(first[0].state_dict())
    fresh[1].load_state_dict(first[1].state_dict())
    for _ in range(7):
        assert seen(*first) == seen(*fresh)
        for _, schedule in (first, fresh):
            schedule.step()


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 1},
        {"mode": "max", "threshold_mode": "abs", "threshold": 0.1, "patience": 2, "cooldown": 2},
        {"factor": 0.5, "patience": 0, "min_lr": [0.1, 0.05]},
    ],
)
def test_plateaus(settings):
    found = []
    for library in (aten, torch):
        listed = parameters(library, "float64")
        made = library.optim.SGD([{"params": listed[:1]}, {"params": listed[1:]}], lr=0.3)
        schedule = library.optim.lr_scheduler.ReduceLROnPlateau(made, **settings)
        rates = []
        for metric in (3, 2, 2, 2.01, 1.9999, 2, 2, 1, 1, 1, 1, 1, 1):
            schedule.step(metric)
            rates += schedule.get_last_lr()
        found.append(rates)
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.filterwarnings("ignore:lr_scheduler.step")
def test_wrong_schedules():
    for library in (aten, torch):
        rates = library.optim.lr_scheduler
        made = library.optim.Adagrad(parameters(library, "float64"))
        other = library.optim.Adagrad(parameters(library, "float64"))
        for call in (
            lambda: rates.OneCycleLR(made, 0.1),
            lambda: rates.OneCycleLR(made, 0.1, 5, pct_start=2.0),
            lambda: rates.OneCycleLR(made, 0.1, 5, anneal_strategy="steps"),
            lambda: rates.OneCycleLR(made, 0.1, 5),
            lambda: rates.CyclicLR(made, 0.1, 0.2, mode="square"),
            lambda: rates.CyclicLR(made, 0.1, 0.2),
            lambda: rates.CyclicLR(made, 0.1, [0.2, 0.3], cycle_momentum=False),
            lambda: rates.ConstantLR(made, 2.0),
            lambda: rates.CosineAnnealingWarmRestarts(made, 0),
            lambda: rates.ChainedScheduler([]),
            lambda: rates.SequentialLR(made, [rates.StepLR(made, 1)], [1]),
            lambda: rates.SequentialLR(made, [rates.StepLR(other, 1)], []),
            lambda: rates.ChainedScheduler([rates.ReduceLROnPlateau(made)]),
        ):
            with pytest.raises(ValueError):
                call()
        schedule = rates.OneCycleLR(made, 0.1, 2, cycle_momentum=False)
        schedule.step()
        schedule.step()
        with pytest.raises(ValueError):
            schedule.step()
