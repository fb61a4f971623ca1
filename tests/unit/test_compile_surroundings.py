"""Compiled functions give what they give eagerly, whatever they read or change around them."""

import collections
import dataclasses
import enum
import functools
import gc
import random
import time
import types

import numpy
import pytest

import aten
from aten import nn
from aten._core.dispatch.replaying import holds

SCALE = 2.0
SETTINGS = {"scale": 2.0}
HELD = [aten.ones(3)]
HELPERS = types.ModuleType("helpers_of_a_program")
HELPERS.scale = 2.0


class Settings:
    scale = 2.0


class Named(enum.Enum):
    ONE = 1
    TWO = 2


class Reader(nn.Module):
    """Multiplies by what `read` gives."""

    scale = 2.0

    def __init__(self, read, **members):
        super().__init__()
        self.read = read
        for name, value in members.items():
            setattr(self, name, value)

    def forward(self, x):
        return x * self.read(self)


class Global(nn.Module):
    def forward(self, x):
        return sum([x * SCALE for _ in range(2)])


@dataclasses.dataclass
class Pair:
    first: object
    second: float = 1.0


def same(found, expected):
    assert aten.equal(found, expected), f"{found} is not {expected}"
    assert found.stride() == expected.stride()


def repeated(build, steps):
    """Results of calls of a compiled function, which are those of eager calls."""
    found = []
    for wrap in (aten.compile, lambda function: function):
        random.seed(0)
        numpy.random.seed(0)
        function = wrap(build())
        found.append([function(aten.ones(3)).tolist() for _ in range(steps)])
    assert found[0] == found[1]
    return found[0]


def changing_members():
    """Objects that read a member, and what changes it."""

    def item(module):
        module.held[0] = 3.0

    def attribute(module):
        module.held.scale = 3.0

    def of_class(_):
        Reader.scale = 3.0

    def replaced(module):
        module.held[0] = aten.full((3,), 3.0)

    def value(module):
        module.held["scale"] = 3.0

    yield pytest.param(lambda one: one.held[0], [2.0], item, id="list")
    yield pytest.param(lambda one: one.held["scale"], {"scale": 2.0}, value, id="dict")
    yield pytest.param(
        lambda one: one.held.scale, types.SimpleNamespace(scale=2.0), attribute, id="namespace"
    )
    yield pytest.param(lambda one: one.held.scale, Settings(), attribute, id="object")
    yield pytest.param(lambda one: one.scale, None, of_class, id="class")
    yield pytest.param(lambda one: one.held[0], [aten.ones(3)], replaced, id="tensor")


@pytest.mark.parametrize(("read", "held", "change"), [*changing_members()])
def test_members_of_modules_may_change(read, held, change, monkeypatch):
    monkeypatch.setattr(Reader, "scale", 2.0)
    module = Reader(read, held=held)
    compiled = aten.compile(module)
    x = aten.ones(3)
    same(compiled(x), module(x))
    change(module)
    same(compiled(x), aten.full((3,), 3.0))
    same(module(x), compiled(x))


def test_names_of_the_file_may_change(monkeypatch):
    x = aten.ones(3)
    functions = [
        lambda x: x * SETTINGS["scale"],
        lambda x: x * Settings.scale,
        lambda x: x * HELPERS.scale,
        lambda x: x * HELD[0],
        Global(),
    ]
    compiled = [aten.compile(one) for one in functions]
    for one, other in zip(compiled, functions, strict=True):
        same(one(x), other(x))
    monkeypatch.setitem(SETTINGS, "scale", 3.0)
    monkeypatch.setattr(Settings, "scale", 3.0)
    monkeypatch.setattr(HELPERS, "scale", 3.0)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    monkeypatch.setitem(globals(), "HELD", [aten.full((3,), 3.0)])
    for one, other in zip(compiled, functions, strict=True):
        same(one(x), other(x))
        assert other(x)[0] >= 3


def test_objects_among_arguments_may_change():
    compiled = aten.compile(lambda x, one: x * one.first)
    x = aten.ones(3)
    for given in (Pair(2.0), types.SimpleNamespace(first=2.0)):
        assert compiled(x, given).tolist() == [2, 2, 2]
        given.first = aten.full((3,), 3.0)
        assert compiled(x, given).tolist() == [3, 3, 3]
        given.first.add_(1)
        assert compiled(x, given).tolist() == [4, 4, 4]
    for _ in range(3):
        # One may come where another one was.
        assert compiled(x, Pair(5.0)).tolist() == [5, 5, 5]
        assert compiled(x, Pair(6.0)).tolist() == [6, 6, 6]


def test_numbers_are_told_apart():
    compiled = aten.compile(lambda x, scale: x * scale)
    x = aten.ones(2, dtype=aten.int64)
    assert compiled(x, 1).dtype == aten.int64
    assert compiled(x, 1.0).dtype == aten.float32
    assert compiled(x, True).dtype == aten.int64
    assert compiled(aten.ones(2), 0.0).signbit().tolist() == [False, False]
    assert compiled(aten.ones(2), -0.0).signbit().tolist() == [True, True]
    for _ in range(3):
        assert compiled(aten.ones(2), float("nan")).isnan().all()
    assert len(compiled.programs()) == 6


