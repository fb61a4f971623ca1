"""Compiled functions whose methods, functions and variables are replaced after a capture."""

import threading
from contextvars import ContextVar

import pytest

import aten
from aten import nn
from aten.nn.modules.module import register_module_forward_hook


class Above:
    scale = 2

    def method(self, x):
        return x * self.scale

    def __call__(self, x):
        return self.method(x) + 1

    @property
    def twice(self):
        return 2 * self.scale


class Below(Above):
    def method(self, x):
        return super().method(x) + 3


class Layer(nn.Module):
    def forward(self, x):
        return x * 2


def scaled(x, *, factor=2):
    return x * factor


scaled.offset = 1
variable = ContextVar("variable", default=2)
local = threading.local()
local.scale = 2


def _check(function, *changes):
    compiled = aten.compile(function)
    x = aten.arange(3.0)
    compiled(x)
    for change in changes:
        before = str(compiled(x))
        change()
        expected = str(function(x))
        assert expected != before
        assert str(compiled(x)) == expected
    assert not compiled.breaks


def test_methods_and_class_attributes(monkeypatch):
    def replaced(owner, name, value):
        return lambda: monkeypatch.setattr(owner, name, value, raising=False)

    thing = Below()
    _check(
        lambda x: thing(x) + thing.twice,
        replaced(Above, "scale", 3),
        replaced(Below, "scale", 4),
        replaced(Above, "method", lambda self, x: x + 50),
        replaced(Below, "method", lambda self, x: x + 60),
        replaced(Above, "__call__", lambda self, x: x + 70),
        replaced(Above, "twice", property(lambda self: 9)),
    )


def test_classes_of_objects():
    thing = Below()
    _check(lambda x: thing.method(x), lambda: setattr(thing, "__class__", Above))


def test_forward_of_a_class(monkeypatch):
    layer = Layer()
    _check(lambda x: layer(x), lambda: monkeypatch.setattr(Layer, "forward", lambda self, x: x + 9))


def test_hooks_of_all_modules():
    layer = Layer()
    handles = []

    def add():
        handles.append(register_module_forward_hook(lambda module, args, result: result + 7))

    _check(lambda x: layer(x), add, lambda: handles.pop().remove(), add)
    handles.pop().remove()


def test_functions(monkeypatch):
    def replaced(name, value):
        return lambda: monkeypatch.setattr(scaled, name, value)

    _check(
        lambda x: scaled(x) + scaled.offset,
        replaced("__kwdefaults__", {"factor": 7}),
        replaced("offset", 4),
        replaced("__code__", (lambda x, *, factor: x + 100).__code__),
    )


def test_variables_of_contexts_and_threads():
    token = variable.set(2)
    try:
        _check(
            lambda x: x * variable.get() + local.scale,
            lambda: variable.set(5),
            lambda: setattr(local, "scale", 3),
        )
    finally:
        variable.reset(token)
        local.scale = 2


@pytest.mark.parametrize("is_around", [False, True])
def test_lazy_modules(is_around):
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2))
    compiled = aten.compile((lambda x: model(x)) if is_around else model)
    x = aten.ones(2, 4)
    first = compiled(x)
    assert aten.equal(compiled(x), first)
    assert aten.equal(model(x), first)
    assert "program 1" in aten.compiler.explain(compiled)