def test_arguments_of_other_kinds():
    def program(x, name, element, sizes):
        return (x * (1 if name is Named.ONE else 2)).to(element).reshape(sizes)

    compiled = aten.compile(program)
    x = aten.ones(3)
    for name in Named:
        for element in (aten.float32, aten.float64):
            given = (x, name, element, aten.Size([3, 1]))
            same(compiled(*given), program(*given))


def test_hooks_and_defaults_are_met():
    module = nn.Sequential(nn.Linear(3, 3))
    compiled = aten.compile(module)
    x = aten.ones(3)
    same(compiled(x), module(x))
    module[0].register_forward_hook(lambda module, given, result: result * 2)
    same(compiled(x), module(x))
    module.register_forward_pre_hook(lambda module, given: (given[0] + 1,))
    same(compiled(x), module(x))

    def scaled(x, scale=2.0):
        return x * scale

    compiled = aten.compile(scaled)
    same(compiled(x), scaled(x))
    scaled.__defaults__ = (3.0,)
    same(compiled(x), scaled(x))


def test_callables_of_other_kinds():
    class Scaled:
        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return x * self.scale

        @aten.compile
        def applied(self, x):
            return self(x) + 1

    x = aten.ones(3)
    one, other = Scaled(2.0), Scaled(3.0)
    compiled = aten.compile(one)
    assert compiled(x).tolist() == [2, 2, 2]
    one.scale = 4.0
    assert compiled(x).tolist() == [4, 4, 4]
    assert (one.applied(x).tolist(), other.applied(x).tolist()) == ([5, 5, 5], [4, 4, 4])
    one.scale = 5.0
    assert one.applied(x).tolist() == [6, 6, 6]
    assert aten.compile(functools.partial(Scaled(2.0)))(x).tolist() == [2, 2, 2]


def counting():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def forward(self, x):
            self.count += 1
            return x * self.count

    return Counting()


def counting_outside():
    count = 0

    def program(x):
        nonlocal count
        count += 1
        return x * count

    return program


def replacing_a_buffer():
    class Replacing(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", aten.zeros(3))

        def forward(self, x):
            self.total = self.total + x
            return self.total * 2

    return Replacing()


def keeping():
    class Keeping(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = None

        def forward(self, x):
            self.kept = x if self.kept is None else aten.cat([self.kept, x])
            return self.kept.sum()

    return Keeping()


def making_once():
    class Making(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = None

        def forward(self, x):
            if self.table is None:
                self.table = aten.arange(3.0)
            return x + self.table

    return Making()


def taking_from_an_iterator():
    numbers = iter([1.0, 2.0, 3.0, 4.0])
    return lambda x: x * next(numbers)


def drawing():
    return lambda x: x * random.random() + random.choice([1, 2])


def drawing_by_numpy():
    return lambda x: x * numpy.random.rand()


def drawing_by_a_generator():
    generator = numpy.random.default_rng(0)
    return lambda x: x * generator.random()


def apart():
    draw = aten.compiler.disable(lambda x: x * random.random())
    return lambda x: draw(x) + 1


@pytest.mark.parametrize(
    "build",
    [
        *(counting, counting_outside, replacing_a_buffer, keeping, making_once),
        *(taking_from_an_iterator, drawing, drawing_by_numpy, drawing_by_a_generator, apart),
    ],
)
def test_what_does_more_than_compute_runs_eagerly(build):
    repeated(build, 4)


def test_modules_and_classes_that_are_not_compiled_stay_what_they_are():
    @aten.compiler.disable
    class Apart(nn.Module):
        def forward(self, x):
            return x + 1

    layer = aten.compiler.disable(nn.Linear(3, 3))
    assert isinstance(layer, nn.Linear)
    assert isinstance(Apart(), Apart)
    x = aten.ones(3)
    for inner in (layer, Apart()):
        compiled = aten.compile(lambda x, inner=inner: inner(x) * 2)
        same(compiled(x), inner(x) * 2)
        assert "is not to be compiled" in aten.compiler.explain(compiled)


def test_places_are_looked_at_before_they_are_read():
    for place in (3, (), ({}, "name")):
        with pytest.raises(TypeError, match="a namespace, a name and a value"):
            holds([place])


def test_what_is_made_once_is_captured_then():
    compiled = aten.compile(making_once())
    for _ in range(3):
        compiled(aten.ones(3))
    assert "program 1" in aten.compiler.explain(compiled)


def test_clocks_are_refused():
    compiled = aten.compile(lambda x: x * time.time())
    compiled(aten.ones(3))
    assert "time of time gives something else each time" in aten.compiler.explain(compiled)
    with pytest.raises(RuntimeError, match="gives something else each time"):
        aten.compile(lambda x: x * time.time(), fullgraph=True)(aten.ones(3))


def test_what_the_collector_calls_is_not_the_function():
    def timed(phase, information):
        time.perf_counter()

    def program(x):
        kept = [[] for _ in range(2000)]
        return x * len(kept)

    compiled = aten.compile(program)
    gc.callbacks.append(timed)
    before = gc.get_threshold()
    gc.set_threshold(10, 2, 2)
    try:
        assert compiled(aten.ones(2)).tolist() == [2000, 2000]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(timed)
    assert gc.isenabled()
    assert not compiled.breaks


def test_containers_of_the_program_are_filled():
    seen = []

    def program(x, given):
        doubled = x * 2
        seen.append(doubled)
        given["doubled"] = doubled
        return doubled + 1

    compiled = aten.compile(program)
    given = {}
    for _ in range(2):
        assert compiled(aten.ones(2), given).tolist() == [3, 3]
    assert [one.tolist() for one in seen] == [[2, 2], [2, 2]]
    assert given["doubled"].tolist() == [2, 2]

    def filling(x, given):
        given.append(x * 2)
        return given[-1] + 1

    compiled = aten.compile(filling)
    given = []
    for _ in range(2):
        compiled(aten.ones(2), given)
    assert [one.tolist() for one in given] == [[2, 2], [2, 2]]


def test_results_of_other_kinds():
    named = collections.namedtuple("named", "first second")
    compiled = aten.compile(lambda x: named(x + 1, {"inner": [x * 2, None, 3, "text"]}))
    for _ in range(2):
        found = compiled(aten.ones(2))
        assert isinstance(found, named)
        assert found.second["inner"][1:] == [None, 3, "text"]
    compiled = aten.compile(lambda x: Pair(x + 1))
    for _ in range(2):
        assert compiled(aten.ones(2)).first.tolist() == [2, 2]


def test_errors_are_those_of_the_function():
    def program(x):
        if x.shape[0] == 2:
            raise KeyError("two")
        return x + 1

    compiled = aten.compile(program)
    compiled(aten.ones(3))
    for _ in range(2):
        with pytest.raises(KeyError, match="two"):
            compiled(aten.ones(2))
    with pytest.raises(RuntimeError, match="KeyError"):
        aten.compile(program, fullgraph=True)(aten.ones(2))


class Tenfold(aten.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 10


def partly(x):
    with aten.no_grad():
        half = x * 2
    with aten.enable_grad():
        return x * half + x * x.detach()


def hooked(x):
    doubled = x * 2
    doubled.register_hook(lambda gradient: gradient * 100)
    return doubled.sum()


@pytest.mark.parametrize(
    "program", [partly, hooked, Tenfold.apply, lambda x: Tenfold.apply(x.sin()) * x]
)
def test_gradients_are_those_of_the_function(program):
    gradients = []
    for function in (program, aten.compile(program)):
        x = aten.ones(3, requires_grad=True)
        function(x).sum().backward()
        gradients.append(x.grad)
    same(*gradients)


def test_transforms_within():
    def slope(x):
        return aten.func.grad(lambda one: (one**3).sum())(x)

    for program in (slope, aten.func.vmap(lambda one: one.sum() * one)):
        x = aten.arange(6.0).view(2, 3)
        same(aten.compile(program)(x), program(x))


@pytest.mark.parametrize("kind", [aten.optim.SGD, aten.optim.Adam])
def test_steps_of_training(kind):
    weights = []
    for wrap in (lambda function: function, aten.compile):
        aten.manual_seed(0)
        layer = nn.Linear(3, 3)
        optimizer = kind(layer.parameters(), lr=0.1)

        def step(x, layer=layer, optimizer=optimizer):
            optimizer.zero_grad()
            loss = layer(x).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        compiled, alone = wrap(step), wrap(optimizer.step)
        for _ in range(4):
            compiled(aten.ones(3))
            layer(aten.ones(3)).sum().backward()
            alone()
        weights.append(layer.weight.detach())
    same(*weights)


def test_what_changes_all_the_time_runs_eagerly():
    holder = types.SimpleNamespace(scale=0)
    compiled = aten.compile(lambda x, one: x * one.scale)
    for count in range(40):
        holder.scale = count
        assert compiled(aten.ones(1), holder).item() == count
    assert "changes all the time" in aten.compiler.explain(compiled)


class Obliging:
    """Has whatever it is asked for."""

    def __getattribute__(self, name):
        if name == "__dict__":
            return self
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        return 3.0


class Failing:
    __slots__ = ("held",)

    def __getattr__(self, name):
        raise ValueError(name)


@pytest.mark.parametrize("kind", [Obliging, Failing])
def test_objects_with_attributes_of_their_own(kind):
    held = kind()
    compiled = aten.compile(lambda x: x * 2 if held is not None else x)
    for _ in range(2):
        assert compiled(aten.ones(2)).tolist() == [2, 2]


def test_kernels_that_were_never_made_are_made_while_it_is_captured():
    # Resampling makes tables when it is called, captured or not.
    compiled = aten.compile(lambda x: nn.functional.interpolate(x, size=(17, 13)) + 1)
    x = aten.randn(1, 2, 7, 5)
    same(compiled(x), nn.functional.interpolate(x, size=(17, 13)) + 1)
    assert not compiled.breaks
